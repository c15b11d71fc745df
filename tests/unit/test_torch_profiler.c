/* SPDX-License-Identifier: MIT */
#include "record/hooks/torch_profiler.h"
#include "sltest.h"

#define AT(n) ((const void *)(uintptr_t)(0x1000 + 64 * (uintptr_t)(n)))

static void totals_are_of_blocks_seen(void **state) {
    (void)state;
    uint64_t total;
    assert_false(sl_torch_profiler_remove(AT(1), &total));
    assert_int_equal(sl_torch_profiler_add(AT(1), 100), 100);
    assert_int_equal(sl_torch_profiler_add(AT(2), 50), 150);
    assert_true(sl_torch_profiler_remove(AT(1), &total));
    assert_int_equal(total, 50);
    assert_false(sl_torch_profiler_remove(AT(1), &total));
    assert_true(sl_torch_profiler_remove(AT(2), &total));
    assert_int_equal(total, 0);
}

static void removing_a_block_keeps_its_neighbours(void **state) {
    (void)state;
    enum { CNT = 100000 };
    uint64_t total;
    for (int i = 0; i < CNT; i++)
        sl_torch_profiler_add(AT(i), 1);
    for (int i = 0; i < CNT; i += 3)
        assert_true(sl_torch_profiler_remove(AT(i), &total));
    for (int i = 0; i < CNT; i++)
        assert_int_equal(sl_torch_profiler_remove(AT(i), &total), i % 3 != 0);
    assert_int_equal(total, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_of_blocks_seen),
        cmocka_unit_test(removing_a_block_keeps_its_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
