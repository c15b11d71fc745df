/* SPDX-License-Identifier: MIT */
/* SIGBUS from the log's mapping: the file was truncated, or its disk or server failed. The kernel
 * reports that only by this signal, whose default action ends the program.
 *
 * While a log is open there is a handler. A fault inside the log's memory gets fresh memory in
 * place of the file; the event completes, what it writes is lost, and the helper ends the recording
 * with a message. Every other SIGBUS goes where it would have gone: to the program's handler, or
 * the default action.
 *
 * The program does not see it: sigaction and signal are hooked, and for SIGBUS they answer and keep
 * what the program would have without us. What this cannot do: a program that makes the system call
 * itself has its own handler and sees these faults, too; a thread that blocks SIGBUS is ended by
 * the kernel. */
#ifndef SL_BUS_GUARD_H
#define SL_BUS_GUARD_H

#include <signal.h>

#include "base/core/sl_base.h"

typedef void (*sl_sighandler)(int);

SL_API int sl_hook_sigaction(int signal, const struct sigaction *action,
                             struct sigaction *old) __asm__("sigaction");
SL_API sl_sighandler sl_hook_signal(int signal, sl_sighandler handler) __asm__("signal");

/* Looks up the originals early: sigaction may be called in a signal handler, where no lookup is
 * possible. */
void sl_bus_guard_prepare(void);

/* Watches this memory, one range at a time. Under the control lock. */
void sl_bus_guard_watch(void *from, size_t bytes);

/* The range is about to be unmapped. Puts the program's own handler back. */
void sl_bus_guard_end(void);

/* Whether a fault was caught in the range: nothing that was written since is in the file. */
bool sl_bus_guard_has_caught(void);

/* In the child of a fork: the range is not there. */
void sl_bus_guard_after_fork_child(void);

#endif
