/* SPDX-License-Identifier: MIT */
#include "read/torch/pickle_vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/core/source.h"
#include "read/torch/pickle_ops.h"
#include "sltest.h"

/* A seed of the fuzz corpus; the caller frees it. */
static unsigned char *read_seed(const char *name, size_t *len) {
    char path[4000];
    snprintf(path, sizeof path, "%s/../fuzz/corpus/torch/%s", getenv("STORMLOG_TEST_DATA"), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    unsigned char *bytes = malloc(1 << 20);
    *len = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Each prefix is copied to a block of its own size, so that ASan sees a read past its end. */
static void test_every_prefix_is_an_error(void **state) {
    SL_UNUSED(state);
    static const char *const seeds[] = {"seed_long", "seed_C__", "seed_protocol_2", "seed_JSON"};
    for (size_t s = 0; s < SL_COUNT_OF(seeds); s++) {
        size_t full_len;
        unsigned char *full = read_seed(seeds[s], &full_len);
        for (size_t len = 0; len < full_len; len++) {
            unsigned char *prefix = malloc(len ? len : 1);
            memcpy(prefix, full, len);
            sl_trace *trace = NULL;
            sl_error err = SL_ERROR_INIT;
            if (sl_trace_load_memory("cut", prefix, len, &trace, &err) >= 0)
                fail_msg("%s cut to %zu of %zu bytes was accepted", seeds[s], len, full_len);
            if (err.code != SL_E_TRUNCATED && err.code != SL_E_FOREIGN)
                fail_msg("%s cut to %zu bytes: %s", seeds[s], len, err.text);
            free(prefix);
        }
        free(full);
    }
}

static void test_opcode_table_has_no_gaps(void **state) {
    SL_UNUSED(state);
    size_t named = 0;
    for (size_t op = 0; op < 256; op++) {
        const sl_pickle_op *row = &sl_pickle_ops[op];
        assert_int_equal(row->name == NULL, row->verdict == SL_PICKLE_UNKNOWN);
        named += row->name != NULL;
    }
    assert_int_equal(named, 68); /* pickletools.opcodes of Python 3.8 and later */
}

/* Every byte as the first opcode: an error, or for plain values a pickle without a snapshot. */
static void test_every_byte_as_an_opcode(void **state) {
    SL_UNUSED(state);
    for (unsigned op = 0; op < 256; op++) {
        unsigned char bytes[] = {0x80, 4, (unsigned char)op, '.', 0, 0, 0, 0, 0, 0, 0, 0, '.'};
        sl_trace *trace = NULL;
        sl_error err = SL_ERROR_INIT;
        sl_status status = sl_trace_load_memory("op", bytes, sizeof bytes, &trace, &err);
        if (op == SL_OP_EMPTY_LIST) { /* an empty list of segments is torch 1.13's "nothing" */
            assert_int_equal(status, SL_OK);
            sl_trace_free(trace);
            continue;
        }
        assert_true(status < 0);
        sl_status expected = sl_pickle_ops[op].verdict == SL_PICKLE_CODE      ? SL_E_REFUSED
                             : sl_pickle_ops[op].verdict == SL_PICKLE_FOREIGN ? SL_E_REFUSED
                             : sl_pickle_ops[op].verdict == SL_PICKLE_TEXT    ? SL_E_VERSION
                             : sl_pickle_ops[op].verdict == SL_PICKLE_UNKNOWN ? SL_E_FORMAT
                                                                              : status;
        if (status != expected)
            fail_msg("opcode 0x%02x: %s", op, err.text);
    }
}

static void test_runs_of_references(void **state) {
    SL_UNUSED(state);
    static const unsigned char run[] = "(h\1h\2e", other[] = "(h\1h\3e";
    sl_run_table runs = {0};
    assert_int_equal(sl_run_find(&runs, run, 6), SL_RUN_NONE);
    assert_int_equal(sl_run_guess(&runs), SL_RUN_NONE);
    uint32_t row = sl_run_add(&runs, run, 6, 7);
    assert_int_equal(row, 0);
    assert_int_equal(sl_run_find(&runs, run, 6), 0);
    assert_int_equal(runs.rows.at[row].stack_id, 7);
    assert_int_equal(sl_run_find(&runs, other, 6), SL_RUN_NONE);
    for (int i = 0; i < 4; i++) /* the third time the same two came before */
        sl_run_learn(&runs, row);
    assert_int_equal(sl_run_guess(&runs), 0);
    sl_run_clear(&runs);
    assert_int_equal(sl_run_guess(&runs), SL_RUN_NONE);
    assert_int_equal(sl_run_find(&runs, run, 6), SL_RUN_NONE);
    sl_run_fini(&runs);
}

static void test_memo(void **state) {
    SL_UNUSED(state);
    sl_memo memo = {0};
    assert_true(sl_memo_put(&memo, 5, sl_memo_entry(SL_MEMO_STR, 9)));
    assert_int_equal(memo.cnt, 6);
    assert_int_equal(memo.set_cnt, 1);
    assert_int_equal(sl_memo_get(&memo, 3), 0);
    assert_int_equal(sl_memo_get(&memo, 4000000000u), 0);
    assert_true(sl_memo_put(&memo, 5, sl_memo_entry(SL_MEMO_STACK, SL_MEMO_PAYLOAD_MAX)));
    assert_int_equal(memo.set_cnt, 1);
    assert_int_equal(sl_memo_tag_of(sl_memo_get(&memo, 5)), SL_MEMO_STACK);
    assert_int_equal(sl_memo_payload(sl_memo_get(&memo, 5)), SL_MEMO_PAYLOAD_MAX);
    sl_memo_fini(&memo);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_prefix_is_an_error),
        cmocka_unit_test(test_opcode_table_has_no_gaps),
        cmocka_unit_test(test_every_byte_as_an_opcode),
        cmocka_unit_test(test_runs_of_references),
        cmocka_unit_test(test_memo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
