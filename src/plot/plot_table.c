/* SPDX-License-Identifier: MIT */
#include "plot/plot.h"

#include "sl_config.h"
#if HAVE_CAIRO
#include "plot/canvas/plot_frame.h"
#endif

static const struct {
    const char *name;
    size_t input_min, input_max;
} kinds[] = {
#define KIND_ROW(name, text, min, max, help, draw) {text, min, max},
    SL_PLOT_KIND_MAP(KIND_ROW)
#undef KIND_ROW
};

sl_status sl_plot_input_load(sl_plot_input *input, const sl_run_device *device, sl_error *err) {
    *input = (sl_plot_input){.trace = device->input->trace, .device = device};
    SL_TRY(sl_run_replay(device, &input->replay, err));
    SL_TRY(sl_run_lines(device->input, &input->lines, err));
    return sl_run_steps(device, &input->steps, err);
}

sl_status sl_plot_check_inputs(sl_plot_kind kind, size_t cnt, sl_error *err) {
    if (cnt < kinds[kind].input_min)
        return sl_fail(err, SL_E_USAGE, "--kind %s compares several inputs, found %zu",
                       kinds[kind].name, cnt);
    if (kinds[kind].input_max && cnt > kinds[kind].input_max)
        return sl_fail(err, SL_E_USAGE,
                       "--kind %s shows one input, found %zu; --kind ranks compares several",
                       kinds[kind].name, cnt);
    return SL_OK;
}

#if HAVE_CAIRO
static sl_status (*const draw_fns[])(sl_plot *plot, sl_error *err) = {
#define KIND_DRAW(name, text, min, max, help, draw) draw,
    SL_PLOT_KIND_MAP(KIND_DRAW)
#undef KIND_DRAW
};

sl_status sl_plot_check_build(sl_error *err) {
    SL_UNUSED(err);
    return SL_OK;
}

static sl_status check_content(const sl_plot_input *input, sl_plot_kind kind, sl_error *err) {
    if (input->replay->lives.cnt == 0 && !sl_run_is_sampled(input->device->input))
        return sl_fail(err, SL_E_FORMAT, "nothing to draw: '%s' has no allocations",
                       input->trace->path);
    bool needs_blocks = kind == SL_PLOT_SITES || kind == SL_PLOT_FLAME || kind == SL_PLOT_WHATIF;
    if (sl_run_is_sampled(input->device->input) && needs_blocks)
        return sl_fail(
            err, SL_E_FORMAT,
            "'%s' has only samples, which have no single allocations; --kind timeline or "
            "ledger shows them",
            input->trace->path);
    return SL_OK;
}

sl_status sl_plot_write(const sl_plot_options *options, const sl_report *report,
                        const sl_plot_input *inputs, size_t cnt, FILE *to, sl_error *err) {
    sl_plot plot = {.options = options,
                    .report = report,
                    .inputs = inputs,
                    .input_cnt = cnt,
                    .theme = sl_plot_theme(options->is_dark)};
    for (size_t i = 0; i < cnt; i++)
        SL_TRY(check_content(&inputs[i], options->kind, err));
    plot.notes = calloc(1, sizeof *plot.notes);
    if (!plot.notes)
        return sl_fail_no_memory(err, "the notes of the picture");
    sl_status status =
        sl_canvas_open(&plot.canvas, options->width, options->height, options->is_svg, to, err);
    if (status == SL_OK) {
        status = draw_fns[options->kind](&plot, err);
        sl_plot_notes_draw(&plot);
        sl_status closed = sl_canvas_close(plot.canvas, status < 0 ? NULL : err);
        status = status < 0 ? status : closed;
    }
    free(plot.notes);
    return status;
}
#else
sl_status sl_plot_check_build(sl_error *err) {
    return sl_fail(err, SL_E_UNSUPPORTED,
                   "this build has no cairo, which draws pictures; install libcairo2-dev and build "
                   "again, or use 'stormlog export'");
}

sl_status sl_plot_write(const sl_plot_options *options, const sl_report *report,
                        const sl_plot_input *inputs, size_t cnt, FILE *to, sl_error *err) {
    SL_UNUSED(options);
    SL_UNUSED(report);
    SL_UNUSED(inputs);
    SL_UNUSED(cnt);
    SL_UNUSED(to);
    return sl_plot_check_build(err);
}
#endif
