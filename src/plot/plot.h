/* SPDX-License-Identifier: MIT */
/* Pictures of a run, for a report, a pull request or a chat. They are drawn from the trace, its
 * replay and the report, so that they cannot contradict `analyze`. To add a kind, write
 * plot_<name>.c with one function and add a row below. */
#ifndef SL_PLOT_H
#define SL_PLOT_H

#include <stdio.h>

#include "report/report.h"
#include "run/run.h"

/* enumerator, name, fewest inputs, most inputs (0 = any), help, function. */
#define SL_PLOT_KIND_MAP(X)                                                                   \
    X(TIMELINE, "timeline", 1, 1, "live bytes over time, by line of code", sl_plot_timeline)  \
    X(SITES, "sites", 1, 1, "the largest holders, at the peak and at the end", sl_plot_sites) \
    X(FLAME, "flame", 1, 1, "flame graph of the live bytes at the peak", sl_plot_flame)       \
    X(LEDGER, "ledger", 1, 1, "what fills the card, over time", sl_plot_ledger)               \
    X(RANKS, "ranks", 2, 0, "one curve per input", sl_plot_ranks)                             \
    X(WHATIF, "whatif", 1, 1, "what other allocator settings would have reserved", sl_plot_whatif)

typedef enum sl_plot_kind {
#define SL_PLOT_ENUM(name, text, min, max, help, draw) SL_PLOT_##name,
    SL_PLOT_KIND_MAP(SL_PLOT_ENUM)
#undef SL_PLOT_ENUM
} sl_plot_kind;

/* One device of one input, with the facts about it. All pointers are borrowed. */
typedef struct sl_plot_input {
    const sl_trace *trace;
    const sl_run_device *device;
    const sl_replay *replay;
    const sl_sites *lines;
    const sl_steps *steps;
} sl_plot_input;

/* Loads everything that a picture shows of a device. */
sl_status sl_plot_input_load(sl_plot_input *input, const sl_run_device *device, sl_error *err);

typedef struct sl_plot_options {
    sl_plot_kind kind;
    bool is_svg;
    bool is_dark;
    uint32_t width, height; /* pixels, SL_PLOT_SIDE_MIN..SL_PLOT_SIDE_MAX */
    size_t top;             /* named sites; 0 = SL_PLOT_TOP, or more if the rest is too large */
} sl_plot_options;

#define SL_PLOT_TOP      8u
#define SL_PLOT_SIDE_MIN 300u
#define SL_PLOT_SIDE_MAX 8000u

/* SL_E_UNSUPPORTED in a build without cairo. */
sl_status sl_plot_check_build(sl_error *err);

/* SL_E_USAGE when the kind takes a different number of inputs. */
sl_status sl_plot_check_inputs(sl_plot_kind kind, size_t cnt, sl_error *err);

/* SL_E_FORMAT when the input lacks what the kind shows; the message says what. */
sl_status sl_plot_write(const sl_plot_options *options, const sl_report *report,
                        const sl_plot_input *inputs, size_t cnt, FILE *to, sl_error *err);

#endif
