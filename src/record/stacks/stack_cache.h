/* SPDX-License-Identifier: MIT */
/* From the calling thread's Python stack to a stack id of the log, cheaply: a stack that was seen
 * before costs one walk and one lookup by its 64-bit key. Equal keys are taken as equal stacks; with
 * a million different stacks the odds of one mistake are one in 37 million.
 *
 * Fixed memory, mapped at start, no lock. When a table is three quarters full it is emptied: a
 * miss is always allowed, the log itself gives equal stacks equal ids. */
#ifndef SL_STACK_CACHE_H
#define SL_STACK_CACHE_H

#include "log/write/log_writer.h"
#include "model/torch_frames.h"
#include "record/stacks/key_cache.h"
#include "record/stacks/pystack.h"

/* What a stack's frames say about the moment: the marks that make a phase. */
#define SL_STACK_FLAGS (SL_FRAME_OPTIMIZER | SL_FRAME_BACKWARD | SL_FRAME_MODULE)

/* Likewise, but of no phase. */
#define SL_STACK_OTHER_FLAGS SL_FRAME_EMPTY_CACHE

/* Beside the flags: which line of the program called the optimizer's step (phase_watch.h). */
#define SL_STACK_SITE_SHIFT 8

static inline uint32_t sl_stack_flags_site(uint32_t flags) {
    return (flags >> SL_STACK_SITE_SHIFT) & 0xff;
}

typedef struct sl_stack_ref {
    uint32_t id;       /* of the log, 0 = no stack */
    uint32_t flags;    /* sl_frame_mark, and the site */
    sl_key_memo *memo; /* NULL when the stack is not in the cache */
} sl_stack_ref;

/* Maps the tables. False when there is no memory; stacks are then not recorded. */
bool sl_stack_cache_init(void);

/* Forgets every id: the log was replaced. Not while events run. */
void sl_stack_cache_clear(void);

/* The calling thread's stack now. */
sl_stack_ref sl_stack_cache_get(sl_log *log);

/* The same frames inside the stack `base`, which called them on another thread. */
sl_stack_ref sl_stack_cache_get_inside(sl_log *log, uint32_t base);

typedef struct sl_frame_look {
    uint32_t marks; /* sl_frame_mark */
    bool is_shim;   /* not real code: skipped in stacks */
} sl_frame_look;

/* What a frame is, remembered from the first time it was seen. */
sl_frame_look sl_stack_cache_look(sl_log *log, const sl_pyframe *frame);

/* How a backward allocation found its forward stack. */
typedef enum sl_backward_match {
    SL_BACKWARD_EXACT,
    SL_BACKWARD_NEAREST,
    SL_BACKWARD_ACCUMULATE,
    SL_BACKWARD_CALL,
} sl_backward_match;

/* The stack "backward of the operator that was called with `forward`". */
sl_stack_ref sl_stack_cache_get_backward(sl_log *log, uint32_t forward, sl_backward_match match);

#endif
