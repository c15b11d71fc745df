/* SPDX-License-Identifier: MIT */
/* The diagnose bundle: what a person needs to know about a machine's memory, in four JSON files
 * that appear together, when all are complete. The measured timeline counts in the judgement. */
#ifndef SL_DIAGNOSE_BUNDLE_H
#define SL_DIAGNOSE_BUNDLE_H

#include "base/core/options.h"
#include "export/bundle/bundle_folder.h"

typedef struct sl_diagnose {
    const char *prefix;       /* "stormlog-diagnose" */
    const char *command_line; /* for the manifest */
    const char *output;       /* NULL = a new folder in the current one */
    double duration_s, interval_s;
    int device; /* -1 = the first */
    int pid;    /* 0 = the whole machine, and this process */
} sl_diagnose;

typedef struct sl_diagnose_result {
    char path[SL_BUNDLE_PATH_CAP]; /* absolute */
    bool high_utilization, fragmentation_warning, oom_occurred;
} sl_diagnose_result;

/* Measures and writes. SL_E_OPEN and similar codes when the folder cannot be made. */
sl_status sl_diagnose_write(const sl_diagnose *what, sl_diagnose_result *result, sl_error *err);

/* Reads --output, --device, --duration, --interval and --pid, runs the diagnosis and prints the
 * three lines. Returns 0, or 2 when memory is at risk, or 1. */
int sl_diagnose_command(const sl_opts *opts, const char *prefix, sl_error *err);

/* The command line of this process, its arguments joined by spaces; a longer one is cut. */
#define SL_DIAGNOSE_LINE_CAP 2048
const char *sl_diagnose_line(char line[SL_DIAGNOSE_LINE_CAP]);

#endif
