/* SPDX-License-Identifier: MIT */
#include "model/tag_rules.h"

typedef enum wanted { EITHER, NO, YES } wanted;

typedef struct rule_row {
    sl_train_phase phase;
    wanted built, training, outlived, passed_over, kept, model;
    sl_tag tag;
} rule_row;

/* A module that is built inside the forward pass of another still makes parameters; one that is
 * copied by an optimizer (averaged weights) makes what the optimizer keeps. */
static const rule_row rules[] = {
    {SL_PHASE_OPTIMIZER, EITHER, EITHER, YES, EITHER, EITHER, EITHER, SL_TAG_OPTIMIZER_STATE},
    {SL_PHASE_OPTIMIZER, EITHER, EITHER, NO, EITHER, EITHER, EITHER, SL_TAG_OTHER},
    {SL_PHASE_BACKWARD, EITHER, EITHER, YES, NO, EITHER, EITHER, SL_TAG_GRADIENT},
    {SL_PHASE_BACKWARD, EITHER, EITHER, EITHER, EITHER, EITHER, EITHER, SL_TAG_OTHER},
    {SL_PHASE_FORWARD, YES, EITHER, EITHER, EITHER, EITHER, EITHER, SL_TAG_PARAMETER},
    {SL_PHASE_FORWARD, NO, EITHER, EITHER, EITHER, YES, EITHER, SL_TAG_OTHER}, /* leaks, caches */
    {SL_PHASE_FORWARD, NO, EITHER, EITHER, EITHER, NO, EITHER, SL_TAG_ACTIVATION},
    {SL_PHASE_NONE, YES, EITHER, EITHER, EITHER, EITHER, EITHER, SL_TAG_PARAMETER},
    {SL_PHASE_NONE, NO, YES, EITHER, EITHER, YES, EITHER, SL_TAG_OTHER},
    {SL_PHASE_NONE, NO, YES, EITHER, EITHER, NO, NO, SL_TAG_OTHER},
    {SL_PHASE_NONE, NO, YES, EITHER, EITHER, NO, YES, SL_TAG_INPUT},
};

static bool fits(wanted want, bool is) {
    return want == EITHER || (want == YES) == is;
}

sl_tag sl_tag_decide(const sl_tag_facts *facts) {
    if (facts->annotated != SL_TAG_UNKNOWN)
        return facts->annotated;
    for (size_t i = 0; i < SL_COUNT_OF(rules); i++)
        if (rules[i].phase == facts->phase && fits(rules[i].built, facts->is_built) &&
            fits(rules[i].training, facts->is_training) &&
            fits(rules[i].outlived, facts->has_outlived) &&
            fits(rules[i].passed_over, facts->was_passed_over) &&
            fits(rules[i].kept, facts->is_kept) && fits(rules[i].model, facts->has_model))
            return rules[i].tag;
    return SL_TAG_UNKNOWN;
}
