/* SPDX-License-Identifier: MIT */
#include "cli/core/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text/human.h"
#include "base/text/term.h"

#define SECOND_NS     ((int64_t)1000000000)
#define FIRST_SHOW_NS SECOND_NS
#define REDRAW_NS     (SECOND_NS / 10)
#define PATH_COLUMNS  40

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void sl_progress_begin(sl_progress *progress, const char *path) {
    const char *term = getenv("TERM");
    bool is_terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    *progress = (sl_progress){.path = path, .is_wanted = is_terminal, .start_ns = now_ns()};
}

void sl_progress_update(void *ctx, uint64_t done, uint64_t total) {
    sl_progress *progress = ctx;
    char path[256], done_text[SL_HUMAN_CAP], total_text[SL_HUMAN_CAP];
    if (!progress->is_wanted)
        return;
    int64_t now = now_ns();
    if (now - progress->start_ns < FIRST_SHOW_NS || now - progress->shown_ns < REDRAW_NS)
        return;
    progress->shown_ns = now;
    progress->is_shown = true;
    sl_term_fit_path(path, sizeof path, progress->path, PATH_COLUMNS);
    if (total)
        fprintf(stderr, "\rreading %s: %.0f%% of %s\x1b[K", path,
                100.0 * (double)done / (double)total, sl_human_bytes(total_text, total));
    else
        fprintf(stderr, "\rreading %s: %s\x1b[K", path, sl_human_bytes(done_text, done));
}

void sl_progress_end(sl_progress *progress) {
    if (progress->is_shown)
        fputs("\r\x1b[K", stderr);
    progress->is_shown = false;
}
