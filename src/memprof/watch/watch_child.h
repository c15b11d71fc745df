/* SPDX-License-Identifier: MIT */
/* Starts the watched command, and reads its error output if the options ask for it. */
#ifndef SL_WATCH_CHILD_H
#define SL_WATCH_CHILD_H

#include "memprof/watch/watch.h"

/* The message of SL_E_SYSTEM names the command that cannot be started. */
sl_status sl_watch_child_start(sl_watch *watch, sl_error *err);

/* Sleeps until the monotonic time and passes error output on; returns early on a signal. */
void sl_watch_sleep(sl_watch *watch, int64_t until_ns);

/* True when the child ended; its status is kept. */
bool sl_watch_child_ended(sl_watch *watch);

/* Waits for the child, at most this long. */
void sl_watch_child_wait(sl_watch *watch, int64_t at_most_ns);

int64_t sl_watch_clock(void);

#endif
