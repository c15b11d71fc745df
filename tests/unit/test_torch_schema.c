/* SPDX-License-Identifier: MIT */
#include "read/torch/torch_schema.h"

#include <string.h>

#include "model/event.h"
#include "sltest.h"

static void test_words_are_unique(void **state) {
    SL_UNUSED(state);
    for (size_t i = 0; i < SL_WORD_LIMIT; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(sl_torch_words[i], sl_torch_words[k]);
}

static void test_actions_are_event_kinds(void **state) {
    SL_UNUSED(state);
    for (size_t i = SL_WORD_ALLOC; i < SL_WORD_LIMIT; i++)
        assert_int_not_equal(sl_event_kind_find(sl_torch_words[i], strlen(sl_torch_words[i])),
                             SL_EV_UNKNOWN);
}

/* The build's bit for a field is its number modulo 64: a role's rows must lie within 64. */
static void test_fields_of_a_role_are_adjacent(void **state) {
    SL_UNUSED(state);
    assert_true(sl_torch_field_cnt < UINT8_MAX);
    size_t first[SL_ROLE_LIMIT], last[SL_ROLE_LIMIT];
    memset(first, 0xff, sizeof first);
    for (size_t i = 0; i < sl_torch_field_cnt; i++) {
        const sl_torch_field *field = &sl_torch_fields[i];
        if (first[field->role] == SIZE_MAX)
            first[field->role] = i;
        last[field->role] = i;
        assert_true(last[field->role] - first[field->role] < 64);
        assert_true(field->take != SL_TAKE_UNKNOWN && field->word != SL_WORD_EMPTY);
        assert_false(sl_torch_roles[field->role].is_list);
        for (size_t k = 0; k < i; k++)
            assert_false(sl_torch_fields[k].role == field->role &&
                         sl_torch_fields[k].word == field->word);
    }
}

/* No role may contain itself: one draft of each is all there is. */
static bool reaches(size_t from, size_t role, int steps) {
    if (steps == 0)
        return false;
    const sl_torch_role_row *row = &sl_torch_roles[from];
    size_t next[] = {row->of_dicts, row->of_lists};
    for (size_t i = 0; i < 2; i++)
        if (next[i] && (next[i] == role || reaches(next[i], role, steps - 1)))
            return true;
    for (size_t i = 0; i < sl_torch_field_cnt; i++)
        if (sl_torch_fields[i].role == from && sl_torch_fields[i].child &&
            (sl_torch_fields[i].child == role ||
             reaches(sl_torch_fields[i].child, role, steps - 1)))
            return true;
    return false;
}

static void test_no_role_contains_itself(void **state) {
    SL_UNUSED(state);
    for (size_t role = 1; role < SL_ROLE_LIMIT; role++)
        assert_false(reaches(role, role, 12));
    assert_true(reaches(SL_ROLE_ROOT, SL_ROLE_FRAME, 12));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_unique),
        cmocka_unit_test(test_actions_are_event_kinds),
        cmocka_unit_test(test_fields_of_a_role_are_adjacent),
        cmocka_unit_test(test_no_role_contains_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
