/* SPDX-License-Identifier: MIT */
/* A progress line on standard error: only on a terminal, only when reading takes over a second. */
#ifndef SL_PROGRESS_H
#define SL_PROGRESS_H

#include "base/core/sl_base.h"

typedef struct sl_progress {
    const char *path; /* borrowed */
    int64_t start_ns, shown_ns;
    bool is_wanted, is_shown;
} sl_progress;

void sl_progress_begin(sl_progress *progress, const char *path);

/* An sl_progress_fn; ctx is the sl_progress. */
void sl_progress_update(void *ctx, uint64_t done, uint64_t total);

/* Removes the line again. */
void sl_progress_end(sl_progress *progress);

#endif
