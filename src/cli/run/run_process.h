/* SPDX-License-Identifier: MIT */
/* Runs a command to its end as if it had been started directly: same terminal, same signals, its
 * own exit code. */
#ifndef SL_RUN_PROCESS_H
#define SL_RUN_PROCESS_H

#include "base/core/status.h"

/* Called again and again while the command runs; must come back soon, because signals wait. It may
 * have children of its own. */
typedef struct sl_run_idle {
    void (*look)(void *self);
    void *self;
    int interval_ms;
} sl_run_idle;

typedef struct sl_run_end {
    int exit_code; /* the command's own, or 128 + n when signal n ended it */
    int signal;    /* 0 = it exited by itself */
} sl_run_end;

/* argv ends with NULL; the environment is the caller's; idle may be NULL. */
sl_status sl_run_process(const char *path, char *const *argv, const sl_run_idle *idle,
                         sl_run_end *end, sl_error *err);

#endif
