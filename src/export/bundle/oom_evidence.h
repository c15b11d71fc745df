/* SPDX-License-Identifier: MIT */
/* The bundle of a failed request that a recording saw: the four files of every OOM bundle, the trace
 * up to the failure, the live set by line, the newest events, the counters, and the report. Pure
 * output: what it shows was read and analysed by the caller. */
#ifndef SL_OOM_EVIDENCE_H
#define SL_OOM_EVIDENCE_H

#include "export/bundle/oom_bundle.h"
#include "report/report.h"
#include "run/run.h"

/* The process that failed; texts are borrowed, NULL or "" = not known. */
typedef struct sl_oom_origin {
    const char *recording; /* path */
    const char *host, *job, *exe, *cwd, *command, *writer, *torch_version;
    int pid;
    int32_t rank, local_rank; /* -1 = not known */
    int64_t world_size;       /* -1 = not known */
} sl_oom_origin;

/* A counter at the failure. */
typedef struct sl_counter_value {
    int device;
    const char *name, *unit;
    sl_maybe_u64 value;
    const char *why; /* it is not known; NULL */
} sl_counter_value;

/* What a library held in the driver. */
typedef struct sl_library_value {
    int device;
    const char *name;
    uint64_t bytes;
} sl_library_value;

typedef struct sl_oom_evidence {
    const sl_run_input *input; /* ends at the failure */
    const sl_trace *trace;     /* of the input */
    const sl_report *report;   /* of this trace alone; its oom is present */
    const sl_oom_origin *origin;
    uint64_t number; /* of the failure in its recording, from 1 */
    sl_maybe_u64 allocated_bytes, reserved_bytes,
        device_total_bytes; /* as the allocator reported them */
    const sl_counter_value *counters;
    size_t counter_cnt;
    const sl_library_value *libraries;
    size_t library_cnt;
} sl_oom_evidence;

/* Writes the folder `parent`/`name`, whole or not at all; SL_E_OPEN when it is there already. */
sl_status sl_oom_evidence_write(const sl_oom_evidence *evidence, const char *parent,
                                const char *name, char path[SL_BUNDLE_PATH_CAP], sl_error *err);

#endif
