/* SPDX-License-Identifier: MIT */
/* One progress line on standard error: only on a terminal, only for work that takes over a second, and
 * gone when the work is done.
 *
 * The work calls sl_progress_update, which stores two numbers. A thread of this module draws, so the
 * line appears in time also where the work calls rarely. Begin, end and hide are for the main thread.
 * Stages nest: the innermost is shown, after the count of those around it. */
#ifndef SL_PROGRESS_H
#define SL_PROGRESS_H

#include <stdatomic.h>

#include "base/core/progress_fn.h"

typedef enum sl_progress_unit {
    SL_PROGRESS_BYTES, /* "42 % of 3.1 GiB, 210 MiB/s, 8 s left" */
    SL_PROGRESS_COUNT, /* "3 of 200 runs, 12 per second, 16 s left" */
} sl_progress_unit;

typedef struct sl_progress {
    const char *verb;   /* "reading"; borrowed */
    const char *object; /* of bytes the path, of a count what is counted; borrowed */
    sl_progress_unit unit;
    int64_t start_ns;
    _Atomic(uint64_t) done, total;
    struct sl_progress *around; /* the stage it is part of; NULL = none */
} sl_progress;

/* Off: no line whatever the terminal is. Before the first stage. */
void sl_progress_allow(bool is_allowed);

/* The stage must stay where it is until its end. */
void sl_progress_begin(sl_progress *stage, sl_progress_unit unit, const char *verb,
                       const char *object);

/* An sl_progress_fn; ctx is the sl_progress. Any thread. */
void sl_progress_update(void *ctx, uint64_t done, uint64_t total);

/* Removes the line again. */
void sl_progress_end(sl_progress *stage);

/* Around output while stages are open: hide removes the line and keeps it away until show. */
void sl_progress_hide(void);
void sl_progress_show(void);

#define SL_PROGRESS_LINE_CAP 512

/* The line of a stage this long after its beginning, at most `columns` wide. For the tests. */
void sl_progress_line(char line[SL_PROGRESS_LINE_CAP], const sl_progress *stage, int64_t elapsed_ns,
                      size_t columns);

#endif
