/* SPDX-License-Identifier: MIT */
/* _exit and _Exit: the end of a process that runs no exit handlers, as the workers of multiprocessing do.
 * Only a note is left in the log that this was the process's own doing; nothing is closed, because the
 * caller may be a signal handler or the child of a vfork. */
#ifndef SL_HOOK_EXIT_H
#define SL_HOOK_EXIT_H

#include "base/core/sl_base.h"

SL_API _Noreturn void sl_hook__exit(int status) __asm__("_exit");
SL_API _Noreturn void sl_hook__Exit(int status) __asm__("_Exit");

/* Finds the originals while that is safe: later the call may come from a signal handler. */
void sl_hook_exit_prepare(void);

#endif
