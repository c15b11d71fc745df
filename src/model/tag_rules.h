/* SPDX-License-Identifier: MIT */
/* Decides the tag of a block from what the recording has about it. The rules are one table; the
 * first row that fits decides. docs/decisions/0003-tags.md has their reasons. Pure. */
#ifndef SL_TAG_RULES_H
#define SL_TAG_RULES_H

#include "model/tag.h"
#include "model/torch_frames.h"

/* An activation is gone when its step is over; a batch may be fetched a step ahead. */
#define SL_TAG_KEPT_STEPS 2

typedef struct sl_tag_facts {
    sl_tag annotated;     /* what the recorder saw it used for; SL_TAG_UNKNOWN = nothing */
    sl_train_phase phase; /* in which it was made */
    bool is_built;        /* made while a module was built, filled, moved or loaded */
    bool is_training;     /* made after the first phase began */
    bool has_outlived;    /* backward: live when an optimizer began; optimizer: when it was done */
    bool was_passed_over; /* live during two scans of the optimizers, and none of them held it */
    bool
        is_kept; /* live at the ends of SL_TAG_KEPT_STEPS steps, or without steps as many forward passes */
    bool has_model; /* an optimizer steps or modules run, so "outside the model" has a meaning */
} sl_tag_facts;

sl_tag sl_tag_decide(const sl_tag_facts *facts);

#endif
