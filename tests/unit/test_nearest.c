/* SPDX-License-Identifier: MIT */
#include "base/core/nearest.h"

#include "sltest.h"

static void distances_count_single_edits(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *a, *b;
        size_t distance;
    } rows[] = {
        {"", "", 0},
        {"abc", "abc", 0},
        {"abc", "abd", 1},
        {"abc", "ab", 1},
        {"ab", "ba", 1},
        {"", "abc", 3},
        {"formt", "format", 1},
        {"inof", "info", 1},
        {"kitten", "sitting", 3},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        assert_int_equal(sl_edit_distance(rows[i].a, rows[i].b), rows[i].distance);
        assert_int_equal(sl_edit_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
}

static void the_nearest_word_is_suggested_and_distant_ones_are_not(void **state) {
    SL_UNUSED(state);
    sl_nearest search = {.word = "analyse"};
    sl_nearest_offer(&search, SL_STR("export"));
    assert_string_equal(search.best, "");
    sl_nearest_offer(&search, SL_STR("analyzer"));
    sl_nearest_offer(&search, SL_STR("analyze"));
    assert_string_equal(search.best, "analyze");
    sl_nearest_offer(&search, SL_STR("analyzed"));
    assert_string_equal(search.best, "analyze");
}

static void long_words_are_cut_not_overrun(void **state) {
    SL_UNUSED(state);
    char word[300];
    for (size_t i = 0; i + 1 < sizeof word; i++)
        word[i] = 'a';
    word[sizeof word - 1] = '\0';
    assert_int_equal(sl_edit_distance(word, "aaa"), SL_NEAREST_CAP - 1 - 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_count_single_edits),
        cmocka_unit_test(the_nearest_word_is_suggested_and_distant_ones_are_not),
        cmocka_unit_test(long_words_are_cut_not_overrun),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
