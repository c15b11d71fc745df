/* SPDX-License-Identifier: MIT */
#include "read/core/source.h"

#include <string.h>

#include "sltest.h"

static void test_every_row_is_complete(void **state) {
    SL_UNUSED(state);
    for (size_t i = 0; sl_sources[i]; i++) {
        assert_true(sl_sources[i]->name[0]);
        assert_non_null(sl_sources[i]->probe);
        assert_non_null(sl_sources[i]->load);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(sl_sources[i]->name, sl_sources[k]->name);
    }
}

static const sl_source_ops *best(const char *head, size_t len) {
    const sl_source_ops *found = NULL;
    int score = 0;
    for (size_t i = 0; sl_sources[i]; i++) {
        int mine = sl_sources[i]->probe((const unsigned char *)head, len, "x");
        if (mine > score)
            score = mine, found = sl_sources[i];
    }
    return found;
}

static void test_probes(void **state) {
    SL_UNUSED(state);
    assert_ptr_equal(best("\x80\x04\x95", 3), &sl_source_torch_pickle);
    assert_ptr_equal(best("\x80\x02}", 3), &sl_source_torch_pickle);
    assert_ptr_equal(best(" \n{\"segments\": [", 15), &sl_source_torch_json);
    assert_ptr_equal(best("[{\"total_size\": 1", 17), &sl_source_torch_json);
    assert_null(best("hello", 5));
    assert_null(best("   ", 3));
    assert_null(best("", 0));
}

static void test_the_error_names_an_input_in_memory(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_trace_load_memory("bytes", "", 0, &trace, &err), SL_E_TRUNCATED);
    assert_string_equal(err.text, "cannot read 'bytes': it is empty (0 bytes)");
    assert_null(trace);
    assert_int_equal(sl_trace_load("/tmp/stormlog-no-such-file", NULL, &trace, NULL), SL_E_OPEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_complete),
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_the_error_names_an_input_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
