/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/core/str.h"
#include "base/files/file_atomic.h"
#include "cli/core/analysis_options.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/latest_run.h"
#include "cli/core/shared_options.h"
#include "plot/plot.h"

/* The format follows the name, as every program that draws does it. */
static sl_status read_format(const char *path, sl_plot_options *options, sl_error *err) {
    if (!path)
        return sl_fail(err, SL_E_USAGE, "no output file; give one with -o out.png or -o out.svg");
    options->is_svg = sl_str_ends_with(sl_str_of(path), SL_STR(".svg"));
    if (!options->is_svg && !sl_str_ends_with(sl_str_of(path), SL_STR(".png")))
        return sl_fail(err, SL_E_USAGE, "the name of the picture, '%s', must end in .png or .svg",
                       path);
    return SL_OK;
}

static sl_status read_size(const char *text, sl_plot_options *options, sl_error *err) {
    int end = 0;
    unsigned width, height;
    if (sscanf(text, "%5ux%5u%n", &width, &height, &end) != 2 || text[end] ||
        width < SL_PLOT_SIDE_MIN || height < SL_PLOT_SIDE_MIN || width > SL_PLOT_SIDE_MAX ||
        height > SL_PLOT_SIDE_MAX)
        return sl_fail(
            err, SL_E_USAGE,
            "option '--size': expected WIDTHxHEIGHT with sides from %u to %u pixels, found '%s'",
            SL_PLOT_SIDE_MIN, SL_PLOT_SIDE_MAX, text);
    options->width = width;
    options->height = height;
    return SL_OK;
}

static sl_status read_options(const sl_opts *opts, sl_plot_options *options, sl_error *err) {
    *options = (sl_plot_options){
        .kind = (sl_plot_kind)sl_opts_number(opts, "kind"),
        .is_dark = strcmp(sl_opts_text(opts, "theme"), "dark") == 0,
        .top = sl_opts_is_given(opts, "top") ? (size_t)sl_opts_number(opts, "top") : 0,
    };
    SL_TRY(read_format(sl_opts_text(opts, "output"), options, err));
    SL_TRY(read_size(sl_opts_text(opts, "size"), options, err));
    return sl_plot_check_build(err);
}

/* The chosen device, or the one with the highest peak: that is where a run dies. */
static const sl_device_report *choose_device(const sl_report *report, const sl_trace *trace) {
    const sl_device_report *best = NULL;
    for (size_t i = 0; i < report->devices.cnt; i++) {
        const sl_device_report *device = &report->devices.at[i];
        if (device->trace == trace &&
            (!best || device->peak_requested_bytes > best->peak_requested_bytes))
            best = device;
    }
    return best;
}

/* What is drawn: one device of each input; of an input with several ranks, kind ranks draws them all. */
typedef SL_VEC(sl_plot_input) drawn_list;

static bool has_ranks(const sl_run_input *input) {
    return input->device_cnt > 0 && input->devices[0].has_rank;
}

static bool is_drawn(const sl_run_device *device, sl_plot_kind kind, const sl_device_report *chosen,
                     sl_device_choice choice) {
    if (device->has_rank && kind == SL_PLOT_RANKS)
        return !choice.is_one || device->events->device == choice.device;
    return device->events->device == chosen->device &&
           (!device->has_rank || (uint64_t)device->rank == chosen->rank.value);
}

static sl_status prepare(drawn_list *drawn, const sl_run_input *input, sl_plot_kind kind,
                         const sl_report *report, sl_device_choice choice, sl_error *err) {
    const sl_device_report *chosen = choose_device(report, input->trace);
    if (!chosen)
        return sl_fail(err, SL_E_FORMAT, "nothing to draw: '%s' has no memory events",
                       input->trace->path);
    for (size_t i = 0; i < input->device_cnt; i++) {
        if (!is_drawn(&input->devices[i], kind, chosen, choice))
            continue;
        sl_plot_input one;
        SL_TRY(sl_plot_input_load(&one, &input->devices[i], err));
        if (!sl_vec_push(drawn, one))
            return sl_fail_no_memory(err, "the inputs");
    }
    return SL_OK;
}

static sl_status write_picture(const sl_opts *opts, const sl_plot_options *options,
                               const sl_report *report, const sl_plot_input *inputs, size_t cnt,
                               sl_error *err) {
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    sl_status status = sl_plot_write(options, report, inputs, cnt, out.stream, err);
    return sl_file_out_end(&out, status, err);
}

static sl_status draw(const sl_opts *opts, const sl_plot_options *options, const sl_run *run,
                      sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    sl_analysis_options analysis = {.has_device = choice.is_one, .device = choice.device};
    sl_report *report;
    SL_TRY(sl_cli_analyze(run, &analysis, &report, err));
    drawn_list drawn = {0};
    sl_status status = SL_OK;
    for (size_t i = 0; i < run->input_cnt && status == SL_OK; i++)
        status = prepare(&drawn, &run->inputs[i], options->kind, report, choice, err);
    if (status == SL_OK)
        status = write_picture(opts, options, report, drawn.at, drawn.cnt, err);
    sl_vec_free(&drawn);
    sl_report_free(report);
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_plot_options options;
    sl_inputs inputs;
    sl_path_span paths;
    SL_TRY(read_options(opts, &options, err));
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    SL_TRY(sl_inputs_load(&inputs, paths.at, paths.cnt, err));
    /* A run folder is as many inputs as it has recordings, a merged file as many as it has ranks. */
    bool is_several = inputs.traces.cnt > 1 || has_ranks(&inputs.run->inputs[0]);
    if (!sl_opts_is_given(opts, "kind") && is_several)
        options.kind = SL_PLOT_RANKS;
    sl_status status = SL_OK;
    if (options.kind != SL_PLOT_RANKS || !is_several)
        status = sl_plot_check_inputs(options.kind, inputs.traces.cnt, err);
    inputs.run->effort.no_whatif = options.kind != SL_PLOT_WHATIF; /* others show no advice */
    inputs.run->effort.is_patient = true;
    if (status == SL_OK)
        status = draw(opts, &options, inputs.run, err);
    sl_inputs_fini(&inputs);
    return status;
}

#define KIND_CHOICE(name, text, min, max, help, draw) "|" text
#define KIND_HELP(name, text, min, max, help, draw)   " " text " (" help ");"

static const sl_opt options[] = {
    {.name = "output",
     .short_name = 'o',
     .type = SL_OPT_FILE,
     .help = "file name of the picture, .png or .svg; written atomically"},
    {.name = "kind",
     .short_name = 'k',
     .type = SL_OPT_CHOICE,
     .metavar = "KIND",
     .choices = SL_PLOT_KIND_MAP(KIND_CHOICE) + 1,
     .initial = "timeline",
     .help =
         "what to draw:" SL_PLOT_KIND_MAP(KIND_HELP) " several inputs or ranks are drawn as ranks"},
    {.name = "theme",
     .type = SL_OPT_CHOICE,
     .choices = "light|dark",
     .initial = "light",
     .help = "colours on a white or black background"},
    {.name = "size",
     .type = SL_OPT_STRING,
     .setter = SL_SET_BY_PROJECT,
     .metavar = "WIDTHxHEIGHT",
     .initial = "1200x600",
     .help = "size in pixels"},
    SL_SHARED_DEVICE,
    SL_SHARED_TOP(
        "lines of code shown by name, at most 24 (default: 8, and more as long as the others "
        "are over a quarter of the bytes)"),
};

const sl_cmd sl_cmd_plot = {
    .name = "plot",
    .operands = "[PATH...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "draw a run as a PNG or SVG picture",
    .description =
        "The title is the verdict. A timeline stacks the live bytes by line of code. Each pixel "
        "shows the highest value in its time span, and a line the lowest, so that no spike is "
        "lost; long idle times are shortened and labelled. Without --device, the device with the "
        "highest peak is shown. The processes of one run folder, and ranks that ran at the same "
        "time, "
        "share a time axis; other inputs each start at 0. Without a PATH, the latest run in this "
        "folder is drawn.\n\n"
        "The kind whatif has the answer of 'stormlog whatif' as its title, and one curve for all "
        "settings that reserve the same; where a request fails, the curve ends with a dot.\n\n"
        "Drawing needs cairo; without it, the exit code is 4. If the input lacks the data for a "
        "kind, the exit code is 3.",
    .examples = "stormlog plot snap.pickle -o memory.png\n"
                "stormlog plot snap.pickle --kind flame --theme dark -o flame.svg\n"
                "stormlog plot snap.pickle --kind whatif -o settings.png\n"
                "stormlog plot rank0.pickle rank1.pickle -o ranks.png\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
