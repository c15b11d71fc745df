/* SPDX-License-Identifier: MIT */
/* What every picture has: colours, title, subtitle, legend; and the drawing functions of each
 * kind. Internal to src/plot. */
#ifndef SL_PLOT_FRAME_H
#define SL_PLOT_FRAME_H

#include "export/report/report_words.h"
#include "plot/canvas/plot_canvas.h"
#include "plot/plot.h"

#define SL_SERIES_COLORS 10u
#define SL_NOTES_MAX     32u
#define SL_NOTE_CAP      256u

typedef struct sl_plot_theme_colors {
    uint32_t background, text, muted, grid, alarm, warning;
    uint32_t other; /* everything that is not named */
    uint32_t series[SL_SERIES_COLORS];
} sl_plot_theme_colors;

/* Texts on top of the picture, drawn after everything else. */
typedef struct sl_plot_notes {
    struct {
        sl_point at;
        sl_text_style style;
        char text[SL_NOTE_CAP];
        sl_box box; /* set when it is drawn */
    } at[SL_NOTES_MAX];
    size_t cnt;
} sl_plot_notes;

typedef struct sl_plot {
    const sl_plot_options *options;
    const sl_report *report;
    const sl_plot_input *inputs;
    size_t input_cnt;
    const sl_plot_theme_colors *theme;
    sl_canvas *canvas;
    sl_plot_notes *notes; /* owned by the function that draws the picture */
} sl_plot;

const sl_plot_theme_colors *sl_plot_theme(bool is_dark);

static inline sl_paint sl_solid(uint32_t rgb) {
    return (sl_paint){rgb, 1.0};
}

/* Text sizes: small for ticks and notes, normal for labels. */
sl_text_style sl_plot_small(const sl_plot *plot);
sl_text_style sl_plot_normal(const sl_plot *plot);

/* Draws the background, the verdict as title and the subtitle in a muted colour; returns the box
 * that is left. */
sl_box sl_plot_begin(sl_plot *plot, const char *subtitle);
/* The same with another title. */
sl_box sl_plot_begin_as(sl_plot *plot, const char *title, const char *subtitle);

/* The number of steps in the report; unknown when it has none. */
sl_maybe_u64 sl_plot_steps(const sl_plot *plot, const sl_plot_input *input);

/* "s1.pickle.gz, device 0, 27,885 events in 7.48 s, 200 steps". */
void sl_plot_describe(char buf[SL_WORDS_CAP], const sl_plot *plot, const sl_plot_input *input);

typedef struct sl_legend_row {
    uint32_t rgb;
    bool is_line; /* a line instead of a square */
    double dash;
    char name[96];
    char detail[96]; /* second line, muted; "" = none */
    char value[32];
} sl_legend_row;

/* Rows from the top of the box down, as many as fit; the rest is counted in a last line. */
void sl_plot_legend(sl_plot *plot, sl_box box, const sl_legend_row *rows, size_t cnt);

/* Name and detail of a site: "train.py:8" and "in <module>, /home/user". */
void sl_plot_name_site(sl_legend_row *row, sl_site site);

/* The colour of the nth series: after the last colour come paler ones, then darker ones. */
uint32_t sl_plot_series_color(const sl_plot *plot, size_t nth);

/* The name of everything without a name of its own: "12 more, the largest 3.20 MiB". */
void sl_plot_name_rest(sl_legend_row *row, size_t cnt, uint64_t largest_bytes);

/* A text on a half-transparent patch of the background colour, so that it is readable over
 * anything. */
void sl_plot_note(sl_plot *plot, sl_point at, const char *text, sl_text_style style);

/* Draws the notes, the last one first, because it matters most. Each stays inside the picture; a
 * note that would cover another one moves down, and is skipped when there is no room below
 * either. */
void sl_plot_notes_draw(sl_plot *plot);

const char *sl_plot_basename(const char *path);

sl_status sl_plot_timeline(sl_plot *plot, sl_error *err);
sl_status sl_plot_sites(sl_plot *plot, sl_error *err);
sl_status sl_plot_flame(sl_plot *plot, sl_error *err);
sl_status sl_plot_ledger(sl_plot *plot, sl_error *err);
sl_status sl_plot_ranks(sl_plot *plot, sl_error *err);
sl_status sl_plot_whatif(sl_plot *plot, sl_error *err);

#endif
