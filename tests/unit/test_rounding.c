/* SPDX-License-Identifier: MIT */
#include "sltest.h"

#include "run/blocks/rounding.h"

static sl_rounding rounding_of(const char *conf) {
    sl_rounding rounding;
    size_t len = 0;
    while (conf[len])
        len++;
    sl_rounding_init(&rounding, (sl_str){conf, len}, (sl_maybe_u64){0});
    return rounding;
}

static void test_plain(void **state) {
    (void)state;
    sl_rounding r = rounding_of("expandable_segments:True");
    assert_int_equal(sl_round_request(&r, 0), 512);
    assert_int_equal(sl_round_request(&r, 1), 512);
    assert_int_equal(sl_round_request(&r, 512), 512);
    assert_int_equal(sl_round_request(&r, 513), 1024);
    assert_int_equal(sl_round_request(&r, (5 << 20) + 1), (5 << 20) + 512);
    assert_int_equal(sl_round_request(&r, UINT64_MAX), UINT64_MAX);
}

static void test_divisions(void **state) {
    (void)state;
    sl_rounding r = rounding_of("roundup_power2_divisions:4,garbage_collection_threshold:0.8");
    assert_int_equal(sl_round_request(&r, 1200), 1536); /* not above 512 * 4: plain */
    assert_int_equal(sl_round_request(&r, 5000), 5120); /* steps of 1024 above 4096 */
    assert_int_equal(sl_round_request(&r, 4096), 4096);
    assert_int_equal(sl_round_request(&r, (1 << 20) + 1), (1 << 20) + (1 << 18));
}

static void test_division_lists(void **state) {
    (void)state;
    sl_rounding r = rounding_of("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
    assert_int_equal(r.divisions[0], 1);
    assert_int_equal(r.divisions[8], 1);
    assert_int_equal(r.divisions[9], 2);
    assert_int_equal(r.divisions[10], 4);
    assert_int_equal(r.divisions[11], 8); /* ">" begins behind the last named one */
    assert_int_equal(r.divisions[15], 8);
    sl_rounding broken = rounding_of("roundup_power2_divisions:[256");
    assert_int_equal(sl_round_request(&broken, 5000), 5120);
}

static void test_segments_and_splits(void **state) {
    (void)state;
    sl_rounding r = rounding_of("");
    assert_int_equal(sl_round_segment(512), 2 << 20);
    assert_int_equal(sl_round_segment(1 << 20), 2 << 20);
    assert_int_equal(sl_round_segment((1 << 20) + 512), 20 << 20);
    assert_int_equal(sl_round_segment(10 << 20), 10 << 20);
    assert_int_equal(sl_round_segment((10 << 20) + 512), 12 << 20);
    assert_true(sl_should_split(&r, 512, 512, false, false));
    assert_false(sl_should_split(&r, 5 << 20, 1 << 20, true, false));
    assert_true(sl_should_split(&r, 5 << 20, (1 << 20) + 512, true, false));
    assert_true(sl_should_split(&r, 5 << 20, 512, true, true));
    r.max_split_bytes = 4 << 20;
    assert_false(sl_should_split(&r, 5 << 20, 8 << 20, true, false));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_divisions),
        cmocka_unit_test(test_division_lists),
        cmocka_unit_test(test_segments_and_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
