/* SPDX-License-Identifier: MIT */
/* What a frame is, decided once per distinct frame, and from that once per distinct stack: the
 * user's line in it and the part of the framework it runs through. */
#ifndef SL_USER_LINE_H
#define SL_USER_LINE_H

#include "model/torch_frames.h"
#include "run/lines/site.h"

/* Whose code a frame is; the highest one of a stack is the user's line. */
typedef enum sl_owner {
    SL_OWNER_MODULE,      /* no code at all: the path of the module that ran */
    SL_OWNER_NATIVE,      /* no Python: .so, .cpp, ?? */
    SL_OWNER_NATIVE_USER, /* native code of no system's and no framework's library */
    SL_OWNER_LIBRARY,
    SL_OWNER_NAMELESS, /* <string>, <stdin>: the user's with python -c, a library's when generated */
    SL_OWNER_USER,
} sl_owner;

typedef struct sl_frame_class {
    uint8_t owner; /* sl_owner */
    uint8_t roles; /* sl_role */
} sl_frame_class;

/* One frame by its file and function; `code` may be NULL. */
sl_frame_class sl_frame_classify(const sl_code_folders *code, sl_str file, sl_str function);

/* Whether a frame of a trace is the user's own code. */
bool sl_frame_is_users(const sl_trace *trace, sl_frame frame);

typedef struct sl_stack_class {
    uint32_t frame_pos; /* of the user's line; meaningless unless origin is SL_ORIGIN_LINE */
    uint8_t origin;     /* sl_origin */
    uint8_t roles;      /* sl_role */
    bool is_library;    /* no frame is the user's: the line is a library's */
} sl_stack_class;

/* All stacks of a trace, by stack id; owned by the caller, plain free. NULL when memory ran out. */
sl_stack_class *sl_stacks_classify(const sl_trace *trace);

#endif
