/* SPDX-License-Identifier: MIT */
/* What torch's files and functions mean, as one table: what the training is doing, which part of the framework
 * a frame belongs to, and that its file is torch's own; and the phases of training that follow from
 * it. The recorder asks at the first sight of a frame, readers and analyses for the stacks of a
 * trace. Pure, libc only. */
#ifndef SL_TORCH_FRAMES_H
#define SL_TORCH_FRAMES_H

#include "base/core/sl_base.h"

/* What a training program is doing; bits. */
enum sl_frame_mark {
    SL_FRAME_OPTIMIZER = 1,    /* the step of a torch optimizer */
    SL_FRAME_BACKWARD = 2,     /* torch's backward */
    SL_FRAME_MODULE = 4,       /* the call of a torch module */
    SL_FRAME_BUILD = 8,        /* builds, fills, moves or loads a module */
    SL_FRAME_GRAD_MODE = 16,   /* turns gradients off or on, or wraps a function that does */
    SL_FRAME_WORKER = 32,      /* the loop of a worker of torch's DataLoader */
    SL_FRAME_EMPTY_CACHE = 64, /* torch.cuda.empty_cache() */
};

/* What a stack runs through; bits. */
typedef enum sl_role {
    SL_ROLE_NN = 1,          /* torch/nn: the forward of a layer or a functional */
    SL_ROLE_PARAM = 2,       /* builds, moves or loads a module's parameters */
    SL_ROLE_OPTIM = 4,       /* torch/optim */
    SL_ROLE_EMPTY_CACHE = 8, /* torch.cuda.empty_cache() */
    SL_ROLE_ENGINE = 16,     /* autograd's own threads, as native frames show them */
    SL_ROLE_BACKWARD = 32,   /* called by backward() or grad() */
} sl_role;

typedef struct sl_torch_frame {
    uint8_t marks;      /* sl_frame_mark */
    uint8_t roles;      /* sl_role; never ENGINE, which is not told by a file */
    bool is_torch_file; /* torch's own, wherever it is installed */
} sl_torch_frame;

/* All zero for nearly every frame. */
sl_torch_frame sl_torch_frame_find(sl_str function, sl_str file);

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

/* Label of an annotation without an address: an optimizer runs a closure and goes on after it. On disk. */
#define SL_PHASE_CLOSURE_LABEL "closure"

const char *sl_train_phase_name(sl_train_phase phase);

/* The phase of a name; SL_PHASE_NONE when there is none. */
sl_train_phase sl_train_phase_find(sl_str name);

/* The phase of a stack with these marks (sl_frame_mark). An optimizer may run the whole model (closures), a backward
 * pass may run modules again (checkpoints), so the order is optimizer, backward, forward. */
sl_train_phase sl_train_phase_of(uint32_t marks);

#endif
