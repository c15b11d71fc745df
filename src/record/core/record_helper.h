/* SPDX-License-Identifier: MIT */
/* The recorder's own threads. The helper keeps the log's regions ahead of their use and asks the
 * driver's library. It has a reader beside it, which reads the files of /proc with a table of
 * descriptors of its own: what it opens never takes a number that the program's next open(2) would
 * have been given, and nothing the program closes is its. The driver's library keeps descriptors
 * open that must be the whole process's, so it is not asked there.
 *
 * Both block every signal but SIGBUS (bus_guard.h), hold no lock of the program's, and are gone while the program
 * forks, so that a fork copies no half-done work and Python sees no thread it would warn about.
 *
 * Start and stop are called under the control lock (control_lock.h). The helper makes and ends the reader. */
#ifndef SL_RECORD_HELPER_H
#define SL_RECORD_HELPER_H

#include "base/core/sl_base.h"

typedef struct sl_helper_task {
    void (*run)(void); /* every period */
    uint64_t period_ms;
    bool reads_files; /* in the reader's thread */
} sl_helper_task;

#define SL_HELPER_TASK_MAX 8

/* False when no thread could be made. True and no change when it runs already; one that did not stop in
 * time carries on. Tasks are copied. */
bool sl_helper_start(const sl_helper_task *tasks, size_t task_cnt);

/* Ends the threads and waits for them, at most limit_ms, and no longer once `is_stuck` (may be NULL) says that
 * they wait for something the caller may be holding up. True when they are gone or were never there. */
bool sl_helper_stop(unsigned limit_ms, bool (*is_stuck)(void));

bool sl_helper_is_running(void);

/* In the child of a fork that could not stop the threads first: they are gone all the same. */
void sl_helper_after_fork_child(void);

#endif
