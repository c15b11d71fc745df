/* SPDX-License-Identifier: MIT */
/* The recorder's own thread: keeps the log's regions ahead of their use and reads the counters.
 * It blocks every signal but SIGBUS (bus_guard.h), holds no lock of the program's, and is gone while
 * the program forks, so that a fork copies no half-done work and Python sees no thread it would warn about.
 * Start and stop are called under the control lock (control_lock.h). */
#ifndef SL_RECORD_HELPER_H
#define SL_RECORD_HELPER_H

#include "base/sl_base.h"

typedef struct sl_helper_task {
    void (*run)(void); /* every period, in the helper's thread */
    uint64_t period_ms;
} sl_helper_task;

#define SL_HELPER_TASK_MAX 4

/* False when no thread could be made. True and no change when it runs already; one that was told to stop
 * and has not is told to go on. Tasks are copied. */
bool sl_helper_start(const sl_helper_task *tasks, size_t task_cnt);

/* Ends the thread and waits for it, at most limit_ms, and no longer once `is_stuck` (may be NULL) says that
 * it waits for something the caller may be holding up. True when it is gone or was never there. */
bool sl_helper_stop(unsigned limit_ms, bool (*is_stuck)(void));

bool sl_helper_is_running(void);

/* In the child of a fork that could not stop the thread first: it is gone all the same. */
void sl_helper_after_fork_child(void);

#endif
