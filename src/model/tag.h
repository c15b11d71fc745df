/* SPDX-License-Identifier: MIT */
/* What a block is for, in a training program. The names are in reports and pages: append, never
 * rename. */
#ifndef SL_TAG_H
#define SL_TAG_H

#include "base/core/sl_base.h"

/* enumerator, name on the outside, what it means. */
#define SL_TAG_MAP(X)                                                                  \
    X(UNKNOWN, "unknown", "purpose unknown")                                           \
    X(PARAMETER, "parameter",                                                          \
      "a weight that an optimizer updates, or that a module was built with")           \
    X(GRADIENT, "gradient", "the gradient of a parameter")                             \
    X(OPTIMIZER_STATE, "optimizer state", "what an optimizer keeps between steps")     \
    X(INPUT, "input", "allocated outside the model, during training")                  \
    X(ACTIVATION, "activation", "allocated by a module's forward pass")                \
    X(OTHER, "other",                                                                  \
      "allocated in training and none of these: temporaries, what a program collects") \
    X(WORKSPACE, "workspace", "workspaces of cuBLAS and cuDNN, allocated by PyTorch")

typedef enum sl_tag {
#define SL_TAG_ENUM(name, text, meaning) SL_TAG_##name,
    SL_TAG_MAP(SL_TAG_ENUM)
#undef SL_TAG_ENUM
        SL_TAG_LIMIT /* one past the last tag */
} sl_tag;

/* Label of an annotation without an address: an optimizer was just scanned, so the tags of its
 * tensors are up to date. On disk. */
#define SL_TAG_LOOKED_LABEL "looked"

/* The outside name; "unknown" for a number this version does not know. */
const char *sl_tag_name(sl_tag tag);

/* What the name means, in words. */
const char *sl_tag_meaning(sl_tag tag);

/* The tag of an outside name, SL_TAG_UNKNOWN when there is none. */
sl_tag sl_tag_find(const char *name, size_t len);

#endif
