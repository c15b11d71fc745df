/* SPDX-License-Identifier: MIT */
#include "fuzz_views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/core/crc.h"
#include "base/text/utf8.h"
#include "export/formats/exporter.h"
#include "export/formats/trace_json.h"
#include "export/report/check_format.h"
#include "export/report/diff_format.h"
#include "export/report/report_format.h"
#include "export/whatif/whatif_format.h"
#include "memprof/compat_report.h"
#include "page/page_html.h"
#include "plot/plot.h"

/* No view of an input that a fuzzer tries (some 100 KB) is larger; the page's template is 1 MB of it. */
#define OUTPUT_MAX_BYTES (64u << 20)

/* Under libFuzzer the page and the pictures, which take most of the time, are for one input in 32. */
#ifdef FUZZ_REPLAY
#define SLOW_SHARE 1
#else
#define SLOW_SHARE 32
#endif

/* ---- where views are written to ---- */

/* True when the text holds bytes that are not safe for a terminal, page or mail (sl_utf8_next). */
static bool is_unsafe(const char *text, size_t len) {
    for (size_t at = 0; at < len;) {
        sl_utf8_char next = sl_utf8_next(text + at, len - at);
        if (!next.is_safe && text[at] != '\n' && text[at] != '\t')
            return true;
        at += next.len;
    }
    return false;
}

typedef enum sink_kind { SINK_ANY, SINK_TEXT } sink_kind;

typedef struct sink {
    char *text;
    size_t len;
    FILE *to;
} sink;

static void open_sink(sink *out) {
    *out = (sink){0};
    out->to = open_memstream(&out->text, &out->len);
    if (!out->to)
        abort();
}

/* A view either fails with a status or writes safe text. */
static void close_sink(sink *out, sink_kind kind) {
    if (fclose(out->to) != 0 || out->len > OUTPUT_MAX_BYTES)
        abort();
    if (kind == SINK_TEXT && is_unsafe(out->text, out->len))
        abort();
    free(out->text);
}

/* ---- the views ---- */

static void write_reports(const sl_report *report) {
    sl_report_wishes wishes = {.explains = true, .top = 10};
    for (size_t i = 0; i < sl_report_format_cnt; i++) {
        sink out;
        open_sink(&out);
        (void)sl_report_formats[i].write(report, &wishes, out.to, NULL);
        close_sink(&out, SINK_TEXT);
    }
}

static void write_check(const sl_report *report, const char *form) {
    sl_baseline baseline;
    sl_gates gates = {.max_peak = {SL_LIMIT_PERCENT, 5},
                      .max_live = {SL_LIMIT_ABSOLUTE, 1e9},
                      .max_slope = {SL_LIMIT_MORE, 1e6},
                      .no_leak = true,
                      .no_oom = true};
    sl_check_result *result = NULL;
    sl_baseline_from_report(report, &baseline);
    if (sl_check_run(report, &baseline, &gates, &result, NULL) == SL_OK) {
        sl_check_view view = {.result = result, .input = "fuzz", .baseline = "fuzz"};
        sink out;
        open_sink(&out);
        (void)sl_check_format_find(form)->write(&view, out.to, NULL);
        close_sink(&out, SINK_TEXT);
    }
    sl_check_result_free(result);
}

static void write_exports(const sl_run_input *input) {
    for (size_t i = 0; i < sl_exporter_cnt; i++) {
        sl_export_options options = {.at = {SL_AT_PEAK, 0}};
        if (!sl_exporters[i].write)
            continue;
        sink out;
        open_sink(&out);
        (void)sl_exporters[i].write(input, &options, out.to, NULL);
        close_sink(&out, SINK_ANY);
    }
    sink out;
    open_sink(&out);
    (void)sl_trace_write_json(input->trace, out.to, NULL);
    close_sink(&out, SINK_ANY);
}

static void write_page(const sl_run *run, const sl_report *report, bool is_diff) {
    sl_html_options options = {.is_diff = is_diff};
    sink out;
    open_sink(&out);
    (void)sl_export_html(out.to, run, report, &options, NULL);
    close_sink(&out, SINK_ANY);
}

static void write_plot(const sl_report *report, const sl_plot_input inputs[2], sl_plot_kind kind,
                       bool is_svg) {
    sl_plot_options options = {
        .kind = kind, .is_svg = is_svg, .width = 400, .height = 300, .top = 8};
    sink out;
    open_sink(&out);
    (void)sl_plot_write(&options, report, inputs, kind == SL_PLOT_RANKS ? 2 : 1, out.to, NULL);
    close_sink(&out, SINK_ANY);
}

static void write_plots(const sl_report *report, const sl_run_input *input) {
    for (size_t d = 0; d < input->device_cnt && d < 2; d++) {
        sl_plot_input drawn;
        if (sl_plot_input_load(&drawn, &input->devices[d], NULL) < 0)
            return;
        sl_plot_input inputs[2] = {drawn, drawn};
        for (sl_plot_kind kind = SL_PLOT_TIMELINE; kind <= SL_PLOT_RANKS; kind++)
            write_plot(report, inputs, kind, kind != SL_PLOT_TIMELINE);
    }
}

static void write_diff(const sl_run_device *device) {
    static const char *const forms[] = {"txt", "json", "md"};
    sl_instant before = {.device = device, .moment = {SL_AT_PEAK, 0}};
    sl_instant after = {.device = device, .moment = {SL_AT_EXIT, 0}};
    sl_diff *diff = NULL;
    if (sl_diff_new(&before, &after, NULL, &diff, NULL) < 0)
        return;
    sl_diff_list list = {(const sl_diff *const *)&diff, 1, NULL};
    for (size_t i = 0; i < SL_COUNT_OF(forms); i++) {
        sl_diff_wishes wishes = {.top = 15};
        sink out;
        open_sink(&out);
        (void)sl_diff_format_find(forms[i])->write(&list, &wishes, out.to, NULL);
        close_sink(&out, SINK_TEXT);
    }
    sl_diff_free(diff);
}

static void write_answer(const sl_run_device *device, const sl_alloc_settings *settings,
                         size_t cnt) {
    static const char *const forms[] = {"txt", "json", "md"};
    sl_whatif_options options = {.settings = settings,
                                 .setting_cnt = cnt,
                                 .thread_cnt = 1,
                                 .placement_cnt = 1,
                                 .wants_cards = true,
                                 .wants_lines = true};
    sl_whatif *answer = NULL;
    if (sl_whatif_new(device, &options, &answer, NULL) < 0)
        return;
    sl_whatif_list list = {(const sl_whatif *const *)&answer, 1, false};
    for (size_t i = 0; i < SL_COUNT_OF(forms); i++) {
        sink out;
        open_sink(&out);
        (void)sl_whatif_format_find(forms[i])->write(&list, out.to, NULL);
        close_sink(&out, SINK_TEXT);
    }
    sl_whatif_free(answer);
}

/* Runs the passes even if there is no answer because the replay is not exact, as for most inputs of
 * a fuzzer. */
static void try_settings(const sl_run_device *device) {
    static const char *const confs[] = {"expandable_segments:True", "max_split_size_mb:20",
                                        "garbage_collection_threshold:0.5,one_stream:True",
                                        "no_caching:True"};
    sl_alloc_settings settings[SL_COUNT_OF(confs)];
    sl_calls *calls = NULL;
    for (size_t i = 0; i < SL_COUNT_OF(confs); i++) {
        sl_alloc_settings_init(&settings[i]);
        if (sl_alloc_settings_parse(&settings[i], (sl_str){confs[i], strlen(confs[i])}, NULL) < 0)
            abort();
    }
    write_answer(device, settings, SL_COUNT_OF(confs));
    if (sl_calls_new(device, &calls, NULL) < 0)
        return;
    uint64_t start_bytes = 0;
    for (size_t i = 0; i < calls->pieces.cnt; i++)
        start_bytes += calls->pieces.at[i].bytes;
    for (size_t i = 0; i < SL_COUNT_OF(confs); i++) {
        sl_pass_options options = {.settings = settings[i], .limit_bytes = 64u << 20, .seed = i};
        sl_pass pass;
        if (sl_pass_run(calls, &options, &pass, NULL) == SL_OK &&
            pass.stats.reserved_peak > start_bytes + (64u << 20))
            abort();
    }
    sl_calls_free(calls);
}

static void write_views(const sl_run *run, const sl_report *report, bool is_slow) {
    const sl_run_input *input = &run->inputs[0];
    write_exports(input);
    for (size_t d = 0; d < input->device_cnt && d < 4; d++)
        write_diff(&input->devices[d]);
    for (size_t d = 0; d < input->device_cnt && d < 2; d++)
        try_settings(&input->devices[d]);
    if (!is_slow)
        return;
    write_plots(report, input);
    write_page(run, report, false);
}

/* The same trace twice, as in `report --diff A A` and `ranks`. */
static void compare_pair(const sl_trace *trace) {
    const sl_trace *pair[] = {trace, trace};
    sl_run *run = NULL;
    sl_report *report = NULL;
    if (sl_run_new(pair, 2, &run, NULL) == SL_OK && sl_analyze(run, NULL, &report, NULL) == SL_OK) {
        write_reports(report);
        write_page(run, report, true);
    }
    sl_report_free(report);
    sl_run_free(run);
}

void fuzz_views(const sl_trace *trace, const uint8_t *data, size_t size) {
    bool is_slow = sl_crc32(0, data, size) % SLOW_SHARE == 0;
    sl_run *run = NULL;
    sl_report *report = NULL;
    if (sl_run_new(&trace, 1, &run, NULL) == SL_OK &&
        sl_analyze(run, NULL, &report, NULL) == SL_OK) {
        write_reports(report);
        write_check(report, "txt");
        write_check(report, "junit");
        write_views(run, report, is_slow);
    }
    sl_report_free(report);
    sl_run_free(run);
    if (is_slow)
        compare_pair(trace);
    if (trace->telemetry)
        fuzz_telemetry_views(trace->telemetry);
}

void fuzz_telemetry_views(const sl_telemetry *set) {
    sl_compat_report report = {.path = "fuzz", .set = set};
    if (sl_compat_report_run(&report, NULL) == SL_OK) {
        sink out;
        sl_json_out json;
        open_sink(&out);
        sl_compat_report_text(out.to, &report);
        if (report.ranks)
            sl_compat_ranks_text(out.to, report.ranks);
        close_sink(&out, SINK_TEXT);
        open_sink(&out);
        sl_json_init(&json, out.to, 2);
        sl_compat_report_json(&json, &report);
        (void)sl_json_finish(&json, NULL);
        close_sink(&out, SINK_ANY);
    }
    sl_compat_report_fini(&report);
}
