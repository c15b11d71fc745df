/* SPDX-License-Identifier: MIT */
#include "plot/canvas/chart.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool sl_chart_kind_find(const char *name, sl_chart_kind *kind) {
    static const char *const names[SL_CHART_KIND_CNT] = {"lines", "points", "bars", "cells"};
    for (sl_chart_kind i = 0; i < SL_CHART_KIND_CNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = i;
            return true;
        }
    return false;
}

bool sl_chart_form_find(const char *path, sl_chart_form *form) {
    static const struct {
        const char *suffix;
        sl_chart_form form;
    } rows[] = {{".svg", SL_CHART_SVG},
                {".html", SL_CHART_PAGE},
                {".htm", SL_CHART_PAGE},
                {".png", SL_CHART_PNG}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < SL_COUNT_OF(rows); i++)
        if (strcasecmp(dot, rows[i].suffix) == 0) {
            *form = rows[i].form;
            return true;
        }
    return false;
}

sl_chart *sl_chart_new(const char *title, int width, int height, int columns) {
    sl_chart *chart = calloc(1, sizeof *chart);
    if (!chart)
        return NULL;
    chart->width = width;
    chart->height = height;
    chart->columns = columns > 0 ? columns : 1;
    chart->title = sl_arena_copy(&chart->arena, title, strlen(title));
    if (chart->title)
        return chart;
    sl_chart_free(chart);
    return NULL;
}

void sl_chart_free(sl_chart *chart) {
    if (!chart)
        return;
    for (size_t i = 0; i < chart->panels.cnt; i++) {
        sl_vec_free(&chart->panels.at[i].series);
        sl_vec_free(&chart->panels.at[i].labels);
        sl_vec_free(&chart->panels.at[i].notes);
    }
    sl_vec_free(&chart->panels);
    sl_arena_fini(&chart->arena);
    free(chart);
}

/* A copy in the arena; NULL only when memory ran out. */
static const char *keep(sl_chart *chart, const char *text) {
    return sl_arena_copy(&chart->arena, text, strlen(text));
}

sl_status sl_chart_panel_begin(sl_chart *chart, sl_chart_kind kind, const char *title,
                               sl_error *err) {
    sl_chart_panel panel = {
        .kind = kind, .title = keep(chart, title), .x_label = "", .y_label = ""};
    return panel.title && sl_vec_push(&chart->panels, panel) ? SL_OK
                                                             : sl_fail_no_memory(err, "a chart");
}

/* NULL before the first panel. */
static sl_chart_panel *newest(sl_chart *chart) {
    return chart->panels.cnt ? &chart->panels.at[chart->panels.cnt - 1] : NULL;
}

static sl_status no_panel(sl_error *err) {
    return sl_fail(err, SL_E_USAGE, "a chart needs a panel before it takes data");
}

sl_status sl_chart_set_axes(sl_chart *chart, const char *x_label, const char *y_label,
                            sl_error *err) {
    sl_chart_panel *panel = newest(chart);
    if (!panel)
        return no_panel(err);
    panel->x_label = keep(chart, x_label);
    panel->y_label = keep(chart, y_label);
    return panel->x_label && panel->y_label ? SL_OK : sl_fail_no_memory(err, "a chart");
}

static double *keep_numbers(sl_chart *chart, const double *values, size_t cnt) {
    double *copy = sl_arena_alloc(&chart->arena, (cnt ? cnt : 1) * sizeof *copy);
    if (copy && cnt)
        memcpy(copy, values, cnt * sizeof *copy);
    return copy;
}

sl_status sl_chart_add_series(sl_chart *chart, const char *name, const double *x, const double *y,
                              size_t cnt, sl_error *err) {
    sl_chart_panel *panel = newest(chart);
    if (!panel)
        return no_panel(err);
    sl_chart_series series = {.name = keep(chart, name), .cnt = cnt};
    series.y = keep_numbers(chart, y, cnt);
    series.x = x ? keep_numbers(chart, x, cnt) : NULL;
    if (!series.name || !series.y || (x && !series.x))
        return sl_fail_no_memory(err, "a chart");
    return sl_vec_push(&panel->series, series) ? SL_OK : sl_fail_no_memory(err, "a chart");
}

sl_status sl_chart_add_label(sl_chart *chart, const char *text, sl_error *err) {
    sl_chart_panel *panel = newest(chart);
    if (!panel)
        return no_panel(err);
    const char *copy = keep(chart, text);
    return copy && sl_vec_push(&panel->labels, copy) ? SL_OK : sl_fail_no_memory(err, "a chart");
}

sl_status sl_chart_add_note(sl_chart *chart, const sl_chart_note *note, sl_error *err) {
    sl_chart_panel *panel = newest(chart);
    if (!panel)
        return no_panel(err);
    sl_chart_note copy = *note;
    copy.text = keep(chart, note->text);
    return copy.text && sl_vec_push(&panel->notes, copy) ? SL_OK
                                                         : sl_fail_no_memory(err, "a chart");
}
