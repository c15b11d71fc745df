/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/samples/an_gap.h"
#include "analyze/samples/an_telemetry.h"
#include "analyze/thresholds.h"
#include "base/text/human.h"
#include "report/device_words.h"

static const char *text(const sl_tm_group *g, const char *fmt, ...) SL_PRINTF(2, 3);

static const char *text(const sl_tm_group *g, const char *fmt, ...) {
    char buf[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(buf, sizeof buf, fmt, args);
    va_end(args);
    const char *kept = sl_arena_copy(&g->report->arena, buf, strlen(buf));
    return kept ? kept : "";
}

static const char *bytes(const sl_tm_group *g, double amount) {
    char buf[SL_HUMAN_CAP];
    sl_human_bytes(buf, amount > 0 ? (uint64_t)amount : 0);
    return text(g, "%s", buf);
}

/* "device 0", "device 0 of rank 3", "the host". */
static const char *place(const sl_tm_group *g) {
    const sl_tm_record *r = &g->records[0];
    const char *name = r->device_id < 0 ? "the host" : text(g, "device %d", r->device_id);
    return g->rank.known ? text(g, "%s of rank %d", name, r->rank) : name;
}

static const sl_device_words *words_of(const sl_tm_group *g) {
    return sl_device_words_of(g->trace, g->records[0].device_id);
}

static void reason(const sl_tm_group *g, const char *line) {
    (void)sl_vec_push(&g->report->reasons, ((sl_reason){line}));
}

static const sl_evidence *keep(const sl_tm_group *g, const sl_evidence *rows, size_t cnt) {
    sl_evidence *copy = sl_arena_alloc(&g->report->arena, (cnt + 1) * sizeof *copy);
    if (copy)
        memcpy(copy, rows, cnt * sizeof *copy);
    return copy;
}

static sl_finding start_finding(const sl_tm_group *g, sl_finding_kind kind, sl_severity severity) {
    return (sl_finding){.kind = kind,
                        .severity = severity,
                        .decides = (sl_verdict)sl_finding_kind_rank(kind),
                        .trace = g->trace,
                        .device = g->records[0].device_id,
                        .site = {.trace = g->trace, .origin = SL_ORIGIN_SAMPLES},
                        .first_time_us = g->records[0].timestamp_ns / 1000,
                        .last_time_us = g->records[g->cnt - 1].timestamp_ns / 1000};
}

/* ---- growth ---- */

static bool is_grave(const sl_tm_group *g, double grown) {
    int64_t total = g->records[g->cnt - 1].total_bytes;
    if (total > 0)
        return grown >= SL_T_SAMPLED_CRITICAL_CARD * (double)total ||
               (grown >= 1073741824.0 &&
                (double)g->growth.to_bytes >=
                    SL_T_SAMPLED_CRITICAL_FACTOR * (double)g->growth.from_bytes);
    return (double)g->growth.to_bytes >=
           SL_T_SAMPLED_CRITICAL_FACTOR * (double)g->growth.from_bytes;
}

/* "; at this rate the card is full in 2 min". */
static const char *forecast(const sl_tm_group *g) {
    const sl_tm_record *last = &g->records[g->cnt - 1];
    char buf[SL_HUMAN_CAP];
    if (last->total_bytes <= 0 || g->growth.bytes_per_second <= 0)
        return "";
    double left = (double)(last->total_bytes - last->used_bytes) / g->growth.bytes_per_second;
    sl_human_duration_us(buf, (int64_t)fmin(left * 1e6, 9e18));
    return text(g, "; at this rate the device is full in %s", buf);
}

static bool add_growth(const sl_tm_group *g) {
    const sl_growth *w = &g->growth;
    double grown = (double)(w->to_bytes - w->from_bytes);
    double seconds = (double)(w->last_ns - w->first_ns) / 1e9;
    sl_evidence rows[] = {
        {"growth of the lowest level", grown, "bytes", (double)SL_T_GROWTH_MIN_BYTES, ">="},
        {"trend at the end (Mann-Kendall z)", w->trend_z, "1", SL_T_GROWTH_MIN_Z, ">="},
        {"noise around the line", (double)w->noise_bytes, "bytes", NAN, NULL},
        {"R squared", w->r_squared, "1", NAN, NULL},
    };
    sl_finding f =
        start_finding(g, SL_FINDING_LEAK, is_grave(g, grown) ? SL_SEV_CRITICAL : SL_SEV_WARNING);
    f.subkind = "growth between samples";
    f.confidence = fmin(0.95, w->r_squared);
    f.bytes = sl_known_u64(grown > 0 ? (uint64_t)grown : 0);
    f.bytes_per_second = sl_known_f64(w->bytes_per_second);
    f.r_squared = sl_known_f64(w->r_squared);
    f.first_time_us = w->first_ns / 1000;
    f.last_time_us = w->last_ns / 1000;
    f.title = text(g, "memory of %s keeps growing: %s/s (%.2f MB/s)", place(g),
                   bytes(g, w->bytes_per_second), w->bytes_per_second / 1048576.0);
    f.explanation =
        text(g,
             "The lowest allocated amount rose from %s to %s within the last %.1f s and "
             "still rises when the recording ends (R squared %.3f)%s. Samples do not show which "
             "line of code holds it.",
             bytes(g, (double)w->from_bytes), bytes(g, (double)w->to_bytes), seconds, w->r_squared,
             forecast(g));
    f.advice = "Record the run with 'stormlog run -- CMD', or take a PyTorch memory snapshot, and "
               "analyze that: it names the line that holds the memory.";
    f.evidence = keep(g, rows, SL_COUNT_OF(rows));
    f.evidence_cnt = f.evidence ? SL_COUNT_OF(rows) : 0;
    return sl_vec_push(&g->report->findings, f);
}

/* ---- hidden memory ---- */

/* By how much hidden memory grew, or rose above its mean. */
static double gap_rise(const sl_gap_finding *gap) {
    const sl_gap_number *rows = gap->evidence;
    return gap->class_id == SL_GAP_DRIFT ? rows[4].value - rows[3].value
                                         : rows[1].value - rows[3].value;
}

static sl_severity gap_severity(const sl_tm_group *g, const sl_gap_finding *gap) {
    const sl_tm_record *last = &g->records[g->cnt - 1];
    /* However straight the line: less than the growth of allocated memory that counts is noise. */
    if (gap->class_id != SL_GAP_FRAGMENTED)
        return gap_rise(gap) >= (double)SL_T_GROWTH_MIN_BYTES ? gap->severity : SL_SEV_INFO;
    /* A cache that is mostly unused does no harm while the card has room. */
    bool is_crowded =
        (double)last->reserved_bytes >= SL_T_SAMPLED_CROWDED_SHARE * (double)last->total_bytes;
    return is_crowded ? gap->severity : SL_SEV_INFO;
}

static bool add_gap(const sl_tm_group *g, const sl_gap_finding *gap) {
    bool is_fragmented = gap->class_id == SL_GAP_FRAGMENTED;
    sl_evidence rows[SL_GAP_EVIDENCE_MAX];
    sl_finding f = start_finding(g, is_fragmented ? SL_FINDING_FRAGMENTATION : SL_FINDING_GAP,
                                 gap_severity(g, gap));
    for (size_t i = 0; i < gap->evidence_cnt; i++)
        rows[i] = (sl_evidence){gap->evidence[i].name, gap->evidence[i].value, "1", NAN, NULL};
    static const sl_verdict verdicts[SL_GAP_CLASS_CNT] = {
        [SL_GAP_SPIKE] = SL_VERDICT_SPIKE,
        [SL_GAP_DRIFT] = SL_VERDICT_LEAK,
        [SL_GAP_FRAGMENTED] = SL_VERDICT_FRAGMENTATION,
    };
    f.decides = verdicts[gap->class_id];
    f.subkind = sl_gap_class_name(gap->class_id);
    f.confidence = gap->confidence;
    if (gap->class_id == SL_GAP_DRIFT) {
        f.bytes_per_second = sl_known_f64(gap->evidence[0].value);
        f.r_squared = sl_known_f64(gap->evidence[1].value);
    }
    f.title = text(g, "%s: %s", place(g), gap->description);
    f.explanation = is_fragmented
                        ? "The allocator holds memory that no tensor uses."
                        : "The device reports more memory in use than the framework's allocator "
                          "reserved: libraries, the CUDA context or other processes hold it.";
    f.advice = text(g, "%s; %s; %s.", sl_gap_advice(gap->class_id, false, 0),
                    sl_gap_advice(gap->class_id, false, 1), sl_gap_advice(gap->class_id, false, 2));
    f.evidence = keep(g, rows, gap->evidence_cnt);
    f.evidence_cnt = f.evidence ? gap->evidence_cnt : 0;
    return sl_vec_push(&g->report->findings, f);
}

/* ---- a failed request ---- */

static bool contains(sl_str hay, const char *needle) {
    size_t len = strlen(needle);
    for (size_t i = 0; i + len <= hay.len; i++)
        if (strncasecmp(hay.ptr + i, needle, len) == 0)
            return true;
    return false;
}

bool sl_tm_is_oom(const sl_telemetry *set, const sl_tm_record *record) {
    sl_str type = sl_tm_text(set, record->event_type);
    if (contains(type, "oom"))
        return true;
    if (type.len != 5 || strncasecmp(type.ptr, "error", 5) != 0)
        return false;
    return contains(sl_tm_metadata(set, record), "\"oom_reason\"") ||
           contains(sl_tm_text(set, record->context), "out of memory") ||
           contains(sl_tm_text(set, record->context), "OOM detected");
}

static const sl_tm_record *find_failure(const sl_tm_group *g, uint64_t *cnt) {
    const sl_tm_record *last = NULL;
    *cnt = 0;
    for (size_t i = 0; i < g->cnt; i++) {
        if (!sl_tm_is_oom(g->set, &g->records[i]))
            continue;
        last = &g->records[i];
        ++*cnt;
    }
    return last;
}

typedef struct failure {
    const sl_tm_record *record;
    sl_oom_text text;
    bool has_text;
    sl_oom_cause cause;
} failure;

static sl_oom_cause find_cause(const sl_tm_group *g, const failure *f) {
    double grown = (double)(g->growth.to_bytes - g->growth.from_bytes);
    const sl_tm_record *r = f->record;
    if (f->has_text && f->text.other_processes_bytes.known && f->text.capacity_bytes.known &&
        f->text.other_processes_bytes.value * 4 >= f->text.capacity_bytes.value)
        return SL_CAUSE_OTHER_PROCESS;
    if (g->growth.is_found && grown >= SL_T_SAMPLED_OOM_LEAK_SHARE * (double)r->allocated_bytes)
        return SL_CAUSE_LEAK;
    uint64_t unused = f->has_text && f->text.unallocated_bytes.known
                          ? f->text.unallocated_bytes.value
                          : (uint64_t)(r->reserved_bytes > r->allocated_bytes
                                           ? r->reserved_bytes - r->allocated_bytes
                                           : 0);
    if (f->has_text && f->text.tried_bytes.known && unused >= f->text.tried_bytes.value)
        return SL_CAUSE_FRAGMENTATION;
    return SL_CAUSE_CAPACITY;
}

static const char *explain_cause(const sl_tm_group *g, const failure *f) {
    switch (f->cause) {
    case SL_CAUSE_LEAK:
        return text(g,
                    "Memory grew by %s/s until none was left; the request that failed was only the "
                    "last one.",
                    bytes(g, g->growth.bytes_per_second));
    case SL_CAUSE_OTHER_PROCESS:
        return text(g, "Other processes hold %s of %s's memory.",
                    bytes(g, (double)f->text.other_processes_bytes.value), words_of(g)->name);
    case SL_CAUSE_FRAGMENTATION:
        return "More than the request was reserved but unused, in pieces too small to serve it.";
    default:
        return "What the program holds and the request together do not fit; no growth was seen.";
    }
}

static const char *explain_limit(const sl_tm_group *g, const failure *f) {
    if (!f->has_text || !f->text.allowed_bytes.known)
        return "";
    return text(g,
                " The process may use only %s (set_per_process_memory_fraction); %s itself "
                "was not full.",
                bytes(g, (double)f->text.allowed_bytes.value), words_of(g)->name);
}

static const char *cause_advice(const sl_tm_group *g, sl_oom_cause cause) {
    const sl_device_words *words = words_of(g);
    switch (cause) {
    case SL_CAUSE_LEAK:
        return "Find what grows: record the run with 'stormlog run -- CMD' or take a PyTorch "
               "memory "
               "snapshot. A smaller batch only delays the failure.";
    case SL_CAUSE_SPIKE: return "Limit or split the unusual input.";
    case SL_CAUSE_FRAGMENTATION:
        return words->conf ? "No allocator setting is recommended: samples have no allocations to "
                             "replay. 'stormlog whatif' replays a PyTorch memory snapshot."
                           : "Pad varying sizes to a few sizes.";
    case SL_CAUSE_OTHER_PROCESS:
        return text(g, "Find the other processes with %s and end them, or use %s.",
                    words->list_users, words->larger);
    default:
        return text(
            g,
            "Use less: a smaller batch or model, mixed precision, activation checkpointing; "
            "or use %s.",
            words->larger);
    }
}

static sl_maybe_u64 from_record(int64_t value) {
    return value >= 0 ? sl_known_u64((uint64_t)value) : (sl_maybe_u64){0};
}

static sl_oom_report *latest_oom(const sl_tm_group *g) {
    return &g->report->inputs.at[g->report->inputs.cnt - 1].oom;
}

static bool report_failure(const sl_tm_group *g, failure *f, uint64_t cnt) {
    const sl_tm_record *r = f->record;
    f->cause = find_cause(g, f);
    uint64_t tried = f->has_text && f->text.tried_bytes.known ? f->text.tried_bytes.value : 0;
    const char *explanation = text(g, "%s%s", explain_cause(g, f), explain_limit(g, f));
    sl_finding found = start_finding(g, SL_FINDING_OOM, SL_SEV_CRITICAL);
    found.subkind = sl_oom_cause_name(f->cause);
    found.bytes = tried ? sl_known_u64(tried) : (sl_maybe_u64){0};
    found.confidence = f->cause == SL_CAUSE_CAPACITY ? 0.7 : 0.9;
    found.first_time_us = found.last_time_us = r->timestamp_ns / 1000;
    found.title =
        tried ? text(g, "out of memory on %s: a request of %s failed, cause: %s", place(g),
                     bytes(g, (double)tried), sl_oom_cause_name(f->cause))
              : text(g, "out of memory on %s, cause: %s", place(g), sl_oom_cause_name(f->cause));
    found.explanation = explanation;
    found.advice = cause_advice(g, f->cause);
    *latest_oom(g) = (sl_oom_report){
        .present = true,
        .device = r->device_id,
        .requested_bytes = tried,
        .allocated_bytes = from_record(r->allocated_bytes),
        .reserved_bytes = from_record(r->reserved_bytes),
        .device_free_bytes = f->has_text ? f->text.free_bytes : from_record(r->free_bytes),
        .limit_bytes = f->has_text ? f->text.allowed_bytes : (sl_maybe_u64){0},
        .time_us = r->timestamp_ns / 1000,
        .site = found.site,
        .cause = f->cause,
        .explanation = explanation,
        .count = cnt ? cnt : 1,
    };
    return sl_vec_push(&g->report->findings, found);
}

static bool add_failure(const sl_tm_group *g) {
    uint64_t cnt;
    const char *message = g->options->oom_text ? g->options->oom_text : g->trace->oom_message;
    failure f = {.record = find_failure(g, &cnt)};
    if (message)
        f.has_text = sl_oom_text_parse(message, strlen(message), &f.text);
    /* A bundle without an error event still says that there was one. */
    if (!f.record && g->trace->source == SL_SOURCE_OOM_BUNDLE)
        f.record = &g->records[g->cnt - 1];
    if (!f.record)
        return true;
    if (latest_oom(g)->present && latest_oom(g)->time_us > f.record->timestamp_ns / 1000)
        return true;
    return report_failure(g, &f, cnt);
}

bool sl__telemetry_findings(sl_tm_group *g, sl_error *err) {
    sl_gap_result gaps;
    bool is_good = true;
    if (g->growth.is_found)
        is_good = add_growth(g);
    reason(g, text(g, "growth: %s: %zu sample%s, %s", place(g), g->cnt, sl_plural(g->cnt),
                   g->growth.is_found ? "the lowest level still rises at the end"
                                      : "the lowest level does not rise at the end"));
    if (!is_good || sl_gap_analyze(g->records, g->cnt, NULL, &gaps, err) < 0)
        return false;
    for (size_t i = 0; i < gaps.cnt && is_good; i++)
        is_good = add_gap(g, &gaps.at[i]);
    reason(g, text(g, "gap: %s: %zu finding%s about hidden memory", place(g), gaps.cnt,
                   sl_plural(gaps.cnt)));
    return is_good && add_failure(g);
}
