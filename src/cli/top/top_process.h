/* SPDX-License-Identifier: MIT */
/* The recordings that `top` shows, and what each process is to the others: run/process_tree.h. */
#ifndef SL_TOP_PROCESS_H
#define SL_TOP_PROCESS_H

#include "run/process_tree.h"

typedef struct sl_top_process {
    const char *path;       /* borrowed */
    sl_trace *trace;        /* owned; its process alone */
    sl_process_place place; /* no role where the recording cannot be read */
} sl_top_process;

/* *out: cnt of them, in the order of the paths; sl_top_processes_free. SL_E_NOMEM. A recording that
 * cannot be read is not an error here: the view that shows it reports it. */
sl_status sl_top_processes_find(char *const *paths, size_t cnt, sl_top_process **out,
                                sl_error *err);
void sl_top_processes_free(sl_top_process *processes, size_t cnt);

#define SL_TOP_ROLE_CAP 80
/* "main process 4711", "rank 1, process 4712", "DataLoader worker 4713 of rank 1"; "process 4714" of a
 * recording that could not be read when the roles were found. Returns buf. */
const char *sl_top_process_words(char buf[SL_TOP_ROLE_CAP], const sl_top_process *process,
                                 uint32_t pid);

#endif
