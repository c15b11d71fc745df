/* SPDX-License-Identifier: MIT */
/* What a training program is doing, read off the stacks: the phase of an allocation, and the end of
 * a step, which is the moment a thread is seen outside an optimizer's step after it was inside.
 *
 * A program with several optimizers ends one step when the first of them has stepped: the line that
 * calls its step() is the primary site. When another site has stepped three times without the
 * primary, it takes its place (a warm-up phase with an optimizer of its own, for example).
 *
 * (H1) An optimizer may run the whole forward and backward pass inside its step, as a closure: LBFGS has to,
 *      Lightning always does. Steps turn gradients off and turn them on for the closure, so with gradients on, or
 *      inside a backward pass, it is the closure's code that runs, and its phase is what it would be outside. */
#ifndef SL_PHASE_WATCH_H
#define SL_PHASE_WATCH_H

#include "log/write/log_writer.h"
#include "record/core/guard.h"
#include "record/stacks/stack_cache.h"

/* A log was opened: makes the names of the phases. */
void sl_phase_start(sl_log *log);

/* What a moment is. */
typedef struct sl_phase_seen {
    uint16_t label;   /* of the phase, 0 = none */
    bool is_forward;  /* an operator that runs now may be part of a graph */
    bool is_called;   /* inside the program's call of torch's backward */
    bool is_autograd; /* on a thread of autograd's */
} sl_phase_seen;

/* The thread of this slot, the calling one, is seen with a stack that has these flags. */
const sl_phase_seen *sl_phase_note(sl_log *log, sl_guard_slot *slot, uint32_t stack_flags);

/* The same where an optimizer turns gradients off or on. */
void sl_phase_note_border(sl_log *log, sl_guard_slot *slot, uint32_t stack_flags);

/* The optimizer's step of the calling thread, whose slot this is, has done its work. */
void sl_phase_note_optimizer_end(sl_log *log, sl_guard_slot *slot);

/* The thread of this slot, the calling one, is done: its step ends now if nobody saw its end. */
void sl_phase_finish_thread(sl_log *log, sl_guard_slot *slot);

/* The log is about to be closed: a step whose end nobody saw ends now. */
void sl_phase_finish(sl_log *log);

/* The program counts its steps itself. */
void sl_phase_count_no_steps(void);

/* A small number (1 .. 255) for the stack that calls an optimizer's step; 0 when there are too many. */
uint32_t sl_phase_site(uint32_t caller_stack);

#endif
