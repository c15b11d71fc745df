/* SPDX-License-Identifier: MIT */
#include "record/stacks/key_cache.h"
#include "sltest.h"

static void keeps_new_keys_and_drops_old_ones(void **state) {
    (void)state;
    sl_key_cache cache = SL_KEY_CACHE_INIT(SL_KEY_CACHE_FIRST);
    assert_true(sl_key_cache_init(&cache));
    assert_true(sl_key_cache_init(&cache));
    assert_int_equal(sl_key_cache_find(&cache, 5).value, 0);
    sl_key_cache_add(&cache, 5, 50);
    sl_key_cache_add(&cache, 5 + 1024, 51); /* the same place */
    assert_int_equal(sl_key_cache_find(&cache, 5).value, 50);
    assert_int_equal(sl_key_cache_find(&cache, 5 + 1024).value, 51);
    sl_key_cache_add(&cache, 5, 52);
    assert_int_equal(sl_key_cache_find(&cache, 5).value, 52);
    sl_key_cache_clear(&cache);
    assert_int_equal(sl_key_cache_find(&cache, 5).value, 0);
}

/* With more keys than room some are missing, none has a wrong value, the newest is found. */
static void never_answers_with_another_keys_value(void **state) {
    (void)state;
    sl_key_cache cache = SL_KEY_CACHE_INIT(SL_KEY_CACHE_FIRST);
    assert_true(sl_key_cache_init(&cache));
    size_t hit_cnt = 0;
    for (uint64_t i = 1; i < 20000; i++) {
        uint64_t key = sl_key_mix(i ^ SL_KEY_A, SL_KEY_B) | 1;
        sl_key_cache_add(&cache, key, i);
        uint64_t found = sl_key_cache_find(&cache, key).value;
        assert_true(found == i || found == 0); /* a full neighbourhood leaves it out */
        hit_cnt += found == i;
    }
    assert_true(hit_cnt > 19000);
    assert_true(cache.used_cnt <= 1024 / 4 * 3);
}

/* A table that may grow drops keys while growing and then has room for all of them. */
static void grows(void **state) {
    (void)state;
    sl_key_cache cache = SL_KEY_CACHE_INIT(SL_KEY_CACHE_FIRST * 16);
    assert_true(sl_key_cache_init(&cache));
    for (int round = 0; round < 3; round++)
        for (uint64_t i = 1; i <= 4000; i++)
            sl_key_cache_add(&cache, sl_key_mix(i ^ SL_KEY_A, SL_KEY_B) | 1, i);
    size_t hit_cnt = 0;
    for (uint64_t i = 1; i <= 4000; i++)
        hit_cnt += sl_key_cache_find(&cache, sl_key_mix(i ^ SL_KEY_A, SL_KEY_B) | 1).value == i;
    assert_true(cache.entry_cnt > SL_KEY_CACHE_FIRST && cache.entry_cnt <= cache.entry_max);
    assert_int_equal(hit_cnt, 4000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_new_keys_and_drops_old_ones),
        cmocka_unit_test(never_answers_with_another_keys_value),
        cmocka_unit_test(grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
