/* SPDX-License-Identifier: MIT */
/* What every reader's fuzz target does with a trace it has loaded: everything the commands do. */
#ifndef SL_FUZZ_VIEWS_H
#define SL_FUZZ_VIEWS_H

#include "model/trace.h"
#include "telemetry/telemetry.h"

/* Analyses the trace, writes it in every format, form of the report, page and picture, and compares it
 * with itself. `data` is the input: under libFuzzer its bytes choose which of the slow views are
 * drawn, so that a failure is reproduced by the same input. Aborts when a view breaks a rule. */
void fuzz_views(const sl_trace *trace, const uint8_t *data, size_t size);

/* The comparison of ranks and the report of `gpumemprof analyze`, for telemetry. */
void fuzz_telemetry_views(const sl_telemetry *set);

#endif
