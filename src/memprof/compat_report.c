/* SPDX-License-Identifier: MIT */
#include "memprof/compat_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats/sample_stats.h"
#include "base/text/term.h"
#include "memprof/compat_cli.h"

/* What a finding of each severity takes off the score, as the patterns of the Python tool's
 * analyzer do. */
static const int score_by_severity[] = {5, 10, 20};
/* The highest score that a verdict allows, by the severity of the finding that decides it: a run
 * that fails or will fail is an F, one with a warning is not an A or a B. */
static const int most_by_severity[] = {100, 79, 59};

static void grade(sl_compat_report *report) {
    static const struct {
        int least;
        const char *grade;
    } rows[] = {{90, "A"}, {80, "B"}, {70, "C"}, {60, "D"}, {0, "F"}};
    int score = 100;
    int most = 100;
    for (size_t i = 0; report->found && i < report->found->findings.cnt; i++) {
        const sl_finding *f = &report->found->findings.at[i];
        score -= score_by_severity[f->severity];
        if (f->decides != SL_VERDICT_HEALTHY && most_by_severity[f->severity] < most)
            most = most_by_severity[f->severity];
    }
    score = score < most ? score : most;
    report->score = score > 0 ? score : 0;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        report->grade = rows[i].grade;
        if (report->score >= rows[i].least)
            break;
    }
}

sl_status sl_compat_report_run(sl_compat_report *report, sl_error *err) {
    grade(report);
    if (!report->set)
        return SL_OK;
    SL_TRY(sl_gap_analyze(report->set->records.at, report->set->records.cnt, NULL, &report->gaps,
                          err));
    SL_TRY(sl_collective_attribute(report->set, NULL, &report->collective, err));
    if (sl_ranks_are_several(report->set))
        SL_TRY(sl_ranks_new(report->set, &report->ranks, err));
    return SL_OK;
}

void sl_compat_report_fini(sl_compat_report *report) {
    sl_vec_free(&report->collective);
    sl_ranks_free(report->ranks);
    report->ranks = NULL;
}

/* ---- JSON ---- */

static void put_int(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    sl_json_i64(json, value);
}

static void put_real(sl_json_out *json, const char *key, double value) {
    sl_json_key(json, key);
    sl_json_f64(json, value);
}

static void put_text(sl_json_out *json, const char *key, const char *value) {
    sl_json_key(json, key);
    sl_json_cstr(json, value);
}

static void put_summary(sl_json_out *json) {
    static const char *const zeros[] = {"total_functions_analyzed", "total_function_calls",
                                        "total_memory_allocated", "total_execution_time"};
    sl_json_key(json, "summary");
    sl_json_begin_object(json);
    for (size_t i = 0; i < SL_COUNT_OF(zeros); i++)
        put_int(json, zeros[i], 0);
    put_text(json, "analysis_timestamp", NULL);
    sl_json_end_object(json);
}

static const char *severity_name(sl_severity severity) {
    return sl_severity_name(severity);
}

static void put_pattern(sl_json_out *json, const sl_finding *f) {
    sl_json_begin_object(json);
    put_text(json, "pattern_type",
             f->kind == SL_FINDING_LEAK ? "memory_leak" : sl_finding_kind_name(f->kind));
    put_text(json, "description", f->title);
    put_text(json, "severity", severity_name(f->severity));
    sl_json_key(json, "affected_functions");
    sl_json_begin_array(json);
    sl_json_end_array(json);
    sl_json_key(json, "metrics");
    sl_json_begin_object(json);
    sl_json_key(json, "bytes");
    sl_json_maybe_u64(json, f->bytes);
    sl_json_key(json, "bytes_per_second");
    sl_json_maybe_f64(json, f->bytes_per_second);
    sl_json_key(json, "r_squared");
    sl_json_maybe_f64(json, f->r_squared);
    put_real(json, "confidence", f->confidence);
    sl_json_end_object(json);
    sl_json_key(json, "suggestions");
    sl_json_begin_array(json);
    sl_json_cstr(json, f->advice);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static void put_patterns(sl_json_out *json, const sl_compat_report *report, const char *key,
                         sl_severity least) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    for (size_t i = 0; report->found && i < report->found->findings.cnt; i++)
        if (report->found->findings.at[i].severity >= least)
            put_pattern(json, &report->found->findings.at[i]);
    sl_json_end_array(json);
}

static void put_empty(sl_json_out *json, const char *key) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    sl_json_end_array(json);
}

static void put_recommendations(sl_json_out *json, const sl_compat_report *report) {
    sl_json_key(json, "recommendations");
    sl_json_begin_array(json);
    for (size_t i = 0; report->found && i < report->found->findings.cnt; i++) {
        const sl_finding *f = &report->found->findings.at[i];
        if (f->severity == SL_SEV_INFO)
            continue;
        sl_json_begin_object(json);
        put_text(json, "priority", f->severity == SL_SEV_CRITICAL ? "high" : "medium");
        put_text(json, "category", sl_finding_kind_name(f->kind));
        put_text(json, "description", f->title);
        sl_json_key(json, "suggestions");
        sl_json_begin_array(json);
        sl_json_cstr(json, f->advice);
        sl_json_end_array(json);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void put_score(sl_json_out *json, const sl_compat_report *report) {
    sl_json_key(json, "optimization_score");
    sl_json_begin_object(json);
    put_int(json, "score", report->score);
    put_text(json, "grade", report->grade);
    put_text(json, "description",
             report->found ? sl_verdict_name(report->found->verdict) : "nothing to rate");
    put_int(json, "issues_found", report->found ? (int64_t)report->found->findings.cnt : 0);
    sl_json_end_object(json);
}

static void put_gap(sl_json_out *json, const sl_gap_finding *gap) {
    sl_json_begin_object(json);
    put_text(json, "classification", sl_gap_class_name(gap->class_id));
    put_text(json, "severity", severity_name(gap->severity));
    put_real(json, "confidence", gap->confidence);
    sl_json_key(json, "evidence");
    sl_json_begin_object(json);
    for (size_t i = 0; i < gap->evidence_cnt; i++) {
        const sl_gap_number *n = &gap->evidence[i];
        if (n->is_integer)
            put_int(json, n->name, (int64_t)n->value);
        else
            put_real(json, n->name, n->value);
    }
    sl_json_end_object(json);
    put_text(json, "description", gap->description);
    sl_json_key(json, "remediation");
    sl_json_begin_array(json);
    for (size_t i = 0; i < SL_GAP_ADVICE_CNT; i++)
        sl_json_cstr(json, sl_gap_advice(gap->class_id, false, i));
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static void put_collective(sl_json_out *json, const sl_collective_result *r) {
    sl_json_begin_object(json);
    put_int(json, "rank", r->rank);
    put_int(json, "interval_start_ns", r->interval_start_ns);
    put_int(json, "interval_end_ns", r->interval_end_ns);
    put_text(json, "classification", sl_collective_class_name(r->class_id));
    put_real(json, "confidence", r->confidence);
    sl_json_key(json, "reason_codes");
    sl_json_begin_array(json);
    for (int i = 0; i < SL_COLLECTIVE_REASON_CNT; i++)
        if (r->reasons >> i & 1)
            sl_json_cstr(json, sl_collective_reason_name((sl_collective_reason)i));
    sl_json_end_array(json);
    sl_json_key(json, "evidence");
    sl_json_begin_object(json);
    put_int(json, "marker_hits", (int64_t)r->marker_hits);
    put_int(json, "synchronized_ranks", (int64_t)r->synchronized_ranks);
    put_int(json, "expected_world_size", (int64_t)r->expected_world_size);
    put_real(json, "synchrony_ratio", r->synchrony_ratio);
    put_int(json, "peak_gap_bytes", r->peak_gap_bytes);
    sl_json_key(json, "peak_gap_ratio");
    sl_json_maybe_f64(json, r->peak_gap_ratio);
    put_real(json, "robust_zscore", r->robust_zscore);
    sl_json_end_object(json);
    sl_json_end_object(json);
}

static void put_by_rank(sl_json_out *json, const sl_ranks *ranks, const char *key, bool is_offset) {
    char rank[16];
    sl_json_key(json, key);
    sl_json_begin_object(json);
    for (size_t i = 0; i < ranks->rows.cnt; i++) {
        snprintf(rank, sizeof rank, "%d", ranks->rows.at[i].rank);
        put_int(json, rank,
                is_offset ? ranks->rows.at[i].offset_ns : (int64_t)ranks->rows.at[i].sample_cnt);
    }
    sl_json_end_object(json);
}

static void put_suspect(sl_json_out *json, const sl_rank_suspect *s) {
    sl_json_begin_object(json);
    put_int(json, "rank", s->rank);
    put_int(json, "first_spike_timestamp_ns", s->first_spike_ns);
    put_int(json, "aligned_first_spike_timestamp_ns", s->aligned_first_spike_ns);
    put_int(json, "peak_delta_bytes", s->peak_delta_bytes);
    put_int(json, "spike_window_samples", (int64_t)s->spike_window_samples);
    put_int(json, "lead_over_cluster_onset_ns", s->lead_ns);
    put_text(json, "confidence", sl_rank_confidence_name(s->confidence));
    sl_json_key(json, "evidence");
    sl_json_begin_object(json);
    put_int(json, "device_used_delta_bytes", s->peak_delta_bytes);
    put_int(json, "supporting_ranks_at_or_before_onset", (int64_t)s->supporting_ranks);
    sl_json_end_object(json);
    sl_json_end_object(json);
}

static void put_ints(sl_json_out *json, const char *key, const int *values, size_t cnt) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    for (size_t i = 0; i < cnt; i++)
        sl_json_i64(json, values[i]);
    sl_json_end_array(json);
}

void sl_compat_ranks_members(sl_json_out *json, const sl_ranks *ranks) {
    put_text(json, "job_id", ranks->job_id);
    put_int(json, "world_size", ranks->world_size);
    sl_json_key(json, "participating_ranks");
    sl_json_begin_array(json);
    for (size_t i = 0; i < ranks->rows.cnt; i++)
        sl_json_i64(json, ranks->rows.at[i].rank);
    sl_json_end_array(json);
    put_ints(json, "missing_ranks", ranks->missing.at, ranks->missing.cnt);
    put_by_rank(json, ranks, "rank_sample_counts", false);
    put_by_rank(json, ranks, "alignment_offsets_ns", true);
    sl_json_key(json, "cluster_onset_timestamp_ns");
    if (ranks->has_onset)
        sl_json_i64(json, ranks->onset_ns);
    else
        sl_json_null(json);
    sl_json_key(json, "first_cause_suspects");
    sl_json_begin_array(json);
    for (size_t i = 0; i < ranks->suspects.cnt; i++)
        put_suspect(json, &ranks->suspects.at[i]);
    sl_json_end_array(json);
    sl_json_key(json, "notes");
    sl_json_begin_array(json);
    for (size_t i = 0; i < ranks->notes.cnt; i++)
        sl_json_cstr(json, ranks->notes.at[i]);
    sl_json_end_array(json);
}

void sl_compat_ranks_json(sl_json_out *json, const sl_ranks *ranks) {
    sl_json_begin_object(json);
    sl_compat_ranks_members(json, ranks);
    sl_json_end_object(json);
}

void sl_compat_report_json(sl_json_out *json, const sl_compat_report *report) {
    sl_json_begin_object(json);
    put_summary(json);
    put_patterns(json, report, "critical_issues", SL_SEV_CRITICAL);
    put_empty(json, "high_impact_insights");
    put_patterns(json, report, "all_patterns", SL_SEV_INFO);
    put_empty(json, "all_insights");
    put_recommendations(json, report);
    put_score(json, report);
    if (report->set) {
        sl_json_key(json, "gap_analysis");
        sl_json_begin_array(json);
        for (size_t i = 0; i < report->gaps.cnt; i++)
            put_gap(json, &report->gaps.at[i]);
        sl_json_end_array(json);
        sl_json_key(json, "collective_attribution");
        sl_json_begin_array(json);
        for (size_t i = 0; i < report->collective.cnt; i++)
            put_collective(json, &report->collective.at[i]);
        sl_json_end_array(json);
    }
    if (report->ranks) {
        sl_json_key(json, "cross_rank_analysis");
        sl_compat_ranks_json(json, report->ranks);
    }
    sl_json_end_object(json);
}

/* ---- text ---- */

static void put_rank_list(FILE *to, const sl_ranks *ranks) {
    sl_term_printf(to, "Participating ranks: ");
    for (size_t i = 0; i < ranks->rows.cnt; i++)
        sl_term_printf(to, "%s%d", i ? ", " : "", ranks->rows.at[i].rank);
    sl_term_printf(to, "%s\nMissing ranks: ", ranks->rows.cnt ? "" : "none");
    for (size_t i = 0; i < ranks->missing.cnt; i++)
        sl_term_printf(to, "%s%d", i ? ", " : "", ranks->missing.at[i]);
    sl_term_printf(to, "%s\n", ranks->missing.cnt ? "" : "none");
}

void sl_compat_ranks_text(FILE *to, const sl_ranks *ranks) {
    char bytes[SL_COMPAT_BYTES_CAP];
    put_rank_list(to, ranks);
    if (ranks->has_onset)
        sl_term_printf(to, "Cluster onset (aligned ns): %" PRId64 "\n", ranks->onset_ns);
    if (ranks->suspects.cnt) {
        const sl_rank_suspect *top = &ranks->suspects.at[0];
        sl_term_printf(to, "Top first-cause suspect: rank %d (%s)\n", top->rank,
                       sl_rank_confidence_name(top->confidence));
        sl_term_printf(to,
                       "Evidence: timestamp_ns=%" PRId64 ", aligned_timestamp_ns=%" PRId64
                       ", lead_ns=%" PRId64 ", delta=%s\n",
                       top->first_spike_ns, top->aligned_first_spike_ns, top->lead_ns,
                       sl_compat_bytes(bytes, top->peak_delta_bytes));
    } else {
        sl_term_printf(to, "Top first-cause suspect: none\n");
    }
    if (!ranks->notes.cnt)
        return;
    sl_term_printf(to, "Notes:");
    for (size_t i = 0; i < ranks->notes.cnt; i++)
        sl_term_printf(to, " %s", ranks->notes.at[i]);
    putc('\n', to);
}

/* Samples far above the mean, and the largest of them. */
static void put_spikes(FILE *to, const sl_telemetry *set) {
    size_t cnt = set->records.cnt;
    double *values = malloc((cnt + 1) * sizeof *values);
    if (!values)
        return;
    for (size_t i = 0; i < cnt; i++)
        values[i] = (double)set->records.at[i].allocated_bytes;
    sl_outliers spikes = sl_stat_outliers(values, cnt, 3);
    sl_term_printf(to, "Spikes: %zu (largest z-score %.2f)\n", spikes.cnt, spikes.largest_z);
    free(values);
}

static void put_drift(FILE *to, const sl_report *found) {
    for (size_t i = 0; i < found->findings.cnt; i++) {
        const sl_finding *f = &found->findings.at[i];
        if (f->kind != SL_FINDING_LEAK || !f->bytes_per_second.known)
            continue;
        sl_term_printf(to, "Drift: %.2f MB/s (R^2 %.3f) on device %d\n",
                       f->bytes_per_second.value / 1048576.0, f->r_squared.value, f->device);
        return;
    }
    sl_term_printf(to, "Drift: none\n");
}

static void put_findings(FILE *to, const sl_report *found) {
    sl_term_printf(to, "Verdict: %s\n", sl_verdict_name(found->verdict));
    for (size_t i = 0; i < found->findings.cnt; i++)
        sl_term_printf(to, "  [%s] %s\n", severity_name(found->findings.at[i].severity),
                       found->findings.at[i].title);
}

void sl_compat_report_text(FILE *to, const sl_compat_report *report) {
    sl_term_printf(to, "Analyzing profiling results from: %s\n\nBasic Analysis:\n", report->path);
    sl_term_printf(to, "Input file: %s\nFile size: %" PRId64 " bytes\n", report->path,
                   report->file_bytes);
    if (report->set) {
        sl_term_printf(to, "Records: %zu\n", report->set->records.cnt);
        sl_term_printf(to, "Gap findings: %zu\n", report->gaps.cnt);
        sl_term_printf(to, "Collective attributions: %zu\n", report->collective.cnt);
        put_spikes(to, report->set);
    }
    if (report->found) {
        put_drift(to, report->found);
        put_findings(to, report->found);
        sl_term_printf(to, "Score: %d/100 (%s)\n", report->score, report->grade);
    }
    for (size_t i = 0; report->set && i < report->gaps.cnt; i++)
        sl_term_printf(to, "  [%s] %s: %s\n", severity_name(report->gaps.at[i].severity),
                       sl_gap_class_name(report->gaps.at[i].class_id),
                       report->gaps.at[i].description);
    if (report->ranks) {
        sl_term_printf(to, "\nDistributed Analysis:\n");
        sl_compat_ranks_text(to, report->ranks);
    }
}
