/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/files/file_atomic.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/commands/open_page.h"
#include "cli/core/analysis_options.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/latest_run.h"
#include "cli/core/progress.h"
#include "cli/core/shared_options.h"
#include "page/page_html.h"

static sl_html_options html_options(const sl_opts *opts) {
    sl_device_choice choice = sl_shared_device(opts);
    return (sl_html_options){
        .title = sl_opts_text(opts, "title"),
        .has_device = choice.is_one,
        .device = choice.device,
        .block_cnt = (uint32_t)sl_opts_number(opts, "top"),
        .is_diff = sl_opts_flag(opts, "diff"),
    };
}

static void say_result(const char *path, uint64_t bytes) {
    char size[SL_HUMAN_CAP], exact[SL_HUMAN_CAP];
    sl_term_printf(stdout, "%s: %s (%s bytes)\n", path, sl_human_bytes(size, bytes),
                   sl_human_count(exact, bytes));
}

/* The input exists but cannot be read. A page is written all the same, because its readers may not
 * see the error message (a CI job, for example). */
static bool is_bad_input(sl_status status) {
    static const sl_status bad[] = {SL_E_FORMAT, SL_E_TRUNCATED, SL_E_VERSION, SL_E_REFUSED,
                                    SL_E_LIMIT};
    for (size_t i = 0; i < SL_COUNT_OF(bad); i++)
        if (status == bad[i])
            return true;
    return false;
}

/* Writes a page with the reason instead of the report. The exit code stays that of the failure. */
static void write_failure(const sl_opts *opts, const char *input, const char *reason) {
    const char *path = sl_opts_text(opts, "output"), *title = sl_opts_text(opts, "title");
    sl_error ignored = SL_ERROR_INIT;
    sl_file_out out;
    if (strcmp(path, "-") == 0 || sl_file_out_open(&out, path, &ignored) < 0)
        return;
    if (sl_export_html_failure(out.stream, title ? title : input, reason, &ignored) < 0)
        sl_file_out_abandon(&out);
    else
        (void)sl_file_out_commit(&out, &ignored);
}

static sl_status write_file(const sl_opts *opts, const sl_run *run, const sl_report *report,
                            sl_error *err) {
    const char *path = sl_opts_text(opts, "output");
    sl_html_options options = html_options(opts);
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, path, err));
    sl_progress progress;
    options.progress = sl_progress_update, options.progress_ctx = &progress;
    sl_progress_begin(&progress, SL_PROGRESS_COUNT, "drawing", "devices");
    sl_status status = sl_export_html(out.stream, run, report, &options, err);
    sl_progress_end(&progress);
    /* -1 when the output is a pipe, which has no size. */
    long bytes = status < 0 ? -1 : ftell(out.stream);
    SL_TRY(sl_file_out_end(&out, status, err));
    if (bytes >= 0 && strcmp(path, "-") != 0)
        say_result(path, (uint64_t)bytes);
    if (sl_opts_flag(opts, "open")) {
        fflush(stdout); /* what is said comes before the browser */
        sl_open_page(path);
    }
    return SL_OK;
}

static sl_status report_inputs(const sl_opts *opts, const sl_inputs *inputs, sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    const sl_opt_value *capacity = sl_opts_get(opts, "capacity");
    sl_analysis_options options = {.has_device = choice.is_one, .device = choice.device};
    if (capacity->is_given)
        options.capacity_bytes = sl_known_u64(capacity->bytes);
    sl_report *report;
    SL_TRY(sl_cli_analyze(inputs->run, &options, &report, err));
    sl_status status = write_file(opts, inputs->run, report, err);
    sl_report_free(report);
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    if (sl_opts_flag(opts, "diff") && opts->operands.cnt != 2)
        return sl_fail(err, SL_E_USAGE, "option '--diff' compares two inputs, found %zu",
                       opts->operands.cnt);
    if (sl_opts_flag(opts, "open") && strcmp(sl_opts_text(opts, "output"), "-") == 0)
        return sl_fail(err, SL_E_USAGE, "option '--open' needs a file; give one with -o");
    sl_inputs inputs;
    sl_path_span paths;
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    sl_status loaded = sl_inputs_load(&inputs, paths.at, paths.cnt, err);
    if (loaded < 0) {
        if (is_bad_input(loaded))
            write_failure(opts, paths.at[0], err->text);
        return loaded;
    }
    inputs.run->effort.no_whatif = sl_opts_flag(opts, "no-whatif");
    sl_status status = report_inputs(opts, &inputs, err);
    sl_inputs_fini(&inputs);
    return status;
}

static const sl_opt options[] = {
    {.name = "output",
     .short_name = 'o',
     .type = SL_OPT_FILE,
     .initial = "stormlog-report.html",
     .help = "file name of the page, written atomically; - is standard output"},
    SL_SHARED_DEVICE,
    {.name = "top",
     .short_name = 'n',
     .type = SL_OPT_INT,
     .min = 100,
     .max = 1000000,
     .initial = "50000",
     .help = "blocks to draw one by one; all others are summed up in one band"},
    {.name = "title",
     .type = SL_OPT_STRING,
     .setter = SL_SET_BY_PROJECT,
     .help = "heading of the page (default: the command and the run, or the file's name)"},
    {.name = "diff", .type = SL_OPT_FLAG, .help = "compare two inputs: what changed from A to B"},
    {.name = "open", .type = SL_OPT_FLAG, .help = "open the page in the browser (xdg-open)"},
    {.name = "capacity",
     .type = SL_OPT_SIZE,
     .help = "memory of the card (default: as recorded in the input)"},
    SL_SHARED_NO_WHATIF,
};

const sl_cmd sl_cmd_report = {
    .name = "report",
    .operands = "[PATH...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "make an HTML page of a run that opens in any browser",
    .description =
        "Writes one HTML file with everything in it: the verdict and the findings, the timeline, "
        "every block over time, flame graphs, the lines of your code, the allocator's segments. It "
        "opens from disk in any browser from 2023 or later, and loads and sends nothing.\n\n"
        "The level of detail is computed here, so that a page of ten million events opens as fast "
        "as one of a thousand; the page states what was summarised. Several PATHs become rows to "
        "compare; two with --diff become before and after. Without a PATH, the page shows the "
        "latest run in this folder. For an input that is damaged, the page says so, and the exit "
        "code is 3.",
    .examples = "stormlog report snap.pickle -o snap.html\n"
                "stormlog report --open\n"
                "stormlog report before.pickle after.pickle --diff -o diff.html\n"
                "stormlog report rank0.pickle rank1.pickle -o ranks.html\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
