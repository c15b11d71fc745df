/* SPDX-License-Identifier: MIT */
#include "model/oom_class.h"

#include "sltest.h"

static void test_order_and_reasons(void **state) {
    (void)state;
    static const struct {
        const char *type, *module, *message, *reason; /* reason NULL: not one */
        bool is_strict;
    } rows[] = {
        {"OutOfMemoryError", "torch.cuda", "x", "torch.cuda.OutOfMemoryError", true},
        {"OutOfMemoryError", "torch", "x", "torch.cuda.OutOfMemoryError", true},
        {"OutOfMemoryError", "other", "x", NULL, true},
        {"ResourceExhaustedError", "tensorflow", "OOM", "tensorflow.ResourceExhaustedError", true},
        {"RuntimeError", NULL, "CUDA out of memory. Tried", "message_pattern:out of memory", true},
        {"RuntimeError", NULL, "HIP Out Of Memory", "message_pattern:out of memory", true},
        {"ValueError", NULL, "resource exhausted", "message_pattern:resource exhausted", true},
        {"X", NULL, "Failed to allocate 3", "message_pattern:failed to allocate", true},
        {"X", NULL, "allocation failed", "message_pattern:allocation failed", true},
        {"MemoryError", "builtins", "", NULL, true},
        {"MemoryError", "builtins", "", "python.MemoryError", false},
        {"RuntimeError", NULL, "CUBLAS_STATUS_ALLOC_FAILED when", NULL, true},
        {"RuntimeError", NULL, "CUBLAS_STATUS_ALLOC_FAILED when",
         "message_pattern:cublas_status_alloc_failed", false},
        {"ValueError", NULL, "shapes differ", NULL, false},
        {NULL, NULL, NULL, NULL, false},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        char reason[SL_OOM_REASON_CAP] = "";
        bool is_one = sl_oom_classify(rows[i].type, rows[i].module, rows[i].message,
                                      rows[i].is_strict, reason);
        if (is_one != (rows[i].reason != NULL))
            fail_msg("row %zu: %d", i, is_one);
        if (is_one)
            assert_string_equal(reason, rows[i].reason);
    }
}

static void test_last_line_of_an_output(void **state) {
    (void)state;
    char reason[SL_OOM_REASON_CAP];
    sl_str line;
    assert_true(sl_oom_find_in_output("Traceback (most recent call last):\n"
                                      "  raise RuntimeError('out of memory')\n"
                                      "torch.OutOfMemoryError: CUDA out of memory. Tried\nbye\n",
                                      reason, &line));
    assert_string_equal(reason, "torch.cuda.OutOfMemoryError");
    assert_memory_equal(line.ptr, "torch.OutOfMemoryError: CUDA", 28);
    assert_false(
        sl_oom_find_in_output("  File 'x', line 3: out of memory\nValueError: no", reason, &line));
    assert_false(sl_oom_find_in_output("", reason, &line));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_reasons),
        cmocka_unit_test(test_last_line_of_an_output),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
