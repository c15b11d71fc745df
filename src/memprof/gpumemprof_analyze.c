/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/analysis.h"
#include "base/files/file_atomic.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/core/cmd_list.h"
#include "export/bundle/bundle_folder.h"
#include "memprof/compat_plot.h"
#include "memprof/compat_report.h"
#include "read/core/source.h"
#include "telemetry/json_survey.h"

/* ---- what is neither telemetry nor anything else we read ---- */

static void put_foreign(sl_json_out *json, const sl_json_survey *survey) {
    sl_json_begin_object(json);
    sl_json_key(json, "summary");
    sl_json_begin_object(json);
    static const char *const zeros[] = {"total_functions_analyzed", "total_function_calls",
                                        "total_memory_allocated", "total_execution_time"};
    for (size_t i = 0; i < SL_COUNT_OF(zeros); i++) {
        sl_json_key(json, zeros[i]);
        sl_json_i64(json, 0);
    }
    sl_json_key(json, "analysis_timestamp");
    sl_json_null(json);
    sl_json_end_object(json);
    sl_json_key(json, "top_level_keys");
    sl_json_begin_array(json);
    for (size_t i = 0; i < survey->keys.cnt; i++)
        sl_json_cstr(json, survey->keys.at[i]);
    sl_json_end_array(json);
    sl_json_key(json, "notes");
    sl_json_begin_array(json);
    sl_json_cstr(json, "JSON payload does not contain telemetry events");
    sl_json_end_array(json);
    sl_json_end_object(json);
}

/* What is printed, and what goes to --output. */
typedef struct answer {
    const sl_opts *opts;
    sl_compat_report report;
    const sl_json_survey *survey; /* set for foreign JSON */
} answer;

static void write_text(FILE *to, const answer *a) {
    sl_compat_report_text(to, &a->report);
    if (a->survey)
        fprintf(to, "Notes: JSON payload does not contain telemetry events\n");
}

static sl_status write_json(FILE *to, const answer *a, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 2);
    if (a->survey)
        put_foreign(&json, a->survey);
    else
        sl_compat_report_json(&json, &a->report);
    return sl_json_finish(&json, err);
}

static sl_status save(const answer *a, sl_error *err) {
    const char *path = sl_opts_text(a->opts, "output");
    sl_file_out out;
    sl_status status = SL_OK;
    if (!path)
        return SL_OK;
    SL_TRY(sl_make_parents(path, err));
    SL_TRY(sl_file_out_open(&out, path, err));
    if (strcmp(sl_opts_text(a->opts, "format"), "txt") == 0)
        write_text(out.stream, a);
    else
        status = write_json(out.stream, a, err);
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    SL_TRY(sl_file_out_commit(&out, err));
    sl_term_printf(stdout, "Analysis report saved to: %s\n", path);
    return SL_OK;
}

/* The picture is optional: the analysis is complete without it, so a failure is only reported. */
static void draw(const answer *a) {
    const char *folder = sl_opts_text(a->opts, "plot-dir");
    sl_error err = SL_ERROR_INIT;
    sl_status status;
    if (!a->report.set) {
        printf("Visualization skipped: there is no telemetry to draw; 'stormlog plot' draws "
               "recordings "
               "and snapshots\n");
        return;
    }
    status = a->report.ranks ? sl_compat_plot_ranks(a->report.ranks, folder, &err)
                             : sl_compat_plot_records(a->report.set, folder, &err);
    if (status < 0)
        sl_term_printf(stdout, "Visualization skipped: %s\n", err.text);
    else
        sl_term_printf(stdout, "Visualization saved to: %s/%s\n", folder,
                       a->report.ranks ? "cross_rank_timeline.png" : "memory_timeline.png");
}

static int deliver(const answer *a, sl_error *err) {
    write_text(stdout, a);
    SL_TRY(save(a, err));
    if (sl_opts_flag(a->opts, "visualization"))
        draw(a);
    return 0;
}

/* ---- loading ---- */

static int analyze_trace(answer *a, const sl_trace *trace, sl_error *err) {
    sl_report *found = NULL;
    SL_TRY(sl_analyze_traces(&trace, 1, NULL, &found, err));
    a->report.set = trace->telemetry;
    a->report.found = found;
    int result = sl_compat_report_run(&a->report, err);
    if (result == 0)
        result = deliver(a, err);
    sl_compat_report_fini(&a->report);
    sl_report_free(found);
    return result;
}

/* No reader accepted the file, or it has no records: the message depends on the reason, as in
 * the Python tool. */
static int explain_failure(const answer *a, const sl_error *load_err, sl_error *err) {
    sl_json_survey survey;
    sl_error survey_err = SL_ERROR_INIT;
    int result = 0;
    if (sl_json_survey_read(a->report.path, &survey, &survey_err) < 0) {
        sl_term_printf(stdout, "Error loading input file: %s\n", survey_err.text);
        result = 1;
    } else if (survey.looks_like_telemetry && load_err) {
        sl_term_printf(stdout, "Error parsing telemetry events: %s\n", load_err->text);
        result = 1;
    } else {
        answer foreign = *a;
        foreign.survey = &survey;
        result = deliver(&foreign, err);
    }
    sl_json_survey_fini(&survey);
    return result;
}

static int run(const sl_opts *opts, sl_error *err) {
    const char *path = opts->operands.at[0];
    sl_error load_err = SL_ERROR_INIT;
    sl_trace *trace = NULL;
    struct stat info;
    if (stat(path, &info) != 0) {
        sl_term_printf(stdout, "Error: Input file '%s' not found\n", path);
        return 1;
    }
    answer a = {.opts = opts, .report = {.path = path, .file_bytes = (int64_t)info.st_size}};
    sl_load_options options = {.skips_bad = sl_opts_flag(opts, "skip-bad")};
    if (sl_trace_load(path, &options, &trace, &load_err) < 0)
        return explain_failure(&a, &load_err, err);
    if (trace->telemetry && trace->telemetry->skipped_cnt)
        printf("Skipped %llu bad record%s\n", (unsigned long long)trace->telemetry->skipped_cnt,
               sl_plural(trace->telemetry->skipped_cnt));
    /* Nothing was measured, so nothing can be called healthy: no verdict and no score. */
    bool is_empty = trace->telemetry && trace->telemetry->records.cnt == 0;
    int result = is_empty ? explain_failure(&a, NULL, err) : analyze_trace(&a, trace, err);
    sl_trace_free(trace);
    return result;
}

static const sl_opt options[] = {
    {.name = "output", .type = SL_OPT_FILE, .help = "write the report to this file"},
    {.name = "format",
     .type = SL_OPT_CHOICE,
     .choices = "json|txt",
     .initial = "json",
     .help = "format of that file"},
    {.name = "visualization",
     .type = SL_OPT_FLAG,
     .help = "draw the memory over time, by rank where there are several"},
    {.name = "plot-dir", .type = SL_OPT_FILE, .initial = "plots", .help = "folder for the picture"},
    {.name = "skip-bad", .type = SL_OPT_FLAG, .help = "skip bad telemetry records and count them"},
};

const sl_cmd sl_cmd_gpumemprof_analyze = {
    .name = "analyze",
    .operands = "input_file",
    .operand_min = 1,
    .operand_max = 1,
    .summary = "analyze a recording: drift, spikes, gaps, ranks, score",
    .description =
        "Reads everything 'stormlog analyze' reads: telemetry as JSON, JSON lines or CSV, OOM "
        "bundles, PyTorch snapshots, recordings. The JSON report has the keys of the Python tool; "
        "findings are listed under all_patterns and affect the score.",
    .examples = "gpumemprof analyze events.json --output report.json\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
