/* SPDX-License-Identifier: MIT */
#include "whatif/facts/whatif_curve.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"

/* ---- one curve ---- */

static uint32_t bin_of(const sl_whatif_curves *curves, uint32_t event) {
    return (uint32_t)((uint64_t)event * curves->bin_cnt / curves->whatif->calls->replay->event_cnt);
}

uint32_t sl_whatif_curve_event(const sl_whatif_curves *curves, uint32_t bin) {
    uint64_t events = curves->whatif->calls->replay->event_cnt;
    return (uint32_t)((bin * events + curves->bin_cnt - 1) / curves->bin_cnt);
}

typedef struct drawing {
    const sl_whatif_curves *curves;
    uint64_t *bytes; /* of this curve */
    uint64_t last;   /* reserved after the last call */
    uint32_t bin;    /* of it */
} drawing;

/* Fills bins without a call with the reserved bytes before them. */
static void advance(drawing *to, uint32_t bin) {
    while (to->bin < bin)
        to->bytes[++to->bin] = to->last;
}

static void watch(void *arg, uint32_t event, uint64_t reserved) {
    drawing *to = arg;
    uint32_t bin = event == SL_EVENT_BEFORE ? 0 : bin_of(to->curves, event);
    advance(to, bin);
    to->bytes[to->bin] = sl_max_u64(to->bytes[to->bin], reserved);
    to->last = reserved;
}

static sl_status draw_row(const sl_whatif_curves *curves, const sl_whatif_row *row, uint64_t *bytes,
                          sl_error *err) {
    sl_pass_options options = sl_whatif_pass(curves->whatif, &row->settings);
    drawing to = {.curves = curves, .bytes = bytes};
    sl_pass pass;
    options.watch = watch;
    options.watch_arg = &to;
    SL_TRY(sl_pass_run(curves->whatif->calls, &options, &pass, err));
    if (pass.has_failed)
        to.last = SL_WHATIF_ENDED;
    advance(&to, curves->bin_cnt - 1);
    return SL_OK;
}

/* ---- all of them ---- */

/* Users cannot set bounds, and no_caching would only oscillate around the floor. */
static bool has_curve(const sl_whatif *whatif, size_t row) {
    return whatif->rows.at[row].kind != SL_WHATIF_BOUND;
}

static uint64_t peak_of(const sl_whatif_curves *curves, const uint64_t *bytes) {
    uint64_t peak = 0;
    for (uint32_t i = 0; i < curves->bin_cnt && bytes[i] != SL_WHATIF_ENDED; i++)
        peak = sl_max_u64(peak, bytes[i]);
    return peak;
}

static sl_status add_curve(sl_whatif_curves *curves, size_t row, const uint64_t *bytes,
                           sl_error *err) {
    bool has_failed = curves->whatif->rows.at[row].pass.has_failed;
    for (size_t i = 0; i < curves->list.cnt; i++) {
        sl_whatif_curve *old = &curves->list.at[i];
        if (curves->whatif->rows.at[old->row].pass.has_failed == has_failed &&
            memcmp(old->bytes, bytes, curves->bin_cnt * sizeof *bytes) == 0) {
            old->also_cnt++;
            return SL_OK;
        }
    }
    sl_whatif_curve curve = {.row = row, .bytes = bytes, .peak_bytes = peak_of(curves, bytes)};
    return sl_vec_push(&curves->list, curve) ? SL_OK : sl_fail_no_memory(err, "the curves");
}

/* As recorded, the best, the others; those that fail come last. */
static int rank_of(const sl_whatif *whatif, const sl_whatif_curve *curve) {
    if (curve->row == 0)
        return 0;
    if (curve->row == whatif->best)
        return 1;
    return whatif->rows.at[curve->row].pass.has_failed ? 3 : 2;
}

static bool is_before(const sl_whatif *whatif, const sl_whatif_curve *a, const sl_whatif_curve *b) {
    int left = rank_of(whatif, a), right = rank_of(whatif, b);
    if (left != right)
        return left < right;
    return a->peak_bytes != b->peak_bytes ? a->peak_bytes < b->peak_bytes : a->row < b->row;
}

/* Insertion sort: there are about twenty curves. */
static void sort(sl_whatif_curves *curves) {
    for (size_t i = 1; i < curves->list.cnt; i++) {
        sl_whatif_curve moved = curves->list.at[i];
        size_t at = i;
        for (; at > 0 && is_before(curves->whatif, &moved, &curves->list.at[at - 1]); at--)
            curves->list.at[at] = curves->list.at[at - 1];
        curves->list.at[at] = moved;
    }
}

static void link_rows(sl_whatif_curves *curves) {
    size_t row_bytes = curves->bin_cnt * sizeof *curves->bytes;
    for (size_t row = 0; row < curves->whatif->rows.cnt; row++)
        for (uint32_t i = 0; i < curves->list.cnt; i++) {
            const sl_whatif_curve *curve = &curves->list.at[i];
            if (!has_curve(curves->whatif, row))
                continue;
            bool is_same = curves->whatif->rows.at[curve->row].pass.has_failed ==
                           curves->whatif->rows.at[row].pass.has_failed;
            if (is_same &&
                memcmp(curve->bytes, curves->bytes + row * curves->bin_cnt, row_bytes) == 0)
                curves->curve_of_row[row] = i;
        }
}

/* The best row is added before the others, so that a shared curve has its name. */
static sl_status draw_all(sl_whatif_curves *curves, sl_error *err) {
    const sl_whatif *whatif = curves->whatif;
    for (size_t i = 0; i < whatif->rows.cnt; i++)
        curves->curve_of_row[i] = SL_IDX_NONE;
    for (size_t i = 0; i < whatif->rows.cnt; i++)
        if (has_curve(whatif, i))
            SL_TRY(draw_row(curves, &whatif->rows.at[i], curves->bytes + i * curves->bin_cnt, err));
    SL_TRY(add_curve(curves, 0, curves->bytes, err));
    if (whatif->best)
        SL_TRY(
            add_curve(curves, whatif->best, curves->bytes + whatif->best * curves->bin_cnt, err));
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        if (i != whatif->best && has_curve(whatif, i))
            SL_TRY(add_curve(curves, i, curves->bytes + i * curves->bin_cnt, err));
    sort(curves);
    link_rows(curves);
    return SL_OK;
}

sl_status sl_whatif_curves_new(const sl_whatif *whatif, uint32_t bin_max, sl_whatif_curves **out,
                               sl_error *err) {
    sl_whatif_curves *curves = calloc(1, sizeof *curves);
    size_t row_cnt = whatif->rows.cnt;
    if (!curves)
        return sl_fail_no_memory(err, "the curves");
    curves->whatif = whatif;
    curves->bin_cnt =
        whatif->calls->replay->event_cnt < bin_max ? whatif->calls->replay->event_cnt : bin_max;
    curves->bytes = calloc(row_cnt * curves->bin_cnt + 1, sizeof *curves->bytes);
    curves->curve_of_row = calloc(row_cnt + 1, sizeof *curves->curve_of_row);
    sl_status status = curves->bytes && curves->curve_of_row ? draw_all(curves, err)
                                                             : sl_fail_no_memory(err, "the curves");
    if (status < 0) {
        sl_whatif_curves_free(curves);
        return status;
    }
    *out = curves;
    return SL_OK;
}

void sl_whatif_curves_free(sl_whatif_curves *curves) {
    if (!curves)
        return;
    sl_vec_free(&curves->list);
    free(curves->curve_of_row);
    free(curves->bytes);
    free(curves);
}
