/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "record/stacks/pystack_offsets.h"
#include "sltest.h"

static void knows_the_fixed_versions(void **state) {
    (void)state;
    for (unsigned minor = 9; minor <= 12; minor++) {
        sl_py_layout layout;
        const char *reason = NULL;
        assert_true(sl_py_layout_find(minor, NULL, &layout, &reason));
        assert_int_equal(layout.minor, minor);
        assert_true(layout.instr_is_index == (layout.code_start == SL_PY_NO_FIELD));
    }
}

/* The head of _PyRuntime of 3.13: 64 words, of which those we read are set to recognisable values. */
static void fill_runtime(uint64_t words[64], unsigned minor) {
    memset(words, 0, 64 * sizeof words[0]);
    memcpy(words, "xdebugpy", 8);
    words[1] = (uint64_t)3 << 24 | (uint64_t)minor << 16;
    for (unsigned i = 3; i < 64; i++)
        words[i] = i * 8;
}

static void reads_the_table_of_offsets(void **state) {
    (void)state;
    uint64_t words[64];
    sl_py_layout layout;
    const char *reason = NULL;
    fill_runtime(words, 13);
    assert_true(sl_py_layout_find(13, words, &layout, &reason));
    assert_int_equal(layout.tstate_frame, 23 * 8);   /* thread_state.current_frame */
    assert_int_equal(layout.frame_previous, 29 * 8); /* interpreter_frame.previous */
    assert_int_equal(layout.frame_code, 30 * 8);
    assert_int_equal(layout.frame_locals, 32 * 8);
    assert_int_equal(layout.frame_owner, 33 * 8);
    assert_int_equal(layout.code_filename, 35 * 8); /* code_object.filename */
    assert_int_equal(layout.code_name, 37 * 8);
    assert_int_equal(layout.code_start, 43 * 8);
    fill_runtime(words, 14);
    assert_true(sl_py_layout_find(14, words, &layout, &reason));
    assert_int_equal(layout.tstate_frame, 26 * 8);
    assert_int_equal(layout.code_start, 48 * 8);
}

static void refuses_unknown_or_inconsistent_layouts(void **state) {
    (void)state;
    uint64_t words[64];
    sl_py_layout layout;
    const char *reason = NULL;
    assert_false(sl_py_layout_find(8, NULL, &layout, &reason));
    assert_non_null(strstr(reason, "not known"));
    assert_false(sl_py_layout_find(99, NULL, &layout, &reason));
    assert_false(sl_py_layout_find(13, NULL, &layout, &reason));
    fill_runtime(words, 14);
    assert_false(sl_py_layout_find(13, words, &layout, &reason));
    assert_non_null(strstr(reason, "another version"));
    fill_runtime(words, 13);
    words[2] = 1;
    assert_false(sl_py_layout_find(13, words, &layout, &reason));
    assert_non_null(strstr(reason, "GIL"));
    fill_runtime(words, 13);
    words[30] = 1 << 20;
    assert_false(sl_py_layout_find(13, words, &layout, &reason));
    assert_non_null(strstr(reason, "impossible"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_fixed_versions),
        cmocka_unit_test(reads_the_table_of_offsets),
        cmocka_unit_test(refuses_unknown_or_inconsistent_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
