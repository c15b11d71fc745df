/* SPDX-License-Identifier: MIT */
/* Small charts as SVG or PNG: panels with lines, points, bars or a table of coloured cells. For
 * data that a program already has in memory; recordings and their timelines have pictures of
 * their own.
 *
 * A chart is built panel by panel; every call works on the newest panel. It copies what it is
 * given. One thread at a time. */
#ifndef SL_CHART_H
#define SL_CHART_H

#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/status.h"
#include "base/core/vec.h"

typedef enum sl_chart_kind {
    SL_CHART_LINES,
    SL_CHART_POINTS,
    SL_CHART_BARS,  /* one bar per label; the first series is the heights */
    SL_CHART_CELLS, /* one row per label, one series per column; colours by column */
    SL_CHART_KIND_CNT
} sl_chart_kind;

typedef struct sl_chart_series {
    const char *name;    /* in the arena */
    const double *x, *y; /* in the arena; x is NULL where it has no meaning */
    size_t cnt;
} sl_chart_series;

/* A vertical line with a text, or a marked point. */
typedef struct sl_chart_note {
    double x, y;
    bool is_point;
    const char *text; /* in the arena */
} sl_chart_note;

typedef struct sl_chart_panel {
    sl_chart_kind kind;
    const char *title, *x_label, *y_label; /* in the arena */
    SL_VEC(sl_chart_series) series;
    SL_VEC(const char *) labels;
    SL_VEC(sl_chart_note) notes;
} sl_chart_panel;

typedef struct sl_chart {
    sl_arena arena;
    const char *title; /* in the arena */
    int width, height; /* pixels */
    int columns;       /* panels side by side */
    SL_VEC(sl_chart_panel) panels;
} sl_chart;

typedef enum sl_chart_form {
    SL_CHART_SVG,
    SL_CHART_PAGE, /* the SVG inside an HTML page that needs no other file */
    SL_CHART_PNG,
    SL_CHART_FORM_CNT
} sl_chart_form;

/* By the file name's suffix: .svg, .html, .htm, .png; false for any other. */
bool sl_chart_form_find(const char *path, sl_chart_form *form);

/* "lines", "points", "bars", "cells"; false for any other name. */
bool sl_chart_kind_find(const char *name, sl_chart_kind *kind);

/* NULL when memory ran out. */
sl_chart *sl_chart_new(const char *title, int width, int height, int columns);
void sl_chart_free(sl_chart *chart); /* NULL is fine */

/* Each of these may return SL_E_NOMEM, and SL_E_USAGE when no panel was begun. */
sl_status sl_chart_panel_begin(sl_chart *chart, sl_chart_kind kind, const char *title,
                               sl_error *err);
sl_status sl_chart_set_axes(sl_chart *chart, const char *x_label, const char *y_label,
                            sl_error *err);
/* x may be NULL. */
sl_status sl_chart_add_series(sl_chart *chart, const char *name, const double *x, const double *y,
                              size_t cnt, sl_error *err);
sl_status sl_chart_add_label(sl_chart *chart, const char *text, sl_error *err);
sl_status sl_chart_add_note(sl_chart *chart, const sl_chart_note *note, sl_error *err);

/* Writes the whole picture. SL_E_WRITE; SL_E_UNSUPPORTED for PNG in a build without cairo. */
sl_status sl_chart_write(const sl_chart *chart, sl_chart_form form, FILE *to, sl_error *err);

#endif
