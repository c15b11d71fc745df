/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "analyze/analysis.h"
#include "base/files/file_atomic.h"
#include "base/text/term.h"
#include "cli/commands/baseline.h"
#include "cli/core/analysis_options.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/latest_run.h"
#include "cli/core/shared_options.h"
#include "export/report/check_format.h"

/* Without gates: nothing may leak or run out of memory, and the peak may grow by this much. A round number,
 * because readers of the table judge by it; --max-peak sets another one. */
#define DEFAULT_PEAK_PERCENT 5

static sl_limit limit_of(const sl_opts *opts, const char *name) {
    const sl_opt_value *value = sl_opts_get(opts, name);
    if (!value->is_given)
        return (sl_limit){0};
    if (value->limit.is_share)
        return (sl_limit){SL_LIMIT_PERCENT, value->limit.share * 100};
    return (sl_limit){value->limit.is_more ? SL_LIMIT_MORE : SL_LIMIT_ABSOLUTE,
                      (double)value->limit.bytes};
}

static sl_gates gates_of(const sl_opts *opts, bool has_baseline) {
    static const char *const names[] = {"max-peak", "max-live", "max-reserved", "max-slope",
                                        "no-leak",  "no-oom",   "fits"};
    bool is_any = false;
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        is_any = is_any || sl_opts_is_given(opts, names[i]);
    if (!is_any) {
        sl_limit peak = {has_baseline ? SL_LIMIT_PERCENT : SL_LIMIT_NONE, DEFAULT_PEAK_PERCENT};
        return (sl_gates){.max_peak = peak, .no_leak = true, .no_oom = true};
    }
    return (sl_gates){
        .max_peak = limit_of(opts, "max-peak"),
        .max_live = limit_of(opts, "max-live"),
        .max_reserved = limit_of(opts, "max-reserved"),
        .max_slope = limit_of(opts, "max-slope"),
        .no_leak = sl_opts_flag(opts, "no-leak"),
        .no_oom = sl_opts_flag(opts, "no-oom"),
    };
}

/* "5%" and "+200MiB" need a baseline. */
static sl_status check_limits(const sl_opts *opts, sl_error *err) {
    static const char *const names[] = {"max-peak", "max-live", "max-reserved", "max-slope"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++) {
        const sl_opt_value *value = sl_opts_get(opts, names[i]);
        bool is_relative = value->limit.is_share || value->limit.is_more;
        if (value->is_given && is_relative && !sl_opts_is_given(opts, "baseline"))
            return sl_fail(err, SL_E_USAGE,
                           "option '--%s %s' is relative to a baseline; give one with --baseline, "
                           "or use a plain size",
                           names[i], value->text);
    }
    return SL_OK;
}

/* The exit code: a failed gate takes precedence over one that cannot be proven, which exits as
 * `whatif` does. */
static int exit_code_of(const sl_check_result *result) {
    for (size_t i = 0; i < result->rows.cnt; i++)
        if (!result->rows.at[i].passed && !result->rows.at[i].is_refused)
            return SL_EXIT_FOUND;
    return result->passed ? 0 : sl_status_exit_code(SL_E_FOREIGN);
}

static int print_result(const sl_opts *opts, const char *input, const sl_check_result *result,
                        sl_error *err) {
    const sl_check_format *format = sl_check_format_find(sl_opts_text(opts, "format"));
    sl_check_view view = {
        .result = result, .input = input, .baseline = sl_opts_text(opts, "baseline")};
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    sl_term_follow(out.stream);
    view.has_color = sl_term_has_color(out.stream);
    sl_status status = format->write(&view, out.stream, err);
    SL_TRY(sl_file_out_end(&out, status, err));
    return exit_code_of(result);
}

/* Gates that need a replay or the events themselves. */
static sl_status add_replayed(const sl_opts *opts, const sl_run *run, sl_check_result *result,
                              sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    const int *only = choice.is_one ? &choice.device : NULL;
    const sl_opt_value *fits = sl_opts_get(opts, "fits");
    SL_TRY(sl_check_say_crossing(run, only, result, err));
    return fits->is_given ? sl_check_fits(run, only, fits->bytes, result, err) : SL_OK;
}

static int check_report(const sl_opts *opts, const char *input, const sl_run *run,
                        const sl_report *report, sl_error *err) {
    const char *baseline_path = sl_opts_text(opts, "baseline");
    sl_gates gates = gates_of(opts, baseline_path != NULL);
    sl_baseline baseline;
    sl_check_result *result;
    if (baseline_path)
        SL_TRY(sl_baseline_load(baseline_path, &baseline, err));
    SL_TRY(sl_check_run(report, baseline_path ? &baseline : NULL, &gates, &result, err));
    int code = add_replayed(opts, run, result, err);
    if (code == SL_OK)
        code = print_result(opts, input, result, err);
    sl_check_result_free(result);
    return code;
}

static int check_inputs(const sl_opts *opts, const char *path, const sl_inputs *inputs,
                        sl_error *err) {
    sl_report *report;
    SL_TRY(sl_cli_report(opts, inputs, &report, err));
    int code = check_report(opts, path, inputs->run, report, err);
    sl_report_free(report);
    return code;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_inputs inputs;
    sl_path_span paths;
    SL_TRY(check_limits(opts, err));
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    SL_TRY(
        sl_inputs_load_as(&inputs, paths.at, paths.cnt, SL_INPUTS_STRICT | SL_INPUTS_MAINS, err));
    inputs.run->effort.no_whatif = true; /* no advice is printed */
    int code = check_inputs(opts, paths.at[0], &inputs, err);
    sl_inputs_fini(&inputs);
    return code;
}

static const sl_opt options[] = {
    {.name = "baseline",
     .short_name = 'b',
     .type = SL_OPT_FILE,
     .help = "earlier run to compare with: a recording, a snapshot, or a JSON report"},
    {.name = "max-peak",
     .type = SL_OPT_LIMIT,
     .help = "highest allowed peak: 5% or +200MiB above the baseline, or 20GiB in any case"},
    {.name = "max-live", .type = SL_OPT_LIMIT, .help = "highest allowed live memory at the end"},
    {.name = "max-reserved", .type = SL_OPT_LIMIT, .help = "highest allowed reserved memory"},
    {.name = "max-slope",
     .type = SL_OPT_LIMIT,
     .help = "highest allowed growth per step of all leaks together"},
    {.name = "fits",
     .type = SL_OPT_SIZE,
     .help = "fail if a replay cannot serve every request with this much for PyTorch's allocator "
             "(the CUDA context comes on top)"},
    {.name = "no-leak", .type = SL_OPT_FLAG, .help = "fail if anything leaks"},
    {.name = "no-oom", .type = SL_OPT_FLAG, .help = "fail if a request for memory failed"},
    {.name = "format",
     .short_name = 'f',
     .type = SL_OPT_CHOICE,
     .choices = "txt|json|md|junit",
     .initial = "txt",
     .help = "output format: for people, for programs, for a pull request, for a CI server"},
    SL_SHARED_OUTPUT,
    SL_SHARED_DEVICE,
    SL_SHARED_SINCE,
    SL_SHARED_UNTIL,
    SL_SHARED_FILTER,
    SL_SHARED_GROUP_BY,
    SL_SHARED_TOP("rows in the lists of what holds memory"),
    {.name = "capacity",
     .type = SL_OPT_SIZE,
     .help = "memory of the card (default: as recorded in the input)"},
};

const sl_cmd sl_cmd_check = {
    .name = "check",
    .operands = "[PATH]",
    .operand_min = 0,
    .operand_max = 1,
    .summary = "check a run against limits or an earlier run; for CI",
    .description =
        "Prints a table of all gates and exits with 1 if one fails. A limit in percent, or with a "
        "plus sign, is relative to the baseline; a plain size is absolute. If no gate is given, "
        "the peak may be 5% above the baseline, and nothing may leak or run out of memory.\n\n"
        "In a run folder, every rank is checked, or the main processes if there are no ranks; each "
        "must pass. --fits replays PyTorch's allocator, as whatif does, and needs no card; if the "
        "replay cannot be proven, the gate is an error and the exit code is 3. Every file in the "
        "folder must be readable. Without a PATH, the latest run in this folder is checked.",
    .examples = "stormlog analyze good.pickle --format json -o base.json\n"
                "stormlog check new.pickle --baseline base.json --max-peak 5% --no-leak\n"
                "stormlog check new.pickle --max-peak 20GiB --format junit -o memory.xml\n"
                "stormlog check new.pickle --fits 22GiB\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
