/* SPDX-License-Identifier: MIT */
/* Deduplicated frames and stacks. A stack is a list of frames, innermost first; equal content has
 * one id. Stack 0 is the empty stack ("not recorded"). One thread builds, many may read. */
#ifndef SL_STACK_H
#define SL_STACK_H

#include "base/core/strtab.h"

typedef struct sl_frame {
    uint32_t function; /* string id */
    uint32_t file;     /* string id */
    uint32_t line;     /* 0 = unknown */
} sl_frame;

typedef struct sl_stack_span {
    uint32_t first; /* index into sl_stacks.frame_ids */
    uint32_t depth;
} sl_stack_span;

#define SL_STACK_EMPTY 0u
#define SL_STACK_NONE  UINT32_MAX /* returned when memory ran out */

typedef struct sl_stacks {
    SL_VEC(sl_frame) frames;
    SL_VEC(uint32_t) frame_ids;  /* all stacks one after another */
    SL_VEC(sl_stack_span) spans; /* stack id -> frame_ids */
    uint32_t *frame_slots;       /* owned; open addressing, id + 1 */
    size_t frame_slot_cnt;
    uint32_t *stack_slots; /* owned; open addressing, id + 1 */
    size_t stack_slot_cnt;
} sl_stacks;

/* The id of this frame, new or old; SL_STACK_NONE when memory ran out. */
uint32_t sl_stacks_intern_frame(sl_stacks *stacks, sl_frame frame);

/* The id of the stack with these frame ids, innermost first; SL_STACK_NONE when memory ran out. */
uint32_t sl_stacks_intern(sl_stacks *stacks, const uint32_t *frame_ids, size_t depth);

/* Number of frames of a stack; an unknown id is empty. */
size_t sl_stack_depth(const sl_stacks *stacks, uint32_t stack_id);

/* Frame i of a stack, 0 = innermost; i must be below its depth. */
sl_frame sl_stack_frame(const sl_stacks *stacks, uint32_t stack_id, size_t i);

/* A frame that is not a line of code but the path of the running module, in the place of the
 * function: "encoder.layers.3.attn". Recorded with --modules; its line is 0. */
#define SL_MODULE_FRAME_FILE "<module>"

void sl_stacks_fini(sl_stacks *stacks);

#endif
