/* SPDX-License-Identifier: MIT */
/* The one lock of the recorder's life: start, stop, opening the log, the helper's thread, and fork.
 *
 * (C1) Whoever starts, stops or forks takes it and may wait for it. It is held for a bounded time: the
 *      waits for threads under it have limits.
 * (C2) An event never waits for it. It tries, and where it fails it goes on without what the lock would
 *      have given it.
 * (C3) From before a fork until after it, in parent and child, the forking thread holds it: of several
 *      threads that fork at once, one is at it at a time, and none starts or stops a helper meanwhile.
 * (C4) The holder takes no signals but SIGBUS. A handler that forks, or calls the
 *      recorder's functions, cannot find the lock in its own thread's hands. */
#ifndef SL_CONTROL_LOCK_H
#define SL_CONTROL_LOCK_H

#include <signal.h>

#include "base/sl_base.h"

void sl_control_take(void);
bool sl_control_try(void);
/* At exit: a thread may be stuck in another library's handler of a fork, with the lock. */
bool sl_control_take_within(unsigned limit_ms);
void sl_control_give(void);

/* In the child of a fork, instead of sl_control_give: `is_held` when the forking thread took the lock. */
void sl_control_after_fork_child(bool is_held);

/* All signals but SIGBUS: blocked, a fault in the log's memory would end the process (bus_guard.h). */
void sl_control_fill_mask(sigset_t *mask);

#endif
