/* SPDX-License-Identifier: MIT */
/* Long work in a thread of its own, so that keys are answered while a large input is read. One job at a time;
 * a job's result belongs to whoever takes it. */
#ifndef SL_TUI_LOADER_H
#define SL_TUI_LOADER_H

#include "tui/facts/run_facts.h"

typedef enum sl_load_kind { SL_LOAD_READ, SL_LOAD_WHATIF } sl_load_kind;

typedef struct sl_load_job {
    sl_load_kind kind;
    char *path;                  /* owned; of READ */
    const sl_code_folders *code; /* borrowed */
    const sl_tui_inputs *asked;  /* borrowed, of WHATIF: no other thread may use them meanwhile */
    const sl_tui_source *source; /* borrowed, of WHATIF */
    size_t device;
    /* The result. */
    sl_status status;
    sl_error err;
    sl_tui_inputs inputs;  /* of READ */
    sl_tui_source *whole;  /* of READ */
    sl_tui_whatif *answer; /* of WHATIF */
} sl_load_job;

typedef struct sl_loader sl_loader;

sl_status sl_loader_new(sl_loader **out, sl_error *err);
/* Waits for the job. */
void sl_loader_free(sl_loader *loader);

bool sl_loader_is_busy(const sl_loader *loader);
/* False when it is busy or no thread can be made; takes job->path in either case. */
bool sl_loader_start(sl_loader *loader, const sl_load_job *job);
/* The job if it has ended: the caller then owns it and frees it with sl_load_job_free. */
sl_load_job *sl_loader_take(sl_loader *loader);
void sl_load_job_free(sl_load_job *job);

/* Progress: `done` of `total` bytes; total 0 = not known. */
void sl_loader_progress(const sl_loader *loader, uint64_t *done, uint64_t *total);
/* Readable when a job has ended. */
int sl_loader_fd(const sl_loader *loader);

#endif
