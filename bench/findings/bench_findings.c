/* SPDX-License-Identifier: MIT */
/* Prints the results of the analyses; bench/findings/score.py compares them with the labels.
 *   bench_findings FILE...          one JSON object per file, one per line
 *   bench_findings --synthetic N    one per synthetic run: every habit, N seeds
 *   bench_findings --speed N        replay and analysis of a synthetic run of about N events */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../../tests/lib/synth.h"
#include "analyze/analysis.h"
#include "base/text/json_out.h"
#include "read/core/source.h"
#include "run/blocks/replay.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void print_site(sl_json_out *json, sl_site site) {
    sl_json_begin_array(json);
    size_t depth = site.trace ? sl_stack_depth(&site.trace->stacks, site.stack_id) : 0;
    sl_frame user;
    bool has_line = sl_site_frame(site, &user);
    for (size_t i = has_line ? site.frame_pos : depth; i < depth; i++) {
        sl_frame frame = sl_stack_frame(&site.trace->stacks, site.stack_id, i);
        sl_json_begin_array(json);
        sl_json_str(json, sl_strtab_get(&site.trace->strings, frame.file));
        sl_json_u64(json, frame.line);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void print_finding(sl_json_out *json, const sl_finding *f) {
    sl_json_begin_object(json);
    sl_json_key(json, "kind");
    sl_json_cstr(json, sl_finding_kind_name(f->kind));
    sl_json_key(json, "subkind");
    sl_json_cstr(json, f->subkind);
    sl_json_key(json, "severity");
    sl_json_cstr(json, sl_severity_name(f->severity));
    sl_json_key(json, "bytes");
    sl_json_maybe_u64(json, f->bytes);
    sl_json_key(json, "blocks");
    sl_json_maybe_u64(json, f->blocks);
    sl_json_key(json, "bytes_per_step");
    sl_json_maybe_f64(json, f->bytes_per_step);
    sl_json_key(json, "confidence");
    sl_json_f64(json, f->confidence);
    sl_json_key(json, "site");
    print_site(json, f->site);
    sl_json_end_object(json);
}

static void print_device(sl_json_out *json, const sl_device_report *d) {
    const struct {
        const char *name;
        sl_maybe_u64 value;
    } rows[] = {{"device", sl_known_u64((uint64_t)d->device)},
                {"events", sl_known_u64(d->events)},
                {"base_bytes", sl_known_u64(d->base_bytes)},
                {"peak_requested_bytes", sl_known_u64(d->peak_requested_bytes)},
                {"live_requested_bytes", sl_known_u64(d->live_requested_bytes)},
                {"live_bytes", d->live_bytes},
                {"peak_bytes", d->peak_bytes},
                {"peak_allocated_bytes", d->peak_allocated_bytes},
                {"reserved_bytes", d->reserved_bytes},
                {"peak_reserved_bytes", d->peak_reserved_bytes},
                {"segments", d->segments},
                {"steps", d->steps}};
    sl_json_begin_object(json);
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_json_key(json, rows[i].name);
        sl_json_maybe_u64(json, rows[i].value);
    }
    sl_json_key(json, "identity_holds");
    sl_json_bool(json, d->identity_holds);
    sl_json_end_object(json);
}

static int print_report(const char *name, const sl_trace *trace,
                        const sl_analysis_options *options) {
    sl_report *report = NULL;
    sl_error err = SL_ERROR_INIT;
    const sl_trace *const traces[] = {trace};
    double start = now_ms();
    if (sl_analyze_traces(traces, 1, options, &report, &err) != SL_OK) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        return 1;
    }
    double ms = now_ms() - start;
    sl_json_out json;
    sl_json_init(&json, stdout, 0);
    sl_json_begin_object(&json);
    sl_json_key(&json, "name");
    sl_json_cstr(&json, name);
    sl_json_key(&json, "verdict");
    sl_json_cstr(&json, sl_verdict_name(report->verdict));
    sl_json_key(&json, "ms");
    sl_json_f64(&json, ms);
    sl_json_key(&json, "cause");
    sl_json_cstr(&json, report->oom.present ? sl_oom_cause_name(report->oom.cause) : NULL);
    sl_json_key(&json, "oom_site");
    print_site(&json, report->oom.site);
    sl_json_key(&json, "devices");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < report->devices.cnt; i++)
        print_device(&json, &report->devices.at[i]);
    sl_json_end_array(&json);
    sl_json_key(&json, "findings");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < report->findings.cnt; i++)
        print_finding(&json, &report->findings.at[i]);
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    sl_report_free(report);
    return sl_json_finish(&json, &err) == SL_OK ? 0 : 1;
}

/* "FILE" or "FILE=error text". */
static int print_file(char *argument) {
    sl_trace *trace = NULL;
    sl_error err = SL_ERROR_INIT;
    char *text = strchr(argument, '=');
    if (text)
        *text++ = '\0';
    if (sl_trace_load(argument, NULL, &trace, &err) != SL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    sl_analysis_options options = {.oom_text = text};
    int failed = print_report(argument, trace, &options);
    sl_trace_free(trace);
    return failed;
}

static int print_synthetic(uint64_t seeds) {
    static const size_t lengths[] = {40, 100, 250};
    int failed = 0;
    for (int habit = 0; habit < SYNTH_HABIT_CNT; habit++)
        for (uint64_t seed = 0; seed < seeds; seed++) {
            /* Every fourth run has no stacks at all. */
            bool has_stacks = seed % 4 != 3;
            sl_trace *trace = synth_run((synth_habit)habit, lengths[seed % 3], seed, has_stacks);
            char name[96];
            if (!trace)
                return 1;
            snprintf(name, sizeof name, "%s/%d/%u/%d/%llu", synth_rows[habit].name,
                     synth_rows[habit].is_leak, synth_rows[habit].line, has_stacks,
                     (unsigned long long)seed);
            failed |= print_report(name, trace, NULL);
            sl_trace_free(trace);
        }
    return failed;
}

static double median_of(double *values, size_t cnt) {
    for (size_t i = 1; i < cnt; i++)
        for (size_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
            double t = values[j];
            values[j] = values[j - 1];
            values[j - 1] = t;
        }
    return values[cnt / 2];
}

static int print_speed(size_t events) {
    enum { ROUNDS = 7 };
    double replay_ms[ROUNDS], analyze_ms[ROUNDS];
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, events / 74 + 1, 1, true);
    if (!trace)
        return 1;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < ROUNDS; i++) {
        sl_replay *replay = NULL;
        sl_report *report = NULL;
        const sl_trace *const traces[] = {trace};
        double start = now_ms();
        if (sl_replay_new(trace, trace->devices.at[0], &replay, NULL) != SL_OK)
            return 1;
        replay_ms[i] = now_ms() - start;
        sl_replay_free(replay);
        start = now_ms();
        if (sl_analyze_traces(traces, 1, NULL, &report, NULL) != SL_OK)
            return 1;
        analyze_ms[i] = now_ms() - start;
        sl_report_free(report);
    }
    getrusage(RUSAGE_SELF, &after);
    size_t cnt = trace->devices.at[0]->events.cnt;
    double replay = median_of(replay_ms, ROUNDS), analyze = median_of(analyze_ms, ROUNDS);
    printf("%zu events: replay %.1f ms (min %.1f, max %.1f), whole analysis %.1f ms (min %.1f, max "
           "%.1f), %.0f ns an event, %.1f bytes an event on top of the trace\n",
           cnt, replay, replay_ms[0], replay_ms[ROUNDS - 1], analyze, analyze_ms[0],
           analyze_ms[ROUNDS - 1], analyze * 1e6 / (double)cnt,
           (double)(after.ru_maxrss - before.ru_maxrss) * 1024 / (double)cnt);
    sl_trace_free(trace);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--synthetic") == 0)
        return print_synthetic(strtoull(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "--speed") == 0)
        return print_speed((size_t)strtoull(argv[2], NULL, 10));
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= print_file(argv[i]);
    return failed;
}
