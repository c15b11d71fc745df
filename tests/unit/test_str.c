/* SPDX-License-Identifier: MIT */
#include "base/core/str.h"

#include <stdlib.h>

#include "sltest.h"

#include "base/core/order.h"

static const sl_str nothing = {NULL, 0};

static void test_equal(void **state) {
    (void)state;
    const char bytes[] = {'a', 0, 'b'};
    assert_true(sl_str_equals((sl_str){bytes, 3}, SL_STR("a\0b")));
    assert_false(sl_str_equals((sl_str){bytes, 3}, SL_STR("a\0c")));
    assert_false(sl_str_is((sl_str){bytes, 3}, "a"));
    assert_true(sl_str_is((sl_str){bytes, 1}, "a"));
    assert_true(sl_str_is(nothing, "") && sl_str_equals(SL_STR(""), nothing));
    assert_false(sl_str_is(nothing, "a"));
}

static void test_parts(void **state) {
    (void)state;
    sl_str path = SL_STR("torch/nn/init.py");
    assert_true(sl_str_starts_with(path, SL_STR("torch/")) && sl_str_starts_with(path, path));
    assert_false(sl_str_starts_with(path, SL_STR("nn/")));
    assert_false(sl_str_starts_with(SL_STR("to"), SL_STR("torch")));
    assert_true(sl_str_ends_with(path, SL_STR(".py")) && sl_str_ends_with(path, path));
    assert_false(sl_str_ends_with(path, SL_STR(".p")));
    assert_false(sl_str_ends_with(SL_STR("py"), SL_STR(".py")));
    assert_true(sl_str_contains(path, SL_STR("/nn/")) && sl_str_contains(path, path));
    assert_false(sl_str_contains(path, SL_STR("/NN/")));
    assert_true(sl_str_starts_with(nothing, nothing) && sl_str_ends_with(nothing, nothing));
    assert_false(sl_str_contains(nothing, SL_STR("a")) || sl_str_contains(nothing, nothing));
}

static void test_base_name(void **state) {
    (void)state;
    assert_string_equal(sl_base_name("/a/b.slog"), "b.slog");
    assert_string_equal(sl_base_name("b.slog"), "b.slog");
    assert_string_equal(sl_base_name("a/"), "");
    assert_true(sl_str_is(sl_str_base_name(SL_STR("/lib/libm.so")), "libm.so"));
    assert_true(sl_str_is(sl_str_base_name(SL_STR("libm.so")), "libm.so"));
    assert_true(sl_str_is(sl_str_base_name(SL_STR("lib/")), ""));
    assert_true(sl_str_is(sl_str_base_name(nothing), ""));
}

static void test_order(void **state) {
    (void)state;
    int64_t times[] = {5, INT64_MIN, INT64_MAX, -1};
    uint32_t ids[] = {UINT32_MAX, 0, 7};
    const char *texts[] = {"b", "a", ""};
    qsort(times, 4, sizeof *times, sl_order_i64);
    qsort(ids, 3, sizeof *ids, sl_order_u32);
    qsort(texts, 3, sizeof *texts, sl_order_texts);
    assert_true(times[0] == INT64_MIN && times[1] == -1 && times[3] == INT64_MAX);
    assert_true(ids[0] == 0 && ids[1] == 7 && ids[2] == UINT32_MAX);
    assert_string_equal(texts[0], "");
    assert_string_equal(texts[2], "b");
    assert_true(sl_max_i64(-1, 1) == 1 && sl_min_i64(-1, 1) == -1);
    assert_true(sl_max_u64(UINT64_MAX, 1) == UINT64_MAX && sl_min_size(SIZE_MAX, 1) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_base_name),
        cmocka_unit_test(test_order),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
