/* SPDX-License-Identifier: MIT */
/* Gates for CI: the baseline, the limits, and one result a gate. */
#ifndef SL_CHECK_H
#define SL_CHECK_H

#include "report/report.h"

/* The numbers of an earlier run, largest over its devices. */
typedef struct sl_baseline {
    sl_maybe_u64 peak_bytes;           /* peak_requested_bytes */
    sl_maybe_u64 live_bytes;           /* live_requested_bytes */
    sl_maybe_u64 reserved_bytes;       /* peak_reserved_bytes */
    sl_maybe_f64 slope_bytes_per_step; /* of all leaks together; 0 when there is none */
    sl_maybe_u64 leaks;
} sl_baseline;

typedef enum sl_limit_kind {
    SL_LIMIT_NONE = 0,
    SL_LIMIT_PERCENT,  /* above the baseline by at most this many percent */
    SL_LIMIT_MORE,     /* above the baseline by at most this many bytes */
    SL_LIMIT_ABSOLUTE, /* at most this many bytes, whatever the baseline */
} sl_limit_kind;

typedef struct sl_limit {
    sl_limit_kind kind;
    double value;
} sl_limit;

typedef struct sl_gates {
    sl_limit max_peak, max_live, max_reserved;
    sl_limit max_slope; /* bytes per step */
    bool no_leak;
    bool no_oom;
} sl_gates;

typedef struct sl_gate_row {
    const char *name; /* "max-peak", …: the option's name */
    bool passed;
    bool is_refused;                      /* neither passed nor failed: it cannot be proven */
    sl_maybe_f64 actual, baseline, limit; /* bytes or bytes per step */
    const char *text;                     /* one sentence */
} sl_gate_row;

typedef struct sl_check_result {
    sl_arena arena;
    SL_VEC(sl_gate_row) rows; /* in the order of sl_gates */
    bool passed;
} sl_check_result;

void sl_check_result_free(sl_check_result *result); /* NULL is fine */

#endif
