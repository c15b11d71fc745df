/* SPDX-License-Identifier: MIT */
/* The whole card over time, from readings of its counters: what the allocator handed out, what it
 * keeps, what others hold, and what is free. Without the card's own figures the same layers show
 * what the allocator knows. */
#include <math.h>
#include <stdlib.h>

#include "base/human.h"
#include "export/plot_samples.h"

#define LABELS_LEFT  64.0
#define AXIS_BELOW   28.0
#define LEGEND_WIDTH 270.0
#define LEGEND_GAP   24.0
#define HEADROOM     1.06

/* From the bottom up; the first ones of them are drawn. */
enum { LAYER_ALLOCATED, LAYER_CACHE, LAYER_OTHER, LAYER_FREE, LAYER_CNT };

static const char *const layer_names[] = {"allocated", "allocator's cache", "outside the allocator",
                                          "free"};

typedef struct ledger {
    sl_plot *plot;
    sl_samples samples; /* owned */
    sl_sample *columns; /* owned */
    size_t column_cnt;
    sl_point *points; /* owned */
    size_t layer_cnt;
    sl_time_axis time;
    sl_byte_axis bytes;
} ledger;

/* Where a layer ends, counted from the bottom. */
static double layer_top(const sl_sample *sample, size_t layer) {
    const uint64_t tops[] = {sample->allocated, sample->reserved, sample->used,
                             sample->total.known && sample->total.value > sample->used
                                 ? sample->total.value
                                 : sample->used};
    return (double)tops[layer];
}

static sl_paint layer_paint(const ledger *book, size_t layer) {
    const sl_plot_theme_colors *theme = book->plot->theme;
    const sl_paint paints[] = {{theme->series[0], 0.9},
                               {theme->series[7], 0.6},
                               {theme->series[1], 0.9},
                               {theme->other, 0.25}};
    return paints[layer];
}

static void draw_layer(ledger *book, size_t layer) {
    size_t cnt = book->column_cnt;
    for (size_t i = 0; i < cnt; i++) {
        const sl_sample *column = &book->columns[i];
        double x = book->time.box.x + (double)i + 0.5;
        double bottom = layer ? layer_top(column, layer - 1) : 0;
        book->points[i] = (sl_point){x, sl_byte_axis_y(&book->bytes, layer_top(column, layer))};
        book->points[2 * cnt - 1 - i] = (sl_point){x, sl_byte_axis_y(&book->bytes, bottom)};
    }
    sl_canvas_area(book->plot->canvas, book->points, 2 * cnt, layer_paint(book, layer));
}

static const sl_sample *fullest(const ledger *book) {
    const sl_sample *best = &book->samples.at[0];
    for (size_t i = 1; i < book->samples.cnt; i++)
        if (layer_top(&book->samples.at[i], book->layer_cnt > 2 ? LAYER_OTHER : LAYER_ALLOCATED) >
            layer_top(best, book->layer_cnt > 2 ? LAYER_OTHER : LAYER_ALLOCATED))
            best = &book->samples.at[i];
    return best;
}

static void draw_legend(ledger *book, sl_box box) {
    const sl_sample *full = fullest(book);
    sl_legend_row rows[LAYER_CNT] = {0};
    for (size_t i = 0; i < book->layer_cnt; i++) {
        size_t layer = book->layer_cnt - 1 - i; /* as they lie on each other */
        double bottom = layer ? layer_top(full, layer - 1) : 0;
        char human[SL_HUMAN_CAP];
        rows[i].rgb = layer_paint(book, layer).rgb;
        snprintf(rows[i].name, sizeof rows[i].name, "%s", layer_names[layer]);
        snprintf(rows[i].value, sizeof rows[i].value, "%s",
                 sl_human_bytes(human, (uint64_t)(layer_top(full, layer) - bottom)));
    }
    sl_text_style head = sl_plot_small(book->plot);
    head.align = SL_ALIGN_RIGHT;
    sl_canvas_text(book->plot->canvas, (sl_point){box.x + box.w, box.y + 6}, "when fullest", head);
    sl_plot_legend(book->plot, (sl_box){box.x, box.y + 16, box.w, box.h - 16}, rows,
                   book->layer_cnt);
}

static double highest(const ledger *book) {
    double max = 1;
    for (size_t i = 0; i < book->samples.cnt; i++)
        max = fmax(max, layer_top(&book->samples.at[i], book->layer_cnt - 1));
    return max;
}

static sl_status draw_book(ledger *book, sl_error *err) {
    const sl_plot_input *input = &book->plot->inputs[0];
    char subtitle[SL_WORDS_CAP], device[SL_WORDS_CAP], count[SL_HUMAN_CAP];
    sl_words_device(device, input->replay->device->device);
    snprintf(subtitle, sizeof subtitle,
             "%.200s, %.60s, %s samples: between two of them nothing is known",
             sl_plot_basename(input->trace->path), device,
             sl_human_count(count, book->samples.cnt));
    sl_box box = sl_plot_begin(book->plot, subtitle), legend = box;
    bool has_legend = box.w > 2 * LEGEND_WIDTH;
    double right = has_legend ? LEGEND_WIDTH + LEGEND_GAP : 8;
    box = (sl_box){box.x + LABELS_LEFT, box.y, floor(box.w - LABELS_LEFT - right),
                   box.h - AXIS_BELOW};
    legend.x = box.x + box.w + LEGEND_GAP, legend.w = LEGEND_WIDTH;
    book->bytes = sl_byte_axis_make(box, highest(book) * HEADROOM);
    book->time = sl_time_axis_plain(box, sl_samples_span(&book->samples), true);
    book->column_cnt = box.w > 1 ? (size_t)box.w : 1;
    book->columns = calloc(book->column_cnt, sizeof *book->columns);
    book->points = calloc(2 * book->column_cnt, sizeof *book->points);
    if (!book->columns || !book->points)
        return sl_fail(err, SL_E_NOMEM, "out of memory for the columns of the picture");
    sl_samples_bin(&book->samples, book->time.span_us, book->columns, book->column_cnt);
    sl_byte_axis_draw(book->plot, &book->bytes);
    for (size_t i = 0; i < book->layer_cnt; i++)
        draw_layer(book, i);
    sl_time_axis_draw(book->plot, &book->time);
    if (has_legend)
        draw_legend(book, legend);
    return SL_OK;
}

static bool has_totals(const sl_samples *samples) {
    for (size_t i = 0; i < samples->cnt; i++)
        if (samples->at[i].total.known)
            return true;
    return false;
}

static sl_status draw_layers(sl_plot *plot, size_t layer_cnt, sl_error *err) {
    ledger book = {.plot = plot, .layer_cnt = layer_cnt};
    const char *path = plot->inputs[0].trace->path;
    sl_status status = SL_OK;
    if (!sl_samples_collect(&book.samples, &plot->inputs[0]))
        status = sl_fail(err, SL_E_NOMEM, "out of memory for the samples");
    else if (book.samples.cnt == 0 || (layer_cnt == LAYER_CNT && !has_totals(&book.samples)))
        status = sl_fail(err, SL_E_FORMAT,
                         "'%s' holds no readings of the device's own counters (used, total), and a "
                         "ledger is made of them; --kind timeline shows what the allocator knows",
                         path);
    else
        status = draw_book(&book, err);
    sl_vec_free(&book.samples);
    free(book.columns);
    free(book.points);
    return status;
}

sl_status sl_plot_ledger(sl_plot *plot, sl_error *err) {
    return draw_layers(plot, LAYER_CNT, err);
}

sl_status sl_plot_sampled_timeline(sl_plot *plot, sl_error *err) {
    return draw_layers(plot, LAYER_OTHER, err);
}
