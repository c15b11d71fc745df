/* SPDX-License-Identifier: MIT */
/* The whole card over time, as stacked layers. A recording has the rows of its ledger. Samples
 * of a collector have what the allocator handed out, what it keeps and what others hold; if the
 * card's own figures are missing, only what the allocator knows. A column shows its moment with
 * the most memory in use; a column without a reading repeats the last one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"
#include "plot/plot_samples.h"
#include "run/ledger.h"

#define LABELS_LEFT   64.0
#define AXIS_BELOW    28.0
#define LEGEND_WIDTH  270.0
#define LEGEND_GAP    24.0
#define HEADROOM      1.06
#define LAYERS_MAX    40u
/* The card's size is drawn only if more than a third of it was in use at some moment: a much
 * higher axis would flatten the layers. */
#define CARD_IN_SIGHT 3.0

typedef struct layer {
    char name[SL_LEDGER_LABEL_CAP];
    sl_paint paint;
} layer;

typedef struct ledger {
    sl_plot *plot;
    sl_samples samples;        /* owned; of a collector */
    const sl_ledger *recorded; /* borrowed; of a recording */
    layer *layers;             /* owned; LAYERS_MAX of them */
    size_t layer_cnt;
    size_t row_cnt;  /* layers that are rows of the recorded ledger */
    size_t *columns; /* owned; the moment that each column shows */
    bool *is_read;   /* owned; whether that moment is inside the column */
    size_t column_cnt;
    sl_point *points; /* owned */
    double *bottoms;  /* owned; lower edge of the next layer, by column */
    sl_maybe_u64 limit_bytes;
    sl_time_axis time;
    sl_byte_axis bytes;
} ledger;

/* ---- moments ---- */

static uint64_t above(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

static size_t moment_cnt(const ledger *book) {
    return book->recorded ? book->recorded->moment_cnt : book->samples.cnt;
}

static int64_t time_at(const ledger *book, size_t i) {
    return book->recorded ? book->recorded->moments[i].from_us : book->samples.at[i].time_us;
}

static int64_t end_time(const ledger *book) {
    size_t last = moment_cnt(book) - 1;
    return book->recorded ? book->recorded->moments[last].to_us : time_at(book, last);
}

/* Bytes in use; decides which moment a column shows. */
static uint64_t used_at(const ledger *book, size_t i) {
    if (book->recorded)
        return book->recorded->moments[i].used_max;
    const sl_sample *s = &book->samples.at[i];
    return book->layer_cnt > 2 ? s->used : s->allocated;
}

/* Layer 0 to 3: allocated, cache, others, free. */
static uint64_t sampled_bytes(const sl_sample *s, size_t idx) {
    const uint64_t tops[] = {0, s->allocated, s->reserved, s->used,
                             s->total.known ? s->total.value : s->used};
    return above(tops[idx + 1], tops[idx]);
}

/* The bytes of a layer, counted from the bottom up; an unmeasured layer has no height. */
static sl_maybe_u64 bytes_at(const ledger *book, size_t i, size_t idx) {
    if (!book->recorded)
        return sl_known_u64(sampled_bytes(&book->samples.at[i], idx));
    if (idx < book->row_cnt)
        return sl_ledger_bytes(book->recorded, i)[idx];
    const sl_ledger_moment *at = &book->recorded->moments[i];
    return (sl_maybe_u64){above(at->card_total.value, at->card_used.value),
                          at->card_total.known && at->card_used.known};
}

static double height_at(const ledger *book, size_t i, size_t idx) {
    sl_maybe_u64 bytes = bytes_at(book, i, idx);
    return bytes.known ? (double)bytes.value : 0;
}

static void choose_columns(ledger *book) {
    double span = book->time.span_us > 0 ? book->time.span_us : 1;
    size_t current = 0, cnt = book->column_cnt;
    book->columns[0] = 0;
    book->is_read[0] = book->is_read[cnt - 1] = true;
    for (size_t i = 1; i < moment_cnt(book); i++) {
        double share = (double)(time_at(book, i) - time_at(book, 0)) / span;
        size_t column = share < 1 ? (size_t)(share * (double)cnt) : cnt - 1;
        for (; current < column; current++)
            book->columns[current + 1] = current + 1 == column ? i : i - 1;
        book->is_read[current] = true;
        if (used_at(book, i) > used_at(book, book->columns[current]))
            book->columns[current] = i;
    }
    for (; current + 1 < cnt; current++)
        book->columns[current + 1] = moment_cnt(book) - 1;
}

/* ---- layers ---- */

static void add_layer(ledger *book, const char *name, sl_paint paint) {
    layer *to = &book->layers[book->layer_cnt++];
    snprintf(to->name, sizeof to->name, "%.*s", (int)sizeof to->name - 1, name);
    to->paint = paint;
}

/* A tag has the same colour in every picture; no tag has the colour of "everything else". */
static sl_paint tensor_paint(const sl_plot_theme_colors *theme, const sl_ledger_row *row) {
    static const uint8_t by_tag[SL_TAG_LIMIT] = {
        [SL_TAG_PARAMETER] = 0, [SL_TAG_GRADIENT] = 3,   [SL_TAG_OPTIMIZER_STATE] = 4,
        [SL_TAG_INPUT] = 8,     [SL_TAG_ACTIVATION] = 6, [SL_TAG_OTHER] = 7};
    if (row->has_tag && row->tag == SL_TAG_UNKNOWN)
        return (sl_paint){theme->muted, 0.9};
    return (sl_paint){theme->series[by_tag[row->tag]], 0.9};
}

/* Each library has its own colour; every other row has one colour in all pictures. */
static sl_paint row_paint(const ledger *book, size_t row) {
    const sl_plot_theme_colors *theme = book->plot->theme;
    static const uint8_t libraries[] = {1, 2, 8, 4, 3, 6};
    const sl_ledger_rows *rows = &book->recorded->rows;
    size_t first = row;
    while (first > 0 && rows->at[first - 1].kind == rows->at[row].kind)
        first--;
    switch (rows->at[row].kind) {
    case SL_LEDGER_TENSORS: return tensor_paint(theme, &rows->at[row]);
    case SL_LEDGER_CACHE: return (sl_paint){theme->series[7], 0.6};
    case SL_LEDGER_LIBRARY:
        return (sl_paint){theme->series[libraries[(row - first) % SL_COUNT_OF(libraries)]], 0.9};
    case SL_LEDGER_CONTEXT: return (sl_paint){theme->series[9], 0.75};
    case SL_LEDGER_OTHERS: return (sl_paint){theme->series[5], 0.9};
    case SL_LEDGER_DRIVER: return (sl_paint){theme->other, 0.8};
    default: return (sl_paint){theme->text, 0.7};
    }
}

static bool is_card_in_sight(const sl_ledger *recorded) {
    const sl_ledger_moment *full = &recorded->moments[sl_ledger_fullest(recorded)];
    return full->card_total.known &&
           (double)sl_ledger_most_used(recorded) * CARD_IN_SIGHT > (double)full->card_total.value;
}

static void add_recorded_layers(ledger *book) {
    char label[SL_LEDGER_LABEL_CAP];
    const sl_ledger *recorded = book->recorded;
    for (size_t i = 0; i < recorded->rows.cnt && i + 1 < LAYERS_MAX; i++)
        add_layer(book, sl_ledger_label(label, &recorded->rows.at[i]), row_paint(book, i));
    book->row_cnt = book->layer_cnt;
    if (!is_card_in_sight(recorded))
        return;
    book->limit_bytes = recorded->moments[sl_ledger_fullest(recorded)].card_total;
    add_layer(book, "free", (sl_paint){book->plot->theme->other, 0.25});
}

static void add_sampled_layers(ledger *book, size_t cnt) {
    const sl_plot_theme_colors *theme = book->plot->theme;
    const layer layers[] = {{"allocated", {theme->series[0], 0.9}},
                            {"allocator's cache", {theme->series[7], 0.6}},
                            {"outside the allocator", {theme->series[1], 0.9}},
                            {"free", {theme->other, 0.25}}};
    for (size_t i = 0; i < cnt; i++)
        add_layer(book, layers[i].name, layers[i].paint);
}

/* A reading of the card is valid until the next one, so its edge is a step. Between two samples
 * nothing is known, so the edge is a straight line: columns without a sample are skipped. */
static void draw_layer(ledger *book, size_t idx) {
    size_t cnt = 0, end = 2 * book->column_cnt, lower = end;
    for (size_t i = 0; i < book->column_cnt; i++) {
        double x = book->time.box.x + (double)i + 0.5, bottom = book->bottoms[i];
        book->bottoms[i] += height_at(book, book->columns[i], idx);
        if (!book->recorded && !book->is_read[i])
            continue;
        book->points[cnt++] = (sl_point){x, sl_byte_axis_y(&book->bytes, book->bottoms[i])};
        book->points[--lower] = (sl_point){x, sl_byte_axis_y(&book->bytes, bottom)};
    }
    memmove(&book->points[cnt], &book->points[lower], (end - lower) * sizeof *book->points);
    sl_canvas_area(book->plot->canvas, book->points, 2 * cnt, book->layers[idx].paint);
}

static void draw_limit(ledger *book) {
    const sl_box *box = &book->time.box;
    char text[64], human[SL_HUMAN_CAP];
    if (!book->limit_bytes.known)
        return;
    double y = floor(sl_byte_axis_y(&book->bytes, (double)book->limit_bytes.value)) + 0.5;
    snprintf(text, sizeof text, "the card: %s", sl_human_bytes(human, book->limit_bytes.value));
    sl_canvas_segment(book->plot->canvas, (sl_point){box->x, y}, (sl_point){box->x + box->w, y},
                      (sl_stroke){sl_solid(book->plot->theme->warning), 1.2, 4});
    sl_text_style style = sl_plot_small(book->plot);
    style.paint = sl_solid(book->plot->theme->warning);
    sl_plot_note(book->plot, (sl_point){box->x + 8, y - 4}, text, style);
}

/* ---- legend ---- */

static size_t fullest(const ledger *book) {
    size_t best = 0;
    for (size_t i = 1; i < moment_cnt(book); i++)
        best = used_at(book, i) > used_at(book, best) ? i : best;
    return best;
}

/* Unknown when no moment has a value. */
static sl_maybe_u64 highest_of_layer(const ledger *book, size_t idx) {
    sl_maybe_u64 high = {0};
    for (size_t i = 0; i < moment_cnt(book); i++) {
        sl_maybe_u64 bytes = bytes_at(book, i, idx);
        high.known |= bytes.known;
        if (bytes.known && bytes.value > high.value)
            high.value = bytes.value;
    }
    return high;
}

/* A layer that is empty at every moment has no row. */
static bool add_legend_row(const ledger *book, size_t idx, sl_legend_row *row) {
    sl_maybe_u64 bytes = bytes_at(book, fullest(book), idx), high = highest_of_layer(book, idx);
    char human[SL_HUMAN_CAP];
    if (high.known && high.value == 0)
        return false;
    row->rgb = book->layers[idx].paint.rgb;
    snprintf(row->name, sizeof row->name, "%s", book->layers[idx].name);
    if (!bytes.known)
        snprintf(row->value, sizeof row->value, "unknown");
    else
        snprintf(row->value, sizeof row->value, "%s%s", bytes.value ? "" : "up to ",
                 sl_human_bytes(human, bytes.value ? bytes.value : high.value));
    return true;
}

static bool draw_legend(ledger *book, sl_box box) {
    size_t cnt = 0;
    sl_legend_row *rows = calloc(LAYERS_MAX, sizeof *rows);
    if (!rows)
        return false;
    for (size_t idx = book->layer_cnt; idx-- > 0;) /* the top layer first, as in the picture */
        cnt += add_legend_row(book, idx, &rows[cnt]);
    sl_text_style head = sl_plot_small(book->plot);
    head.align = SL_ALIGN_RIGHT;
    sl_canvas_text(book->plot->canvas, (sl_point){box.x + box.w, box.y + 6}, "when fullest", head);
    sl_plot_legend(book->plot, (sl_box){box.x, box.y + 16, box.w, box.h - 16}, rows, cnt);
    free(rows);
    return true;
}

/* ---- all of it ---- */

static double highest(const ledger *book) {
    double max = 1;
    for (size_t i = 0; i < moment_cnt(book); i++) {
        double top = 0;
        for (size_t idx = 0; idx < book->layer_cnt; idx++)
            top += height_at(book, i, idx);
        max = fmax(max, top);
    }
    return max;
}

static void describe(const ledger *book, char subtitle[SL_WORDS_CAP]) {
    const sl_plot_input *input = &book->plot->inputs[0];
    char device[SL_WORDS_CAP], count[SL_HUMAN_CAP], used[SL_HUMAN_CAP], total[SL_HUMAN_CAP];
    sl_words_device(device, input->replay->device->device);
    snprintf(subtitle, SL_WORDS_CAP, "%.200s, %.60s, %s %s", sl_plot_basename(input->trace->path),
             device, sl_human_count(count, moment_cnt(book)),
             book->recorded ? "readings" : "samples: memory between two of them is unknown");
    if (!book->recorded)
        return;
    const sl_ledger_moment *full = &book->recorded->moments[sl_ledger_fullest(book->recorded)];
    if (full->card_used.known && full->card_total.known)
        sl_words_append(subtitle, ", at most %s of %s in use",
                        sl_human_bytes(used, sl_ledger_most_used(book->recorded)),
                        sl_human_bytes(total, full->card_total.value));
}

static bool make_columns(ledger *book) {
    book->column_cnt = book->time.box.w > 1 ? (size_t)book->time.box.w : 1;
    book->columns = calloc(book->column_cnt, sizeof *book->columns);
    book->is_read = calloc(book->column_cnt, sizeof *book->is_read);
    book->points = calloc(2 * book->column_cnt, sizeof *book->points);
    book->bottoms = calloc(book->column_cnt, sizeof *book->bottoms);
    return book->columns && book->is_read && book->points && book->bottoms;
}

static sl_status draw_book(ledger *book, sl_error *err) {
    char subtitle[SL_WORDS_CAP];
    describe(book, subtitle);
    sl_box box = sl_plot_begin(book->plot, subtitle), legend = box;
    bool has_legend = box.w > 2 * LEGEND_WIDTH;
    double right = has_legend ? LEGEND_WIDTH + LEGEND_GAP : 8;
    box = (sl_box){box.x + LABELS_LEFT, box.y, floor(box.w - LABELS_LEFT - right),
                   box.h - AXIS_BELOW};
    legend.x = box.x + box.w + LEGEND_GAP, legend.w = LEGEND_WIDTH;
    double span = (double)(end_time(book) - time_at(book, 0));
    book->bytes = sl_byte_axis_make(box, highest(book) * HEADROOM);
    book->time = sl_time_axis_plain(box, span, true);
    if (!make_columns(book))
        return sl_fail_no_memory(err, "the columns of the picture");
    choose_columns(book);
    sl_byte_axis_draw(book->plot, &book->bytes);
    for (size_t i = 0; i < book->layer_cnt; i++)
        draw_layer(book, i);
    sl_time_axis_draw(book->plot, &book->time);
    draw_limit(book);
    if (has_legend && !draw_legend(book, legend))
        return sl_fail_no_memory(err, "the legend of the picture");
    return SL_OK;
}

static bool has_totals(const sl_samples *samples) {
    for (size_t i = 0; i < samples->cnt; i++)
        if (samples->at[i].total.known)
            return true;
    return false;
}

static sl_status draw_samples(ledger *book, bool is_whole_card, sl_error *err) {
    if (!sl_samples_collect(&book->samples, &book->plot->inputs[0]))
        return sl_fail_no_memory(err, "the samples");
    if (book->samples.cnt == 0 || (is_whole_card && !has_totals(&book->samples)))
        return sl_fail(err, SL_E_FORMAT,
                       "'%s' has no readings of the device's counters (used, total), which a "
                       "ledger needs; --kind timeline shows what the allocator recorded",
                       book->plot->inputs[0].trace->path);
    add_sampled_layers(book, is_whole_card ? 4 : 2);
    return draw_book(book, err);
}

static sl_status draw_recording(ledger *book, sl_error *err) {
    const sl_plot_input *input = &book->plot->inputs[0];
    SL_TRY(sl_run_ledger(input->device, &book->recorded, err));
    if (book->recorded->moment_cnt == 0 || !book->recorded->moments[0].card_used.known) {
        book->recorded = NULL;
        return draw_samples(book, true, err); /* it reports what is missing */
    }
    add_recorded_layers(book);
    return draw_book(book, err);
}

static sl_status draw(sl_plot *plot, sl_status (*draw_kind)(ledger *, sl_error *), sl_error *err) {
    ledger book = {.plot = plot, .layers = calloc(LAYERS_MAX, sizeof *book.layers)};
    sl_status status = book.layers ? draw_kind(&book, err) : sl_fail_no_memory(err, "the layers");
    sl_vec_free(&book.samples);
    free(book.layers);
    free(book.columns);
    free(book.is_read);
    free(book.points);
    free(book.bottoms);
    return status;
}

static sl_status draw_card(ledger *book, sl_error *err) {
    return sl_run_is_sampled(book->plot->inputs[0].device->input) ? draw_samples(book, true, err)
                                                                  : draw_recording(book, err);
}

static sl_status draw_allocator(ledger *book, sl_error *err) {
    return draw_samples(book, false, err);
}

sl_status sl_plot_ledger(sl_plot *plot, sl_error *err) {
    return draw(plot, draw_card, err);
}

sl_status sl_plot_sampled_timeline(sl_plot *plot, sl_error *err) {
    return draw(plot, draw_allocator, err);
}
