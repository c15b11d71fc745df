/* SPDX-License-Identifier: MIT */
/* What other allocator settings would have reserved: the curves of the replays on one axis, the
 * limit they ran under, and the floor (the least that any setting can reserve). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"
#include "export/whatif/whatif_words.h"
#include "plot/canvas/plot_axis.h"
#include "whatif/facts/whatif_curve.h"
#include "whatif/facts/whatif_fact.h"

#define LABELS_LEFT  64.0
#define AXIS_BELOW   46.0
#define LEGEND_WIDTH 330.0
#define LEGEND_GAP   18.0
#define HEADROOM     1.08
#define TALLEST      2.0 /* times the recorded peak; curves above are cut, the legend has peaks */
#define BINS_MAX     2000
#define CURVES_MAX   24
#define NAME_COLUMNS 36u /* characters of a name that fit into the legend */

typedef struct whatif_chart {
    sl_plot *plot;
    const sl_whatif *answer;
    sl_whatif_curves *curves; /* owned */
    size_t curve_cnt;         /* number of curves drawn */
    sl_byte_axis bytes;
    sl_time_axis time;
    sl_point *points; /* owned; two for each bin */
} whatif_chart;

/* The recorded curve has the colour of the text, because the others are compared with it. */
static uint32_t curve_color(const whatif_chart *chart, size_t idx) {
    const sl_plot_theme_colors *theme = chart->plot->theme;
    return idx == 0 ? theme->text : theme->series[(idx - 1) % SL_SERIES_COLORS];
}

/* When there are more curves than colours, the next ones are dashed. */
static double curve_dash(size_t idx) {
    return idx > SL_SERIES_COLORS ? 4 : 0;
}

/* ---- curves ---- */

/* Drawn as steps: the reserved bytes stay the same until the next bin. */
static size_t make_points(whatif_chart *chart, const sl_whatif_curve *curve) {
    const sl_box *box = &chart->time.box;
    double width = box->w / chart->curves->bin_cnt;
    size_t cnt = 0;
    for (uint32_t i = 0; i < chart->curves->bin_cnt && curve->bytes[i] != SL_WHATIF_ENDED; i++) {
        double left = box->x + width * i,
               y = sl_byte_axis_y(&chart->bytes, (double)curve->bytes[i]);
        chart->points[cnt++] = (sl_point){left, y};
        chart->points[cnt++] = (sl_point){left + width, y};
    }
    return cnt;
}

static bool is_best(const whatif_chart *chart, const sl_whatif_curve *curve) {
    return chart->answer->best && curve->row == chart->answer->best;
}

static void draw_curve(whatif_chart *chart, size_t idx) {
    const sl_whatif_curve *curve = &chart->curves->list.at[idx];
    size_t cnt = make_points(chart, curve);
    double width = idx == 0 ? 3.2 : is_best(chart, curve) ? 2.2 : 1.4;
    sl_paint paint = {curve_color(chart, idx), idx == 0 || is_best(chart, curve) ? 1.0 : 0.8};
    sl_canvas_line(chart->plot->canvas, chart->points, cnt,
                   (sl_stroke){paint, width, curve_dash(idx)});
}

/* Marks where a request failed. Not clipped, because many failures are at an edge. */
static void draw_end(whatif_chart *chart, size_t idx) {
    const sl_whatif_curve *curve = &chart->curves->list.at[idx];
    size_t cnt = make_points(chart, curve);
    if (chart->answer->rows.at[curve->row].pass.has_failed && cnt)
        sl_canvas_dot(chart->plot->canvas, chart->points[cnt - 1], 4.5,
                      sl_solid(curve_color(chart, idx)));
}

/* The recorded curve is wide and drawn first, so that a thinner one shows on top of it; the best
 * one is drawn last. */
static void draw_curves(whatif_chart *chart) {
    sl_canvas_clip(chart->plot->canvas, chart->bytes.box);
    draw_curve(chart, 0);
    for (size_t i = chart->curve_cnt; i-- > 1;)
        draw_curve(chart, i);
    sl_canvas_end_clip(chart->plot->canvas);
    for (size_t i = chart->curve_cnt; i-- > 0;)
        draw_end(chart, i);
}

/* ---- lines ---- */

typedef struct level {
    uint64_t bytes;
    uint32_t rgb;
    const char *name;
    double above; /* of the text's baseline over the line */
} level;

static void draw_level(whatif_chart *chart, level line) {
    char text[SL_WORDS_CAP], bytes[SL_HUMAN_CAP];
    const sl_box *box = &chart->bytes.box;
    double y = floor(sl_byte_axis_y(&chart->bytes, (double)line.bytes)) + 0.5;
    if ((double)line.bytes > chart->bytes.max_bytes)
        return;
    sl_canvas_segment(chart->plot->canvas, (sl_point){box->x, y}, (sl_point){box->x + box->w, y},
                      (sl_stroke){sl_solid(line.rgb), 1.2, 5});
    sl_text_style style = sl_plot_small(chart->plot);
    style.paint = sl_solid(line.rgb);
    snprintf(text, sizeof text, "%s: %s", line.name, sl_human_bytes(bytes, line.bytes));
    sl_plot_note(chart->plot, (sl_point){box->x + 8, y - line.above}, text, style);
}

/* The floor's label is below its line and the limit's above, so that they do not collide when
 * the two are close. */
static void draw_levels(whatif_chart *chart) {
    const sl_whatif *answer = chart->answer;
    draw_level(chart, (level){answer->floor_bytes, chart->plot->theme->muted,
                              "in use at once, no setting can reserve less", -14});
    if (answer->limit_bytes != SL_ALLOC_NO_LIMIT)
        draw_level(chart,
                   (level){answer->limit_bytes, chart->plot->theme->alarm,
                           answer->limit_is_given ? "limit" : "limit that the trace met", 9});
}

/* ---- legend ---- */

/* A name of several settings takes two lines if it does not fit into one. */
static void name_settings(sl_legend_row *to, const char *words) {
    const char *comma = strlen(words) > NAME_COLUMNS ? strchr(words, ',') : NULL;
    if (!comma) {
        snprintf(to->name, sizeof to->name, "%.90s", words);
        return;
    }
    snprintf(to->name, sizeof to->name, "%.*s", (int)(comma + 1 - words), words);
    snprintf(to->detail, sizeof to->detail, "%.90s", comma + 1);
}

static void add_detail(sl_legend_row *to, const char *text) {
    size_t used = strlen(to->detail);
    snprintf(to->detail + used, sizeof to->detail - used, "%s%s", used ? "; " : "", text);
}

static void name_curve(const whatif_chart *chart, size_t idx, sl_legend_row *to) {
    const sl_whatif_curve *curve = &chart->curves->list.at[idx];
    const sl_whatif_row *row = &chart->answer->rows.at[curve->row];
    char words[SL_WORDS_CAP], human[SL_HUMAN_CAP], also[48];
    *to = (sl_legend_row){.rgb = curve_color(chart, idx), .is_line = true, .dash = curve_dash(idx)};
    sl_whatif_say_settings(words, row);
    name_settings(to, words);
    snprintf(to->value, sizeof to->value, "%s",
             row->pass.has_failed ? "fails" : sl_human_bytes(human, row->pass.stats.reserved_peak));
    if (is_best(chart, curve))
        add_detail(to, "the best one");
    snprintf(also, sizeof also, "the same with %zu other setting%s", curve->also_cnt,
             curve->also_cnt == 1 ? "" : "s");
    if (curve->also_cnt)
        add_detail(to, also);
}

static sl_status draw_legend(const whatif_chart *chart, sl_box box, sl_error *err) {
    sl_plot *plot = chart->plot;
    sl_legend_row *rows = calloc(chart->curves->list.cnt + 1, sizeof *rows);
    if (!rows)
        return sl_fail_no_memory(err, "the legend");
    for (size_t i = 0; i < chart->curves->list.cnt; i++)
        name_curve(chart, i, &rows[i]);
    sl_text_style head = sl_plot_small(plot);
    head.align = SL_ALIGN_RIGHT;
    sl_canvas_text(plot->canvas, (sl_point){box.x + box.w, box.y + 6}, "reserved peak", head);
    sl_plot_legend(plot, (sl_box){box.x, box.y + 16, box.w, box.h - 16}, rows, chart->curve_cnt);
    free(rows);
    return SL_OK;
}

/* ---- all of it ---- */

static double highest(const whatif_chart *chart) {
    const sl_whatif *answer = chart->answer;
    double recorded = (double)chart->curves->list.at[0].peak_bytes, max = recorded;
    for (size_t i = 1; i < chart->curve_cnt; i++)
        max = fmax(max, (double)chart->curves->list.at[i].peak_bytes);
    max = fmin(max, TALLEST * recorded);
    max = fmax(max, (double)answer->floor_bytes);
    if (answer->limit_bytes != SL_ALLOC_NO_LIMIT && (double)answer->limit_bytes < TALLEST * max)
        max = fmax(max, (double)answer->limit_bytes);
    return max;
}

static sl_status draw_chart(whatif_chart *chart, sl_error *err) {
    sl_plot *plot = chart->plot;
    char title[SL_WORDS_CAP], subtitle[SL_WORDS_CAP], same[SL_HUMAN_CAP], all[SL_HUMAN_CAP];
    const sl_pass *proof = &chart->answer->proof.pass;
    sl_whatif_say_best(title, chart->answer);
    sl_plot_describe(subtitle, plot, &plot->inputs[0]);
    sl_words_append(
        subtitle,
        "; reserved bytes over the events; replayed as recorded, %s of %s addresses are the same",
        sl_human_count(same, proof->same_cnt), sl_human_count(all, proof->placed_cnt));
    sl_box box = sl_plot_begin_as(plot, title, subtitle), legend = box;
    bool has_legend = box.w > 2 * LEGEND_WIDTH;
    double right = has_legend ? LEGEND_WIDTH + LEGEND_GAP : 8;
    box = (sl_box){box.x + LABELS_LEFT, box.y, floor(box.w - LABELS_LEFT - right),
                   box.h - AXIS_BELOW};
    legend.x = box.x + box.w + LEGEND_GAP, legend.w = LEGEND_WIDTH;
    chart->bytes = sl_byte_axis_make(box, highest(chart) * HEADROOM);
    /* The axis counts events, not time: settings differ while the allocator is busy, and most of
     * the time it is idle. */
    chart->time = sl_time_axis_plain(box, plot->inputs[0].replay->event_cnt, false);
    sl_byte_axis_draw(plot, &chart->bytes);
    draw_curves(chart);
    sl_time_axis_draw(plot, &chart->time);
    draw_levels(chart);
    return has_legend ? draw_legend(chart, legend, err) : SL_OK;
}

static sl_status make_curves(whatif_chart *chart, sl_error *err) {
    SL_TRY(sl_whatif_curves_new(chart->answer, BINS_MAX, &chart->curves, err));
    chart->points = calloc(2 * (size_t)chart->curves->bin_cnt + 2, sizeof *chart->points);
    size_t wanted = chart->plot->options->top;
    size_t top = wanted && wanted < CURVES_MAX ? wanted : CURVES_MAX;
    chart->curve_cnt = chart->curves->list.cnt < top ? chart->curves->list.cnt : top;
    return chart->points ? SL_OK : sl_fail_no_memory(err, "the curves");
}

sl_status sl_plot_whatif(sl_plot *plot, sl_error *err) {
    const sl_whatif_fact *fact;
    SL_TRY(sl_whatif_of(plot->inputs[0].device, &fact, err));
    if (fact->state != SL_WHATIF_ANSWERED)
        return sl_fail(err, SL_E_FORMAT, "'%s' has no answer to draw: %s",
                       plot->inputs[0].trace->path, fact->why);
    whatif_chart chart = {.plot = plot, .answer = fact->answer};
    sl_status status = make_curves(&chart, err);
    if (status == SL_OK)
        status = draw_chart(&chart, err);
    sl_whatif_curves_free(chart.curves);
    free(chart.points);
    return status;
}
