/* SPDX-License-Identifier: MIT */
#include "base/core/opt_value.h"

#include <string.h>

#include "sltest.h"

static sl_status parse(sl_opt_type type, const char *text, sl_opt_value *value, sl_error *err) {
    sl_opt opt = {.name = "x", .type = type, .choices = "leak|oom|spike", .help = "x"};
    *value = (sl_opt_value){0};
    return sl_opt_value_parse(&opt, text, value, err);
}

static void limits_are_shares_or_amounts(void **state) {
    SL_UNUSED(state);
    sl_opt_value value;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(parse(SL_OPT_LIMIT, "5%", &value, &err), SL_OK);
    assert_true(value.limit.is_share);
    assert_float_equal(value.limit.share, 0.05, 1e-12);
    assert_false(value.limit.is_more);
    assert_int_equal(parse(SL_OPT_LIMIT, "200MiB", &value, &err), SL_OK);
    assert_false(value.limit.is_share);
    assert_int_equal(value.limit.bytes, 200u << 20);
    assert_int_equal(parse(SL_OPT_LIMIT, "+1GiB", &value, &err), SL_OK);
    assert_true(value.limit.is_more);
    assert_int_equal(value.limit.bytes, 1u << 30);
    static const char *const wrong[] = {"", "%", "-5%", "many", "5 %%", "nan%", "+", "-3GiB"};
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++)
        assert_int_equal(parse(SL_OPT_LIMIT, wrong[i], &value, &err), SL_E_USAGE);
}

static void durations_have_units(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text;
        int64_t us;
    } rows[] = {{"250ms", 250000}, {"90s", 90000000},    {"5min", 300000000},
                {"0us", 0},        {"1.5h", 5400000000}, {"2d", 172800000000}};
    sl_opt_value value;
    sl_error err = SL_ERROR_INIT;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        assert_int_equal(parse(SL_OPT_DURATION, rows[i].text, &value, &err), SL_OK);
        assert_int_equal(value.number, rows[i].us);
    }
    static const char *const wrong[] = {"", "s", "5", "5 weeks", "-5s", "1e99s", "inf s", "nans"};
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++)
        assert_int_equal(parse(SL_OPT_DURATION, wrong[i], &value, &err), SL_E_USAGE);
}

static void moments_have_anchors(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text;
        sl_opt_anchor anchor;
        int64_t us;
    } rows[] = {
        {"start", SL_ANCHOR_START, 0},
        {"end", SL_ANCHOR_END, 0},
        {"peak", SL_ANCHOR_PEAK, 0},
        {"90s", SL_ANCHOR_START, 90000000},
        {"+1ms", SL_ANCHOR_START, 1000},
        {"-10s", SL_ANCHOR_END, -10000000},
        {"1794709125", SL_ANCHOR_CLOCK, 1794709125},
    };
    sl_opt_value value;
    sl_error err = SL_ERROR_INIT;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        assert_int_equal(parse(SL_OPT_TIME, rows[i].text, &value, &err), SL_OK);
        assert_int_equal(value.time.anchor, rows[i].anchor);
        assert_int_equal(value.time.us, rows[i].us);
    }
    static const char *const wrong[] = {"", "noon", "--5s", "99999999999999999999", "5q"};
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++)
        assert_int_equal(parse(SL_OPT_TIME, wrong[i], &value, &err), SL_E_USAGE);
}

static void choices_are_combined_into_a_mask(void **state) {
    SL_UNUSED(state);
    sl_opt_value value;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(parse(SL_OPT_CHOICES, "leak", &value, &err), SL_OK);
    assert_int_equal(value.number, 1);
    assert_int_equal(parse(SL_OPT_CHOICES, "spike,leak", &value, &err), SL_OK);
    assert_int_equal(value.number, 5);
    static const char *const wrong[] = {"", "leak,", ",leak", "leek", "leak,,oom", "lea"};
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++)
        assert_int_equal(parse(SL_OPT_CHOICES, wrong[i], &value, &err), SL_E_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_shares_or_amounts),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(moments_have_anchors),
        cmocka_unit_test(choices_are_combined_into_a_mask),
    };
    return cmocka_run_group_tests_name("opt_value", tests, NULL, NULL);
}
