/* SPDX-License-Identifier: MIT */
/* The labelled runs recorded on the H200: verdict, line, cause, and the smaller findings that single
 * runs were made for. Totals of every file equal the truth's. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"

#include "analyze/analysis.h"
#include "read/core/source.h"

typedef struct labelled {
    char name[128];
    char *truth;
    sl_trace *trace;
    sl_report *report;
} labelled;

static const char *value_of(const char *json, const char *key) {
    char quoted[96];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(json, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    while (*at == ' ')
        at++;
    return at;
}

static uint64_t number_of(const char *json, const char *key) {
    const char *at = value_of(json, key);
    assert_non_null(at);
    return strtoull(at, NULL, 10);
}

static bool is_text(const char *json, const char *key, const char *text) {
    const char *at = value_of(json, key);
    return at && *at == '"' && strncmp(at + 1, text, strlen(text)) == 0 &&
           at[1 + strlen(text)] == '"';
}

/* Whether the JSON list at the key holds this number, or this text in quotes. */
static bool list_has(const char *json, const char *key, const char *item) {
    const char *at = value_of(json, key);
    const char *end = at ? strchr(at, ']') : NULL;
    size_t len = strlen(item);
    for (; at && end && at + len <= end; at++) {
        bool is_edge = !strchr("0123456789", at[-1]) && !strchr("0123456789", at[len]);
        if (is_edge && strncmp(at, item, len) == 0)
            return true;
    }
    return false;
}

static bool accepts_verdict(const labelled *run) {
    char quoted[40];
    const char *verdict = sl_verdict_name(run->report->verdict);
    snprintf(quoted, sizeof quoted, "\"%s\"", verdict);
    return is_text(run->truth, "verdict", verdict) ||
           list_has(run->truth, "accept_verdicts", quoted);
}

static bool accepts_line(const labelled *run, sl_site site) {
    sl_frame frame;
    char line[16];
    if (!sl_site_frame(site, &frame))
        return value_of(run->truth, "accept_no_line") != NULL;
    snprintf(line, sizeof line, "%u", frame.line);
    return list_has(run->truth, "leak_lines", line) || list_has(run->truth, "accept_lines", line);
}

static char *read_text(const char *path) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *text = calloc(1, 1 << 20);
    (void)!fread(text, 1, (1 << 20) - 1, in);
    fclose(in);
    return text;
}

static void load(labelled *run, const char *truth_path) {
    char path[600];
    sl_error err = SL_ERROR_INIT;
    int stem = (int)(strlen(truth_path) - strlen(".truth.json"));
    const char *base = strrchr(truth_path, '/') + 1;
    snprintf(run->name, sizeof run->name, "%.*s", (int)(stem - (base - truth_path)), base);
    run->truth = read_text(truth_path);
    snprintf(path, sizeof path, "%.*s.pickle.gz", stem, truth_path);
    if (sl_trace_load(path, NULL, &run->trace, &err) == SL_E_OPEN) {
        snprintf(path, sizeof path, "%.*s.json.gz", stem, truth_path);
        assert_int_equal(sl_trace_load(path, NULL, &run->trace, &err), SL_OK);
    }
    assert_non_null(run->trace);
    const sl_trace *const traces[] = {run->trace};
    assert_int_equal(sl_analyze_traces(traces, 1, NULL, &run->report, &err), SL_OK);
}

static void unload(labelled *run) {
    sl_report_free(run->report);
    sl_trace_free(run->trace);
    free(run->truth);
    *run = (labelled){{0}, NULL, NULL, NULL};
}

/* Calls check for every labelled run of a folder; how many there were. */
static size_t for_each(const char *folder, void (*check)(const labelled *run)) {
    char pattern[512];
    glob_t found;
    const char *data = getenv("STORMLOG_TEST_DATA");
    assert_non_null(data);
    snprintf(pattern, sizeof pattern, "%s/%s/*.truth.json", data, folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        labelled run = {{0}, NULL, NULL, NULL};
        load(&run, found.gl_pathv[i]);
        check(&run);
        unload(&run);
    }
    size_t cnt = found.gl_pathc;
    globfree(&found);
    return cnt;
}

static void check_verdict(const labelled *run) {
    const sl_report *report = run->report;
    bool is_special = is_text(run->truth, "verdict", "special");
    bool wants_leak =
        is_text(run->truth, "verdict", "leak") || is_text(run->truth, "oom_cause", "leak");
    size_t leaks = 0, on_line = 0;
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *f = &report->findings.at[i];
        if (f->kind == SL_FINDING_LEAK) {
            leaks++;
            on_line += accepts_line(run, f->site);
        }
        assert_true(f->title[0] && f->explanation[0] && f->advice[0]);
        assert_true(f->confidence >= 0 && f->confidence <= 1);
    }
    if (!is_special && !accepts_verdict(run))
        fail_msg("%s: verdict %s", run->name, sl_verdict_name(report->verdict));
    if (wants_leak && !on_line)
        fail_msg("%s: no leak on an accepted line (%zu elsewhere)", run->name, leaks);
    if ((is_special || is_text(run->truth, "verdict", "healthy")) && leaks)
        fail_msg("%s: a leak in a healthy run: %s", run->name, report->findings.at[0].title);
    /* A snapshot alone cannot show another process: it does not have the card's size. */
    if (report->oom.present && !is_text(run->truth, "oom_cause", "other-process") &&
        !is_text(run->truth, "oom_cause", sl_oom_cause_name(report->oom.cause)))
        fail_msg("%s: cause %s", run->name, sl_oom_cause_name(report->oom.cause));
    assert_true(report->reasons.cnt > 0);
}

static void check_totals(const labelled *run) {
    const char *expect = value_of(run->truth, "expect");
    if (!expect)
        return;
    uint64_t live = 0, reserved = 0, segments = 0;
    for (size_t i = 0; i < run->report->devices.cnt; i++) {
        live += run->report->devices.at[i].live_bytes.value;
        reserved += run->report->devices.at[i].reserved_bytes.value;
        segments += run->report->devices.at[i].segments.value;
    }
    const sl_device_report *d = &run->report->devices.at[0];
    assert_int_equal(d->events, number_of(expect, "events"));
    assert_int_equal(d->base_bytes, number_of(expect, "base_bytes"));
    assert_int_equal(d->peak_requested_bytes, number_of(expect, "peak_requested_bytes"));
    assert_int_equal(d->live_requested_bytes, number_of(expect, "live_requested_bytes"));
    assert_int_equal(live, number_of(expect, "live_bytes"));
    assert_int_equal(reserved, number_of(expect, "reserved_bytes"));
    assert_int_equal(segments, number_of(expect, "segments"));
}

static void check_run(const labelled *run) {
    check_verdict(run);
    check_totals(run);
}

static void test_runs_of_the_h200(void **state) {
    (void)state;
    assert_int_equal(for_each("h200", check_run), 7);
}

static void test_runs_of_the_corpus(void **state) {
    (void)state;
    if (for_each("corpus", check_run) == 0)
        skip_because("no recorded corpus in tests/data");
}

/* ---- the same runs as the recorder would have written them ---- */

/* Plain frees, rounded sizes, no segments and no end state: what the hooks see. */
static void as_recorded(sl_trace *trace) {
    trace->source = SL_SOURCE_SLOG;
    trace->has_requested_sizes = false;
    for (size_t d = 0; d < trace->devices.cnt; d++) {
        sl_device_trace *device = trace->devices.at[d];
        sl_events *events = &device->events;
        uint64_t reserved = 0;
        size_t kept = 0;
        for (size_t i = 0; i < events->cnt; i++) {
            sl_event ev = sl_events_get(events, i);
            bool is_segment = ev.kind >= SL_EV_SEGMENT_ALLOC && ev.kind <= SL_EV_SEGMENT_UNMAP;
            bool grows = ev.kind == SL_EV_SEGMENT_ALLOC || ev.kind == SL_EV_SEGMENT_MAP;
            if (ev.kind == SL_EV_FREE_REQUESTED)
                continue;
            if (is_segment)
                reserved += grows ? ev.size_bytes : 0 - ev.size_bytes;
            events->time_us[kept] = ev.time_us;
            events->addr[kept] = is_segment ? 0 : ev.addr;
            events->size_bytes[kept] = is_segment ? reserved : (ev.size_bytes + 511) / 512 * 512;
            events->stack_id[kept] = ev.stack_id;
            events->stream_idx[kept] = ev.stream_idx;
            events->pool_idx[kept] = ev.pool_idx;
            events->kind[kept++] = is_segment                        ? SL_EV_RESERVED
                                   : ev.kind == SL_EV_FREE_COMPLETED ? SL_EV_FREE
                                                                     : (uint8_t)ev.kind;
        }
        events->cnt = kept;
        device->segments.cnt = device->blocks.cnt = 0;
        device->has_end_state = false;
    }
}

/* The same verdict at the same line. Fragmentation needs segments, so its runs are skipped. */
static void check_recorded(const labelled *run) {
    if (is_text(run->truth, "oom_cause", "fragmentation") ||
        is_text(run->truth, "verdict", "special"))
        return;
    sl_verdict verdict = run->report->verdict;
    uint64_t peak = run->report->devices.at[0].peak_reserved_bytes.value;
    as_recorded(run->trace);
    const sl_trace *const traces[] = {run->trace};
    sl_report *report = NULL;
    assert_int_equal(sl_analyze_traces(traces, 1, NULL, &report, NULL), SL_OK);
    if (report->verdict != verdict)
        fail_msg("%s: %s as a snapshot, %s as a recording", run->name, sl_verdict_name(verdict),
                 sl_verdict_name(report->verdict));
    if (verdict == SL_VERDICT_LEAK)
        assert_true(accepts_line(run, report->findings.at[0].site));
    assert_int_equal(report->devices.at[0].peak_reserved_bytes.value, peak);
    sl_report_free(report);
}

static void test_recorded_forms(void **state) {
    (void)state;
    assert_int_equal(for_each("h200", check_recorded), 7);
    if (for_each("corpus", check_recorded) == 0)
        skip_because("no recorded corpus in tests/data");
}

/* ---- findings that single runs were made for ---- */

typedef struct special_row {
    const char *name;
    sl_finding_kind kind;
    const char *subkind;
} special_row;

static const special_row special_rows[] = {
    {"c39_one_long_sample", SL_FINDING_SPIKE, NULL},
    {"c40_record_stream", SL_FINDING_PENDING_FREE, NULL},
    {"x10_gc_retry", SL_FINDING_RETRY, NULL},
    {"x1_state_mode", SL_FINDING_HISTORY, NULL},
    {"x2_overflow", SL_FINDING_HISTORY, NULL},
    {"x5_late_start", SL_FINDING_HISTORY, NULL},
    {"c04_growing_cat", SL_FINDING_LEAK, "growing buffer"},
    {"c08_total_loss_graph", SL_FINDING_LEAK, "graph retention"},
    {"c21_oom_fragmentation", SL_FINDING_OOM, "fragmentation"},
    {"c22_oom_capacity_build", SL_FINDING_OOM, "capacity"},
    {"c20_oom_sequence_spike", SL_FINDING_OOM, "spike"},
};

static bool has_finding(const sl_report *report, const special_row *row) {
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *f = &report->findings.at[i];
        if (f->kind == row->kind &&
            (!row->subkind || (f->subkind && strcmp(f->subkind, row->subkind) == 0)))
            return true;
    }
    return false;
}

static void check_special(const labelled *run) {
    for (size_t i = 0; i < SL_COUNT_OF(special_rows); i++)
        if (strcmp(special_rows[i].name, run->name) == 0 &&
            !has_finding(run->report, &special_rows[i]))
            fail_msg("%s: no finding '%s'", run->name, sl_finding_kind_name(special_rows[i].kind));
}

static void test_special_findings(void **state) {
    (void)state;
    if (for_each("corpus", check_special) == 0)
        skip_because("no recorded corpus in tests/data");
}

/* With the error's text the card's size is known, and with it who else is on the card. */
static void test_error_text_reveals_another_process(void **state) {
    (void)state;
    char path[512];
    const char *data = getenv("STORMLOG_TEST_DATA");
    sl_trace *trace = NULL;
    sl_error err = SL_ERROR_INIT;
    snprintf(path, sizeof path, "%s/corpus/c25_oom_other_process.pickle.gz", data);
    if (sl_trace_load(path, NULL, &trace, &err) != SL_OK)
        skip_because("no recorded corpus in tests/data");
    snprintf(path, sizeof path, "%s/corpus/c25_oom_other_process.truth.json", data);
    char *truth = read_text(path);
    char message[1600];
    const char *from = value_of(truth, "message") + 1;
    snprintf(message, sizeof message, "%.*s", (int)(strchr(from, '"') - from), from);
    sl_analysis_options options = {.oom_text = message};
    const sl_trace *const traces[] = {trace};
    sl_report *report = NULL;
    assert_int_equal(sl_analyze_traces(traces, 1, &options, &report, &err), SL_OK);
    assert_string_equal(sl_oom_cause_name(report->oom.cause), "other-process");
    sl_report_free(report);
    sl_trace_free(trace);
    free(truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_the_h200),
        cmocka_unit_test(test_runs_of_the_corpus),
        cmocka_unit_test(test_recorded_forms),
        cmocka_unit_test(test_special_findings),
        cmocka_unit_test(test_error_text_reveals_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
