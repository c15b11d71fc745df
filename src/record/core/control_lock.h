/* SPDX-License-Identifier: MIT */
/* The one lock of the recorder's life: start, stop, opening the log, the helper's thread, and fork.
 *
 * (C1) Whoever starts, stops or forks takes it and may wait for it. It is held for a bounded time: the
 *      waits for threads under it have limits, and nothing under it waits for the loader.
 * (C2) An event never waits for it. It tries to take it, and continues without if it cannot.
 * (C3) From before a fork until after it, in parent and child, the forking thread holds it: of several
 *      threads that fork at once, one is at it at a time, and none starts or stops a helper meanwhile.
 * (C4) The holder takes no signals but SIGBUS and cannot be cancelled: so a signal handler that
 *      forks or calls the recorder never runs on the thread that holds the lock, and no thread dies
 *      with it. During the fork itself both are the program's again: other libraries' handlers run
 *      there, and threads they make must not begin with everything blocked. */
#ifndef SL_CONTROL_LOCK_H
#define SL_CONTROL_LOCK_H

#include <signal.h>

#include "base/core/sl_base.h"

/* What the thread had before it took the lock. */
typedef struct sl_control {
    sigset_t mask;
    int cancel_state;
} sl_control;

void sl_control_take(sl_control *before);
bool sl_control_try(sl_control *before);
/* At exit: a thread may be stuck in another library's handler of a fork, with the lock. */
bool sl_control_take_within(sl_control *before, unsigned limit_ms);
void sl_control_give(const sl_control *before);

/* Around a fork (C3, C4): the lock stays, the rest is given back; and the lock is given back. */
void sl_control_relax(const sl_control *before);
void sl_control_give_lock(void);

/* In the child of a fork: nobody has the lock. */
void sl_control_after_fork_child(void);

/* All signals but SIGBUS: blocked, a fault in the log's memory would end the process (bus_guard.h). */
void sl_control_fill_mask(sigset_t *mask);

#endif
