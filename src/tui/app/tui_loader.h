/* SPDX-License-Identifier: MIT */
/* Long work in a thread of its own, so that keys are answered while a large input is read. One job at a time;
 * a job's result belongs to whoever takes it. A read that nobody wants any more can be dropped: its thread ends
 * when it notices, and frees what it has. */
#ifndef SL_TUI_LOADER_H
#define SL_TUI_LOADER_H

#include "tui/facts/compare_facts.h"
#include "tui/facts/run_facts.h"
#include "tui/facts/tui_paths.h"
#include "tui/facts/whatif_facts.h"

typedef enum sl_load_kind {
    SL_LOAD_READ,    /* paths */
    SL_LOAD_WHATIF,  /* the other questions are about what was read */
    SL_LOAD_JUDGE,   /* findings of a part of the run */
    SL_LOAD_COMPARE, /* with what paths name */
} sl_load_kind;

typedef struct sl_load_job {
    sl_load_kind kind;
    sl_tui_paths paths;          /* owned; of READ and COMPARE */
    const sl_code_folders *code; /* borrowed */
    const sl_tui_inputs
        *asked; /* borrowed, of all but READ: no other thread may use them meanwhile */
    const sl_tui_source *source; /* borrowed, as `asked` */
    size_t device;               /* of WHATIF */
    sl_whatif_question question; /* of WHATIF */
    int64_t since_us, until_us;  /* of JUDGE, after the start; INT64_MAX = to the end */
    /* The result. */
    sl_status status;
    sl_error err;
    sl_tui_inputs inputs;        /* of READ */
    sl_tui_source *whole;        /* of READ; of JUDGE with the findings alone */
    sl_tui_whatif *answer;       /* of WHATIF */
    sl_tui_comparison *compared; /* of COMPARE */
} sl_load_job;

typedef struct sl_loader sl_loader;

sl_status sl_loader_new(sl_loader **out, sl_error *err);
/* Waits for the job that was not dropped. */
void sl_loader_free(sl_loader *loader);

/* Whether a thread of any loader still works, also for a job that was dropped. */
bool sl_loader_has_thread(void);

bool sl_loader_is_busy(const sl_loader *loader);
/* False when it is busy or no thread can be made; takes job->paths in either case. */
bool sl_loader_start(sl_loader *loader, const sl_load_job *job);
/* Forgets the job that runs, if it is SL_LOAD_READ: the others use what the caller owns. False if it is not. */
bool sl_loader_drop(sl_loader *loader);
/* What can be shown of an input before all of it is read; NULL when there is nothing new. The caller owns it. */
sl_tui_source *sl_loader_take_first(sl_loader *loader);
/* The job if it has ended: the caller then owns it and frees it with sl_load_job_free. */
sl_load_job *sl_loader_take(sl_loader *loader);
void sl_load_job_free(sl_load_job *job);

/* Progress: `done` of `total` bytes; total 0 = not known. */
void sl_loader_progress(const sl_loader *loader, uint64_t *done, uint64_t *total);
/* Of the job that runs. */
sl_load_kind sl_loader_kind(const sl_loader *loader);
/* Readable when a job has ended or has something to show first. */
int sl_loader_fd(const sl_loader *loader);

#endif
