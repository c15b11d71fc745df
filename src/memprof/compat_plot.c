/* SPDX-License-Identifier: MIT */
#include "memprof/compat_plot.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/files/file_atomic.h"
#include "export/bundle/bundle_folder.h"
#include "plot/canvas/chart.h"

#define WIDTH  1200
#define HEIGHT 800
#define GIB    1073741824.0

/* The x and y values of one line, with room for all points. */
typedef struct columns {
    double *x, *y;
    size_t cnt;
} columns;

static bool columns_init(columns *c, size_t cap) {
    *c = (columns){malloc((cap + 1) * sizeof(double)), malloc((cap + 1) * sizeof(double)), 0};
    return c->x && c->y;
}

static void columns_fini(columns *c) {
    free(c->x);
    free(c->y);
}

static void columns_add(columns *c, double x, double y) {
    c->x[c->cnt] = x;
    c->y[c->cnt++] = y;
}

/* A chart with one panel; NULL when memory ran out. */
static sl_chart *begin(const char *title, const char *panel, const char *x_label,
                       const char *y_label) {
    sl_chart *chart = sl_chart_new(title, WIDTH, HEIGHT, 1);
    if (chart && sl_chart_panel_begin(chart, SL_CHART_LINES, panel, NULL) == SL_OK &&
        sl_chart_set_axes(chart, x_label, y_label, NULL) == SL_OK)
        return chart;
    sl_chart_free(chart);
    return NULL;
}

static sl_status save(const sl_chart *chart, const char *path, sl_error *err) {
    sl_file_out out;
    SL_TRY(sl_make_parents(path, err));
    SL_TRY(sl_file_out_open(&out, path, err));
    sl_status status = sl_chart_write(chart, SL_CHART_PNG, out.stream, err);
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

static sl_status save_in(const sl_chart *chart, const char *folder, const char *name,
                         sl_error *err) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return sl_fail_no_memory(err, "a path");
    sl_status status = save(chart, path, err);
    free(path);
    return status;
}

/* ---- ranks ---- */

static sl_status add_rank(sl_chart *chart, const sl_ranks *ranks, int rank, sl_error *err) {
    columns line;
    char name[32];
    bool has_room = columns_init(&line, ranks->points.cnt);
    for (size_t i = 0; has_room && i < ranks->points.cnt; i++) {
        const sl_rank_point *p = &ranks->points.at[i];
        if (p->rank == rank)
            columns_add(&line, (double)(p->aligned_ns - ranks->points.at[0].aligned_ns) / 1e9,
                        (double)p->used_bytes / GIB);
    }
    snprintf(name, sizeof name, "rank %d", rank);
    sl_status status = has_room ? sl_chart_add_series(chart, name, line.x, line.y, line.cnt, err)
                                : sl_fail_no_memory(err, "the picture");
    columns_fini(&line);
    return status;
}

static sl_status mark_cause(sl_chart *chart, const sl_ranks *ranks, sl_error *err) {
    int64_t start = ranks->points.at[0].aligned_ns;
    if (ranks->has_onset) {
        sl_chart_note onset = {.x = (double)(ranks->onset_ns - start) / 1e9,
                               .text = "Cluster onset"};
        SL_TRY(sl_chart_add_note(chart, &onset, err));
    }
    if (!ranks->suspects.cnt)
        return SL_OK;
    const sl_rank_suspect *top = &ranks->suspects.at[0];
    char name[32];
    snprintf(name, sizeof name, "rank %d", top->rank);
    for (size_t i = 0; i < ranks->points.cnt; i++) {
        const sl_rank_point *p = &ranks->points.at[i];
        if (p->rank != top->rank || p->aligned_ns != top->aligned_first_spike_ns)
            continue;
        sl_chart_note note = {(double)(p->aligned_ns - start) / 1e9, (double)p->used_bytes / GIB,
                              true, name};
        return sl_chart_add_note(chart, &note, err);
    }
    return SL_OK;
}

sl_status sl_compat_plot_ranks(const sl_ranks *ranks, const char *folder, sl_error *err) {
    if (!ranks->points.cnt)
        return sl_fail(err, SL_E_FORMAT, "there are no sample events");
    sl_chart *chart = begin("Device memory by rank", "Device used", "aligned seconds", "GB");
    sl_status status = chart ? SL_OK : sl_fail_no_memory(err, "the picture");
    for (size_t i = 0; i < ranks->rows.cnt && status == SL_OK; i++)
        status = add_rank(chart, ranks, ranks->rows.at[i].rank, err);
    if (status == SL_OK)
        status = mark_cause(chart, ranks, err);
    if (status == SL_OK)
        status = save_in(chart, folder, "cross_rank_timeline.png", err);
    sl_chart_free(chart);
    return status;
}

/* ---- one process ---- */

static sl_status add_records(sl_chart *chart, const sl_telemetry *set, bool is_reserved,
                             sl_error *err) {
    columns line;
    size_t cnt = set->records.cnt;
    bool has_room = columns_init(&line, cnt);
    for (size_t i = 0; has_room && i < cnt; i++) {
        const sl_tm_record *r = &set->records.at[i];
        columns_add(&line, (double)(r->timestamp_ns - set->records.at[0].timestamp_ns) / 1e9,
                    (double)(is_reserved ? r->reserved_bytes : r->allocated_bytes) / GIB);
    }
    sl_status status = has_room ? sl_chart_add_series(chart, is_reserved ? "Reserved" : "Allocated",
                                                      line.x, line.y, line.cnt, err)
                                : sl_fail_no_memory(err, "the picture");
    columns_fini(&line);
    return status;
}

sl_status sl_compat_plot_records(const sl_telemetry *set, const char *folder, sl_error *err) {
    sl_chart *chart = begin("Memory", "Allocated and reserved", "seconds", "GB");
    sl_status status = chart ? SL_OK : sl_fail_no_memory(err, "the picture");
    for (int is_reserved = 0; is_reserved < 2 && status == SL_OK; is_reserved++)
        status = add_records(chart, set, is_reserved, err);
    if (status == SL_OK)
        status = save_in(chart, folder, "memory_timeline.png", err);
    sl_chart_free(chart);
    return status;
}

sl_status sl_compat_plot_usage(const double *seconds, const double *mb, size_t cnt,
                               const char *path, sl_error *err) {
    columns line;
    sl_chart *chart = begin("Memory", "Memory usage", "seconds", "MB");
    bool has_room = columns_init(&line, cnt) && chart;
    for (size_t i = 0; has_room && i < cnt; i++)
        columns_add(&line, seconds[i] - seconds[0], mb[i]);
    sl_status status = has_room
                           ? sl_chart_add_series(chart, "Memory", line.x, line.y, line.cnt, err)
                           : sl_fail_no_memory(err, "the picture");
    if (status == SL_OK)
        status = save(chart, path, err);
    columns_fini(&line);
    sl_chart_free(chart);
    return status;
}
