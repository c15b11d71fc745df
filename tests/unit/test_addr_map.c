/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sltest.h"

#include "fake_alloc.h"
#include "model/addr_map.h"

/* Against an array indexed by the key: runs that wrap, growth, removal in the middle of a run. */
static void test_agrees_with_an_array(void **state) {
    (void)state;
    enum { KEYS = 3000 };
    static uint32_t truth[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        truth[i] = SL_ADDR_NONE;
    sl_addr_map map = {0};
    uint64_t seed = 42;
    size_t cnt = 0;
    for (uint32_t step = 0; step < 60000; step++) {
        size_t key = (size_t)fake_random(&seed, KEYS);
        uint64_t addr = (uint64_t)key * 512;
        if (fake_random(&seed, 100) < 55) {
            cnt += truth[key] == SL_ADDR_NONE;
            truth[key] = step;
            assert_true(sl_addr_map_put(&map, addr, step));
        } else {
            cnt -= truth[key] != SL_ADDR_NONE;
            assert_int_equal(sl_addr_map_remove(&map, addr), truth[key]);
            truth[key] = SL_ADDR_NONE;
        }
        assert_int_equal(map.cnt, cnt);
        size_t probe = (size_t)fake_random(&seed, KEYS);
        assert_int_equal(sl_addr_map_find(&map, (uint64_t)probe * 512), truth[probe]);
    }
    for (size_t key = 0; key < KEYS; key++)
        assert_int_equal(sl_addr_map_find(&map, (uint64_t)key * 512), truth[key]);
    sl_addr_map_fini(&map);
}

static void test_an_empty_map_finds_nothing(void **state) {
    (void)state;
    sl_addr_map map = {0};
    assert_int_equal(sl_addr_map_find(&map, 0), SL_ADDR_NONE);
    assert_int_equal(sl_addr_map_remove(&map, 7), SL_ADDR_NONE);
    assert_true(sl_addr_map_put(&map, 0, 5));
    assert_int_equal(sl_addr_map_find(&map, 0), 5);
    sl_addr_map_fini(&map);
    assert_int_equal(sl_addr_map_find(&map, 0), SL_ADDR_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_an_array),
        cmocka_unit_test(test_an_empty_map_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
