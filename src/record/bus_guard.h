/* SPDX-License-Identifier: MIT */
/* SIGBUS out of the log's mapping: somebody cut the file short, the disk or the server behind it failed.
 * The kernel has no other way to say so, and its default ends the program.
 *
 * While a log is open there is a handler. A fault inside the log's memory gets fresh memory in place of the
 * file; the event ends as if nothing had happened, what it wrote goes nowhere, and the helper ends the
 * recording and says so. Every other SIGBUS takes the way it would have taken: the program's handler, or
 * the default.
 *
 * What this cannot do: a program that installs a handler of its own later has it, and sees these faults
 * itself; a thread that blocks SIGBUS is ended by the kernel. */
#ifndef SL_BUS_GUARD_H
#define SL_BUS_GUARD_H

#include "base/sl_base.h"

/* Watches this memory, one range at a time. Under the control lock. */
void sl_bus_guard_watch(void *from, size_t bytes);

/* The range is about to be unmapped. Puts the program's own handler back, unless it was changed since. */
void sl_bus_guard_end(void);

/* Whether a fault was caught in the range: nothing that was written since is in the file. */
bool sl_bus_guard_has_caught(void);

/* In the child of a fork: the range is not there. */
void sl_bus_guard_after_fork_child(void);

#endif
