/* SPDX-License-Identifier: MIT */
#include "record/hooks/cuda_calls.h"
#include "sltest.h"

static char contexts[4];

static void device_follows_the_current_context(void **state) {
    (void)state;
    assert_int_equal(sl_cuda_get_device(), 0);
    sl_cuda_note_context(&contexts[2], 2);
    assert_int_equal(sl_cuda_get_device(), 2); /* the only one there is */
    sl_cuda_note_context(&contexts[1], 1);
    assert_int_equal(sl_cuda_get_device(), 0); /* which of the two is not known */
    sl_cuda_set_current(&contexts[1]);
    assert_int_equal(sl_cuda_get_device(), 1);
    sl_cuda_push_current(&contexts[2]);
    assert_int_equal(sl_cuda_get_device(), 2);
    sl_cuda_set_current(&contexts[1]);
    assert_int_equal(sl_cuda_get_device(), 1);
    sl_cuda_pop_current();
    assert_int_equal(sl_cuda_get_device(), 1);
}

static void more_contexts_than_fit_are_dropped_without_an_overrun(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++)
        sl_cuda_push_current(&contexts[2]);
    assert_int_equal(sl_cuda_get_device(), 0);
    for (int i = 0; i < 100; i++)
        sl_cuda_pop_current();
    assert_int_equal(sl_cuda_get_device(), 1);
    for (int i = 0; i < 10; i++)
        sl_cuda_pop_current();
    assert_int_equal(sl_cuda_get_device(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_follows_the_current_context),
        cmocka_unit_test(more_contexts_than_fit_are_dropped_without_an_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
