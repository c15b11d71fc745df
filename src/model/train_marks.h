/* SPDX-License-Identifier: MIT */
/* Which Python functions tell what a training program is doing, and the phases they stand for. The
 * recorder asks at the first sight of a frame, readers and analyses for the stacks of a trace. */
#ifndef SL_TRAIN_MARKS_H
#define SL_TRAIN_MARKS_H

#include "base/core/sl_base.h"

/* What one frame says; bits. */
enum sl_frame_mark {
    SL_FRAME_OPTIMIZER = 1,  /* the step of a torch optimizer */
    SL_FRAME_BACKWARD = 2,   /* torch's backward */
    SL_FRAME_MODULE = 4,     /* the call of a torch module */
    SL_FRAME_BUILD = 8,      /* builds, fills, moves or loads a module */
    SL_FRAME_GRAD_MODE = 16, /* turns gradients off or on, or wraps a function that does */
};

/* Marks of a frame with this function and file; 0 for nearly all. */
uint32_t sl_frame_marks_find(sl_str function, sl_str file);

/* enumerator, name in recordings and reports. Names are on disk: append, never rename. */
#define SL_TRAIN_PHASE_MAP(X) \
    X(NONE, "outside")        \
    X(FORWARD, "forward")     \
    X(BACKWARD, "backward")   \
    X(OPTIMIZER, "optimizer")

typedef enum sl_train_phase {
#define SL_TRAIN_PHASE_ENUM(name, text) SL_PHASE_##name,
    SL_TRAIN_PHASE_MAP(SL_TRAIN_PHASE_ENUM)
#undef SL_TRAIN_PHASE_ENUM
        SL_PHASE_LIMIT /* one past the last phase */
} sl_train_phase;

const char *sl_train_phase_name(sl_train_phase phase);

/* The phase of a name; SL_PHASE_NONE when there is none. */
sl_train_phase sl_train_phase_find(sl_str name);

/* The phase of a stack with these marks. An optimizer may run the whole model (closures), a backward
 * pass may run modules again (checkpoints), so the order is optimizer, backward, forward. */
sl_train_phase sl_train_phase_of(uint32_t marks);

#endif
