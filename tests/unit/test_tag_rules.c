/* SPDX-License-Identifier: MIT */
#include "model/tag_rules.h"
#include "sltest.h"

static void an_annotation_takes_precedence_over_every_rule(void **state) {
    (void)state;
    for (unsigned phase = 0; phase < SL_PHASE_LIMIT; phase++)
        for (unsigned tag = SL_TAG_UNKNOWN + 1; tag < SL_TAG_LIMIT; tag++) {
            sl_tag_facts facts = {.annotated = (sl_tag)tag, .phase = (sl_train_phase)phase};
            assert_int_equal(sl_tag_decide(&facts), tag);
        }
}

static void each_phase_has_its_rule(void **state) {
    (void)state;
    static const struct {
        sl_tag_facts facts;
        sl_tag tag;
    } rows[] = {
        {{.phase = SL_PHASE_NONE}, SL_TAG_UNKNOWN},
        {{.phase = SL_PHASE_NONE, .has_outlived = true}, SL_TAG_UNKNOWN},
        {{.phase = SL_PHASE_NONE, .is_training = true, .has_model = true}, SL_TAG_INPUT},
        {{.phase = SL_PHASE_NONE, .is_training = true}, SL_TAG_OTHER},
        {{.phase = SL_PHASE_NONE, .is_training = true, .is_kept = true}, SL_TAG_OTHER},
        {{.phase = SL_PHASE_NONE, .is_kept = true}, SL_TAG_UNKNOWN},
        {{.phase = SL_PHASE_NONE, .is_built = true}, SL_TAG_PARAMETER},
        {{.phase = SL_PHASE_NONE, .is_built = true, .is_training = true}, SL_TAG_PARAMETER},
        {{.phase = SL_PHASE_FORWARD, .is_training = true}, SL_TAG_ACTIVATION},
        {{.phase = SL_PHASE_FORWARD, .is_training = true, .is_kept = true}, SL_TAG_OTHER},
        {{.phase = SL_PHASE_FORWARD, .is_built = true}, SL_TAG_PARAMETER},
        {{.phase = SL_PHASE_FORWARD, .is_built = true, .is_kept = true}, SL_TAG_PARAMETER},
        {{.phase = SL_PHASE_BACKWARD, .is_training = true}, SL_TAG_OTHER},
        {{.phase = SL_PHASE_BACKWARD, .has_outlived = true}, SL_TAG_GRADIENT},
        {{.phase = SL_PHASE_BACKWARD, .has_outlived = true, .was_passed_over = true}, SL_TAG_OTHER},
        {{.phase = SL_PHASE_OPTIMIZER, .is_training = true}, SL_TAG_OTHER},
        {{.phase = SL_PHASE_OPTIMIZER, .has_outlived = true}, SL_TAG_OPTIMIZER_STATE},
        {{.phase = SL_PHASE_OPTIMIZER, .is_built = true, .has_outlived = true},
         SL_TAG_OPTIMIZER_STATE},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_int_equal(sl_tag_decide(&rows[i].facts), rows[i].tag);
}

static void every_combination_of_facts_has_a_tag(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++)
        for (unsigned phase = 0; phase < SL_PHASE_LIMIT; phase++) {
            sl_tag_facts facts = {.phase = (sl_train_phase)phase,
                                  .is_built = bits & 1,
                                  .is_training = bits & 2,
                                  .has_outlived = bits & 4,
                                  .was_passed_over = bits & 8,
                                  .is_kept = bits & 16,
                                  .has_model = bits & 32};
            bool may_be_unknown = phase == SL_PHASE_NONE && !(bits & 3);
            assert_true((sl_tag_decide(&facts) == SL_TAG_UNKNOWN) == may_be_unknown);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_annotation_takes_precedence_over_every_rule),
        cmocka_unit_test(each_phase_has_its_rule),
        cmocka_unit_test(every_combination_of_facts_has_a_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
