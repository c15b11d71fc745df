/* SPDX-License-Identifier: MIT */
/* Messages from inside somebody else's process: one line on standard error, written with one
 * write(2), at most once for each place that speaks. No stdio streams, no malloc; errno is
 * preserved. Any thread. */
#ifndef SL_DIAG_H
#define SL_DIAG_H

#include <stdatomic.h>

#include "base/core/sl_base.h"

/* One for each kind of message; zero-initialised = not said yet. */
typedef struct sl_diag_once {
    atomic_int said_cnt;
} sl_diag_once;

/* "stormlog: <text>\n" the first time; later calls only count. */
void sl_diag_say(sl_diag_once *once, const char *fmt, ...) SL_PRINTF(2, 3);

/* Turns messages off for the whole process. */
void sl_diag_silence(bool is_silent);

#endif
