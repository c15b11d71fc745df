/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/file_atomic.h"
#include "cli/cmd_list.h"
#include "cli/inputs.h"
#include "cli/run_views.h"
#include "cli/shared_options.h"
#include "export/exporter.h"

static sl_status set_moments(const sl_opts *opts, const sl_trace *trace, sl_export_options *export,
                             sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    const sl_opt_value *at = sl_opts_get(opts, "at");
    sl_window window;
    SL_TRY(sl_shared_window(opts, trace, &window, err));
    export->has_since = window.has_since, export->since_us = window.since_us;
    export->has_until = window.has_until, export->until_us = window.until_us;
    export->at = SL_EXPORT_AT_TIME;
    if (at->time.anchor == SL_ANCHOR_END && at->time.us == 0)
        export->at = SL_EXPORT_AT_END;
    else if (at->time.anchor == SL_ANCHOR_PEAK)
        export->at = SL_EXPORT_AT_PEAK;
    else
        return sl_inputs_resolve_time(trace, choice, at->time, &export->at_time_us, err);
    return SL_OK;
}

/* An option that the chosen format would silently ignore is a mistake worth telling. */
static sl_status check_options(const sl_opts *opts, const sl_exporter *exporter, sl_error *err) {
    static const char *const window[] = {"since", "until"};
    for (size_t i = 0; i < SL_COUNT_OF(window); i++)
        if (sl_opts_is_given(opts, window[i]) && !(exporter->wants & SL_EXPORT_WINDOW))
            return sl_fail(err, SL_E_USAGE, "option '--%s' has no meaning for '%s'", window[i],
                           exporter->name);
    if (sl_opts_is_given(opts, "at") && !(exporter->wants & SL_EXPORT_INSTANT))
        return sl_fail(err, SL_E_USAGE, "option '--at' has no meaning for '%s'", exporter->name);
    if ((exporter->wants & SL_EXPORT_BINARY) && !sl_opts_text(opts, "output") &&
        isatty(STDOUT_FILENO))
        return sl_fail(err, SL_E_USAGE, "'%s' is not for a terminal; name a file with -o",
                       exporter->name);
    return SL_OK;
}

static sl_status write_file(const sl_opts *opts, const sl_exporter *exporter, const sl_trace *trace,
                            const sl_run_view *view, sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    sl_export_options export = {.has_device = choice.is_one,
                                .device = choice.device,
                                .every_us = sl_opts_number(opts, "every"),
                                .view = view};
    sl_file_out out;
    SL_TRY(set_moments(opts, trace, &export, err));
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    sl_status status = exporter->write(trace, &export, out.stream, err);
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

/* Most formats do not show sites and steps, and finding them costs as much as a small analysis. */
static sl_status write_trace(const sl_opts *opts, const sl_exporter *exporter,
                             const sl_trace *trace, sl_error *err) {
    sl_view_owner owner;
    SL_TRY(sl_inputs_check_device(trace, sl_shared_device(opts), err));
    if (!(exporter->wants & SL_EXPORT_VIEW))
        return write_file(opts, exporter, trace, NULL, err);
    sl_status status = sl_view_owner_init(&owner, trace, err);
    if (status == SL_OK)
        status = write_file(opts, exporter, trace, &owner.view, err);
    sl_view_owner_fini(&owner);
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    const sl_exporter *exporter = sl_exporter_find(sl_opts_text(opts, "to"));
    sl_inputs inputs;
    SL_TRY(check_options(opts, exporter, err));
    SL_TRY(sl_inputs_load(&inputs, opts->operands.at, opts->operands.cnt, err));
    sl_status status = write_trace(opts, exporter, inputs.traces.at[0], err);
    sl_inputs_fini(&inputs);
    return status;
}

#define KIND_CHOICE(name, extension, help, wants, write) "|" name
#define KIND_HELP(name, extension, help, wants, write)   " " name " (" help ");"

static const sl_opt options[] = {
    {.name = "to",
     .short_name = 't',
     .type = SL_OPT_CHOICE,
     .metavar = "KIND",
     .choices = SL_EXPORTER_MAP(KIND_CHOICE) + 1,
     .initial = "snapshot",
     .help = "the format:" SL_EXPORTER_MAP(KIND_HELP)},
    SL_SHARED_OUTPUT,
    SL_SHARED_DEVICE,
    SL_SHARED_SINCE,
    SL_SHARED_UNTIL,
    {.name = "at",
     .type = SL_OPT_TIME,
     .initial = "end",
     .help = "the instant that 'folded' and 'pprof' show: end, peak, 90s (after the start), -10s "
             "(before the "
             "end)"},
    {.name = "every",
     .type = SL_OPT_DURATION,
     .help = "spacing of telemetry samples; 2,000 over the whole recording when not given"},
};

const sl_cmd sl_cmd_export = {
    .name = "export",
    .operands = "PATH",
    .operand_min = 1,
    .operand_max = 1,
    .summary = "write an input in the format of another program",
    .description =
        "A snapshot opens in PyTorch's own viewer (pytorch.org/memory_viz) and with pickle.load; "
        "that viewer knows no host memory, so a recording of nothing else stands as device 0. "
        "Folded stacks go into flamegraph.pl, inferno or speedscope; speedscope's own format holds "
        "peak, end and growth in one file. A pprof profile opens with 'go tool pprof', a perfetto "
        "trace in ui.perfetto.dev. Telemetry fields that the "
        "input does not know are written as the schema's unknown, never as a guess.",
    .examples = "stormlog export snap.pickle --to folded --at peak -o peak.folded\n"
                "stormlog export run.slog --to snapshot -o snap.pickle\n"
                "stormlog export run.slog --to perfetto -o run.pftrace\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
