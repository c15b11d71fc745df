/* SPDX-License-Identifier: MIT */
#include "record/hooks/vmm_table.h"
#include "sltest.h"

static void memory_is_live_until_released_and_unmapped(void **state) {
    (void)state;
    sl_vmm_piece gone = {0};
    bool is_gone;
    sl_vmm_create(&(sl_vmm_piece){7, 2048, 1});
    sl_vmm_map(0x10000, 2048, 7);
    assert_false(sl_vmm_release(7, &gone));
    assert_int_equal(sl_vmm_unmap(0x10000, &gone, &is_gone), 2048);
    assert_true(is_gone);
    assert_int_equal(gone.handle, 7);
    assert_int_equal(gone.size, 2048);
    assert_int_equal(gone.device, 1);
}

static void counts_holders(void **state) {
    (void)state;
    sl_vmm_piece gone;
    sl_vmm_create(&(sl_vmm_piece){8, 1, 0});
    sl_vmm_retain(8);
    assert_false(sl_vmm_release(8, &gone));
    assert_true(sl_vmm_release(8, &gone));
    assert_false(sl_vmm_release(8, &gone));
}

static void ignores_unknown_handles(void **state) {
    (void)state;
    sl_vmm_piece gone;
    bool is_gone;
    assert_false(sl_vmm_release(12345, &gone));
    sl_vmm_map(0x20000, 4096, 12345);
    assert_int_equal(sl_vmm_unmap(0x20000, &gone, &is_gone), 0);
    assert_false(is_gone);
}

/* Deleting from an open-addressed table must not make a neighbour unreachable. */
static void removing_an_entry_keeps_its_neighbours(void **state) {
    (void)state;
    enum { CNT = 50000 };
    sl_vmm_piece gone;
    for (uint64_t i = 1; i <= CNT; i++)
        sl_vmm_create(&(sl_vmm_piece){i * 16, i, 0});
    for (uint64_t i = 1; i <= CNT; i += 2)
        assert_true(sl_vmm_release(i * 16, &gone));
    for (uint64_t i = 2; i <= CNT; i += 2) {
        assert_true(sl_vmm_release(i * 16, &gone));
        assert_int_equal(gone.size, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_live_until_released_and_unmapped),
        cmocka_unit_test(counts_holders),
        cmocka_unit_test(ignores_unknown_handles),
        cmocka_unit_test(removing_an_entry_keeps_its_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
