/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "analyze/analysis.h"
#include "base/files/file_atomic.h"
#include "base/text/term.h"
#include "cli/core/analysis_options.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/latest_run.h"
#include "cli/core/shared_options.h"
#include "cli/settings/config.h"
#include "export/report/report_format.h"

/* Holders listed without --top: a healthy run shows its three largest, so that one learns
 * something; a sick one a few more; programs get what the analysis lists. */
#define TOP_HEALTHY 3
#define TOP_SICK    5
#define TOP_JSON    10

#define KIND_CHOICE(name, text, rank, title, help) text "|"

/* The kinds named by --fail-on; "any" is after them and means all that decide a verdict. */
static uint64_t fail_mask(const sl_opts *opts) {
    uint64_t mask = (uint64_t)sl_opts_number(opts, "fail-on");
    if (!(mask >> SL_FINDING_LIMIT & 1))
        return mask;
    for (unsigned kind = 0; kind < SL_FINDING_LIMIT; kind++)
        mask |= (uint64_t)(sl_finding_kind_rank((sl_finding_kind)kind) > 0) << kind;
    return mask & (((uint64_t)1 << SL_FINDING_LIMIT) - 1);
}

static size_t list_length(const sl_opts *opts, const sl_report *report, bool is_json) {
    if (sl_opts_is_given(opts, "top"))
        return (size_t)sl_opts_number(opts, "top");
    if (is_json)
        return TOP_JSON;
    return report->verdict == SL_VERDICT_HEALTHY ? TOP_HEALTHY : TOP_SICK;
}

static int print_report(const sl_opts *opts, const sl_report *report, sl_error *err) {
    const sl_report_format *format = sl_report_format_find(sl_opts_text(opts, "format"));
    sl_report_wishes wishes = {
        .explains = sl_opts_flag(opts, "explain"),
        .scope = sl_cli_scope(opts),
        .top = list_length(opts, report, format->write == sl_report_write_json),
        .fills_lists = !sl_opts_is_given(opts, "top"),
        .fail_mask = fail_mask(opts),
    };
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    sl_term_follow(out.stream);
    wishes.has_color = sl_term_has_color(out.stream);
    wishes.has_links = sl_term_has_links(out.stream) && sl_config_get()->has_links;
    sl_status status = format->write(report, &wishes, out.stream, err);
    SL_TRY(sl_file_out_end(&out, status, err));
    return sl_report_fails(report, wishes.fail_mask) ? SL_EXIT_FOUND : 0;
}

static int analyze(const sl_opts *opts, const sl_inputs *inputs, sl_error *err) {
    sl_report *report;
    SL_TRY(sl_cli_report(opts, inputs, &report, err));
    int result = print_report(opts, report, err);
    sl_report_free(report);
    return result;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_inputs inputs = {0};
    sl_path_span paths;
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    SL_TRY(sl_inputs_load_as(&inputs, paths.at, paths.cnt,
                             sl_opts_flag(opts, "skip-bad") ? SL_INPUTS_SKIP_BAD : 0, err));
    inputs.run->effort.no_whatif = sl_opts_flag(opts, "no-whatif");
    int result = analyze(opts, &inputs, err);
    sl_inputs_fini(&inputs);
    return result;
}

static const sl_opt options[] = {
    {.name = "format",
     .short_name = 'f',
     .type = SL_OPT_CHOICE,
     .choices = "txt|json|md|junit",
     .initial = "txt",
     .help = "output format: for people, for programs, for a pull request, for a CI server"},
    SL_SHARED_OUTPUT,
    {.name = "fail-on",
     .type = SL_OPT_CHOICES,
     .metavar = "KINDS",
     .choices = SL_FINDING_KIND_MAP(KIND_CHOICE) "any",
     .help = "exit with 1 if there is a finding of one of these kinds (separated by commas) with "
             "severity warning or critical; 'any' stands for every kind that decides the verdict"},
    SL_SHARED_DEVICE,
    SL_SHARED_SINCE,
    SL_SHARED_UNTIL,
    SL_SHARED_TOP("rows in the lists of what holds memory"),
    SL_SHARED_FILTER,
    SL_SHARED_GROUP_BY,
    {.name = "capacity",
     .type = SL_OPT_SIZE,
     .help = "memory of the card (default: as recorded in the input)"},
    SL_SHARED_NO_WHATIF,
    {.name = "skip-bad",
     .type = SL_OPT_FLAG,
     .help = "skip bad telemetry records and count them in a note"},
    {.name = "explain",
     .short_name = 'e',
     .type = SL_OPT_FLAG,
     .help =
         "print full stacks, the evidence with its thresholds, and how the verdict was reached"},
};

const sl_cmd sl_cmd_analyze = {
    .name = "analyze",
    .operands = "[PATH...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "find what is wrong with the memory of a run, and where",
    .description =
        "PATH is a recording, a PyTorch memory snapshot, telemetry (JSON, JSON lines, CSV), each "
        "plain or compressed (.gz, .zst, .xz), or an OOM bundle. A folder means all recordings in "
        "it, "
        "as the processes of one run; if it has none, every other file that can be read. Without a "
        "PATH, the latest run in this folder is analyzed. The report starts with a verdict in one "
        "sentence: healthy, or the most severe of out of memory, leak, fragmentation and spike. "
        "Every finding names the line of your code, the amount, how fast it grows, its severity "
        "and confidence, and the fix.\n\n"
        "Nothing in an input is executed: a pickle that contains anything but plain data is "
        "refused. Sizes are what the program requested, unless they are called blocks (rounded by "
        "the allocator) or reserved.",
    .examples = "stormlog analyze\n"
                "  the latest run\n"
                "stormlog analyze snap.pickle\n"
                "stormlog analyze snap.pickle --format json --output report.json\n"
                "stormlog analyze snap.pickle.gz --fail-on leak,oom\n"
                "stormlog analyze snap.pickle --since 30s --filter 'model\\.py' -g function\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
