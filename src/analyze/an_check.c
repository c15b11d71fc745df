/* SPDX-License-Identifier: MIT */
/* Gates: a report against limits and a baseline. One row of the table per gate. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "base/core/order.h"
#include "base/text/human.h"

static sl_maybe_u64 max_maybe(sl_maybe_u64 a, sl_maybe_u64 b) {
    if (!a.known || !b.known)
        return a.known ? a : b;
    return a.value > b.value ? a : b;
}

void sl_baseline_from_report(const sl_report *report, sl_baseline *baseline) {
    *baseline = (sl_baseline){.slope_bytes_per_step = sl_known_f64(0), .leaks = sl_known_u64(0)};
    for (size_t i = 0; i < report->devices.cnt; i++) {
        const sl_device_report *d = &report->devices.at[i];
        baseline->peak_bytes =
            sl_known_u64(sl_max_u64(baseline->peak_bytes.value, d->peak_requested_bytes));
        baseline->live_bytes =
            sl_known_u64(sl_max_u64(baseline->live_bytes.value, d->live_requested_bytes));
        baseline->reserved_bytes = max_maybe(baseline->reserved_bytes, d->peak_reserved_bytes);
    }
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *f = &report->findings.at[i];
        if (f->kind != SL_FINDING_LEAK)
            continue;
        baseline->leaks.value++;
        baseline->slope_bytes_per_step.value +=
            f->bytes_per_step.known ? f->bytes_per_step.value : 0;
    }
}

/* ---- limits ---- */

typedef struct gate {
    const char *name, *what, *unit;
    sl_limit limit;
    sl_maybe_f64 actual, baseline;
} gate;

static sl_maybe_f64 as_f64(sl_maybe_u64 value) {
    return value.known ? sl_known_f64((double)value.value) : (sl_maybe_f64){0};
}

/* The number that must not be exceeded; unknown when the baseline lacks it. */
static sl_maybe_f64 limit_of(const gate *g) {
    if (g->limit.kind == SL_LIMIT_ABSOLUTE)
        return sl_known_f64(g->limit.value);
    if (!g->baseline.known)
        return (sl_maybe_f64){0};
    return sl_known_f64(g->limit.kind == SL_LIMIT_PERCENT
                            ? g->baseline.value * (1 + g->limit.value / 100)
                            : g->baseline.value + g->limit.value);
}

static const char *describe(sl_arena *arena, const gate *g, sl_maybe_f64 limit, bool passed) {
    char actual[SL_HUMAN_CAP], most[SL_HUMAN_CAP], base[SL_HUMAN_CAP];
    if (!g->actual.known)
        return sl_arena_printf(arena, "%s is not known for this input", g->what);
    sl_human_bytes(actual, (uint64_t)(g->actual.value > 0 ? g->actual.value : 0));
    sl_human_bytes(most, (uint64_t)(limit.value > 0 ? limit.value : 0));
    sl_human_bytes(base, (uint64_t)(g->baseline.value > 0 ? g->baseline.value : 0));
    const char *sign = passed ? "within" : "above";
    if (g->limit.kind == SL_LIMIT_ABSOLUTE)
        return sl_arena_printf(arena, "%s %s%s is %s the limit of %s", g->what, actual, g->unit,
                               sign, most);
    return sl_arena_printf(arena, "%s %s%s is %s the limit of %s (baseline %s)", g->what, actual,
                           g->unit, sign, most, base);
}

static sl_status run_gate(sl_check_result *result, const gate *g, sl_error *err) {
    if (g->limit.kind == SL_LIMIT_NONE)
        return SL_OK;
    sl_maybe_f64 limit = limit_of(g);
    if (!limit.known)
        return sl_fail(err, SL_E_USAGE, "%s is relative, but the baseline has no such number",
                       g->name);
    /* A number that was not measured cannot pass a gate. */
    bool passed = g->actual.known && g->actual.value <= limit.value;
    sl_gate_row row = {.name = g->name,
                       .passed = passed,
                       .actual = g->actual,
                       .baseline = g->baseline,
                       .limit = limit,
                       .text = describe(&result->arena, g, limit, passed)};
    result->passed = result->passed && passed;
    if (!row.text || !sl_vec_push(&result->rows, row))
        return sl_fail_no_memory(err, "the checks");
    return SL_OK;
}

/* The text when nothing was found; it claims only what was checked. */
static const char *describe_absence(const sl_report *report, sl_finding_kind kind) {
    bool is_judged = kind != SL_FINDING_LEAK || report->devices.cnt == 0;
    for (size_t i = 0; i < report->devices.cnt; i++)
        is_judged |= report->devices.at[i].leaks_judged;
    return is_judged ? "none found" : "not judged: too few steps were seen";
}

static sl_status run_absence(sl_check_result *result, const sl_report *report, const char *name,
                             sl_finding_kind kind, sl_error *err) {
    const sl_finding *first = NULL;
    size_t cnt = 0;
    for (size_t i = 0; i < report->findings.cnt; i++) {
        if (report->findings.at[i].kind != kind)
            continue;
        first = first ? first : &report->findings.at[i];
        cnt++;
    }
    sl_gate_row row = {.name = name,
                       .passed = cnt == 0,
                       .actual = sl_known_f64((double)cnt),
                       .limit = sl_known_f64(0),
                       .text =
                           cnt ? sl_arena_printf(&result->arena, "%zu found: %s", cnt, first->title)
                               : describe_absence(report, kind)};
    result->passed = result->passed && row.passed;
    if (!row.text || !sl_vec_push(&result->rows, row))
        return sl_fail_no_memory(err, "the checks");
    return SL_OK;
}

static sl_status run_gates(sl_check_result *result, const sl_report *report,
                           const sl_baseline *baseline, const sl_gates *gates, sl_error *err) {
    static const sl_baseline nothing = {0};
    const sl_baseline *base = baseline ? baseline : &nothing;
    sl_baseline now;
    sl_baseline_from_report(report, &now);
    const gate list[] = {
        {"max-peak", "peak", "", gates->max_peak, as_f64(now.peak_bytes), as_f64(base->peak_bytes)},
        {"max-live", "live memory at the end", "", gates->max_live, as_f64(now.live_bytes),
         as_f64(base->live_bytes)},
        {"max-reserved", "reserved peak", "", gates->max_reserved, as_f64(now.reserved_bytes),
         as_f64(base->reserved_bytes)},
        {"max-slope", "growth", " per step", gates->max_slope, now.slope_bytes_per_step,
         base->slope_bytes_per_step},
    };
    for (size_t i = 0; i < SL_COUNT_OF(list); i++)
        SL_TRY(run_gate(result, &list[i], err));
    if (gates->no_leak)
        SL_TRY(run_absence(result, report, "no-leak", SL_FINDING_LEAK, err));
    if (gates->no_oom)
        SL_TRY(run_absence(result, report, "no-oom", SL_FINDING_OOM, err));
    return SL_OK;
}

sl_status sl_check_run(const sl_report *report, const sl_baseline *baseline, const sl_gates *gates,
                       sl_check_result **out, sl_error *err) {
    sl_check_result *result = calloc(1, sizeof *result);
    if (!result)
        return sl_fail_no_memory(err, "the checks");
    result->passed = true;
    sl_status status = run_gates(result, report, baseline, gates, err);
    if (status != SL_OK) {
        sl_check_result_free(result);
        return status;
    }
    *out = result;
    return SL_OK;
}
