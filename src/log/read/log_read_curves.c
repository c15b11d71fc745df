/* SPDX-License-Identifier: MIT */
/* Counters and curves of the reader. A kill may have come between a bin and its sum one level up,
 * so the sums at that border are made again from the finer bins, which are still there. */
#include <stdlib.h>
#include <string.h>

#include "log/read/log_reader_impl.h"

static sl_status no_memory(sl_error *err) {
    return sl_fail(err, SL_E_NOMEM, "cannot allocate memory for a curve");
}

static sl_status load_counters(sl_log_reader *r, sl_fmt_counter **out, uint64_t *cnt,
                               sl_error *err) {
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_COUNTERS, cnt);
    *out = NULL;
    if (!s)
        return SL_OK;
    uint64_t used = r->state.marks[sl__log_section(r, SL_SECTION_COUNTERS)].used;
    if (used < *cnt)
        *cnt = used;
    return sl__log_load(r, s, *cnt, out, err);
}

sl_status sl_log_load_counters(sl_log_reader *r, sl_log_counters *out, sl_error *err) {
    sl_fmt_counter *counters;
    uint64_t cnt;
    memset(out, 0, sizeof *out);
    SL_TRY(load_counters(r, &counters, &cnt, err));
    bool is_full = false;
    for (uint64_t i = 0; i < cnt && !is_full; i++) {
        const sl_fmt_counter *c = &counters[i];
        sl_log_counter_info info = {.idx = (uint32_t)i,
                                    .kind = (uint8_t)c->word,
                                    .device = (int16_t)(uint16_t)(c->word >> 16),
                                    .name = (uint32_t)(c->word >> 32),
                                    .last = c->last,
                                    .last_ns = c->last_ns,
                                    .is_available = c->why == 0,
                                    .why = (uint32_t)c->why};
        is_full = c->word != 0 && !sl_vec_push(out, info);
    }
    free(counters);
    if (is_full) {
        sl_vec_free(out);
        return no_memory(err);
    }
    return SL_OK;
}

/* ---- one level ---- */

typedef struct level {
    sl_log_bin *at; /* owned; ascending */
    size_t cnt;
    uint64_t length_ns;
} level;

static uint64_t tag_of(uint64_t number) {
    return 1 + (number - 1) % 65535;
}

/* The value of a word, or the fallback when it is of another time. */
static uint64_t value_or(uint64_t word, uint64_t tag, uint64_t fallback) {
    return (word & 0xffff) == tag ? word >> 16 : fallback;
}

/* False for a bin that has no sample. A bin begun but cut off before some of its words gets them
 * from the ones that are there. */
static bool decode_bin(const sl_fmt_bin *bin, uint64_t length_ns, sl_log_bin *out) {
    if (bin->bin == 0)
        return false;
    uint64_t tag = tag_of(bin->bin);
    uint64_t some = value_or(bin->min, tag, value_or(bin->max, tag, UINT64_MAX));
    if (some == UINT64_MAX)
        return false;
    *out = (sl_log_bin){
        .start_ns = (bin->bin - 1) * length_ns,
        .length_ns = length_ns,
        .min = value_or(bin->min, tag, some),
        .max = value_or(bin->max, tag, some),
        .last = value_or(bin->last, tag, some),
        .cnt = value_or(bin->cnt, tag, 1),
    };
    return true;
}

static int by_start(const void *a, const void *b) {
    const sl_log_bin *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Room for sums of the level below is left at the end. */
static sl_status decode_level(const sl_fmt_bin *bins, uint32_t cnt, level *out, sl_error *err) {
    out->at = calloc(2 * (size_t)cnt, sizeof *out->at);
    if (!out->at)
        return no_memory(err);
    for (uint32_t i = 0; i < cnt; i++)
        out->cnt += decode_bin(&bins[i], out->length_ns, &out->at[out->cnt]);
    qsort(out->at, out->cnt, sizeof out->at[0], by_start);
    return SL_OK;
}

/* ---- between levels ---- */

static void merge(sl_log_bin *into, const sl_log_bin *from) {
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->last = from->last;
    into->cnt += from->cnt;
}

/* Replaces the bins of `up` from `border_ns` on by sums of the bins below. */
static void sum_up(const level *down, level *up, uint64_t border_ns, uint32_t bin_cnt) {
    size_t kept = 0;
    while (kept < up->cnt && up->at[kept].start_ns < border_ns)
        kept++;
    up->cnt = kept;
    for (size_t i = 0; i < down->cnt && up->cnt < 2 * (size_t)bin_cnt; i++) {
        const sl_log_bin *bin = &down->at[i];
        uint64_t start = bin->start_ns / up->length_ns * up->length_ns;
        if (start < border_ns)
            continue;
        if (up->cnt > kept && up->at[up->cnt - 1].start_ns == start) {
            merge(&up->at[up->cnt - 1], bin);
        } else {
            sl_log_bin sum = *bin;
            sum.start_ns = start;
            sum.length_ns = up->length_ns;
            up->at[up->cnt++] = sum;
        }
    }
}

/* Start of the first bin above that may lack something below it. */
static uint64_t border_of(uint64_t rolled, uint64_t down_ns, uint64_t up_ns) {
    uint64_t last_rolled = rolled > 0 ? rolled - 1 : 0;
    if (last_rolled > UINT64_MAX / down_ns)
        return UINT64_MAX;
    return last_rolled * down_ns / up_ns * up_ns;
}

/* From where on this level still has every bin, on a border of the level above. */
static uint64_t window_start(const level *l, uint32_t bin_cnt) {
    if (l->cnt == 0)
        return UINT64_MAX;
    uint64_t newest = l->at[l->cnt - 1].start_ns / l->length_ns;
    uint64_t up_ns = l->length_ns * SL_CURVE_FACTOR;
    if (newest < bin_cnt)
        return 0;
    return ((newest - bin_cnt + 1) * l->length_ns + up_ns - 1) / up_ns * up_ns;
}

/* Coarse bins until the next finer level begins, then that level, and so on. */
static sl_status join(const level *levels, uint32_t cnt, uint32_t bin_cnt, sl_log_bins *out,
                      sl_error *err) {
    uint64_t from = 0;
    for (uint32_t l = cnt; l-- > 0;) {
        uint64_t to = l > 0 ? window_start(&levels[l - 1], bin_cnt) : UINT64_MAX;
        for (size_t i = 0; i < levels[l].cnt; i++) {
            const sl_log_bin *bin = &levels[l].at[i];
            if (bin->start_ns < from || bin->start_ns >= to)
                continue;
            if (!sl_vec_push(out, *bin))
                return no_memory(err);
        }
        if (to > from && to != UINT64_MAX)
            from = to;
    }
    return SL_OK;
}

static sl_status build(const sl_log_reader *r, const sl_fmt_counter *counter,
                       const sl_fmt_bin *bins, level *levels, sl_error *err) {
    uint32_t bin_cnt = r->header.curve_bins;
    uint64_t length_ns = r->header.curve_bin_ns;
    for (uint32_t l = 0; l < r->header.curve_levels; l++) {
        levels[l].length_ns = length_ns;
        SL_TRY(decode_level(bins + (size_t)l * bin_cnt, bin_cnt, &levels[l], err));
        if (l > 0)
            sum_up(&levels[l - 1], &levels[l],
                   border_of(counter->rolled[l - 1], levels[l - 1].length_ns, length_ns), bin_cnt);
        length_ns *= SL_CURVE_FACTOR;
    }
    return SL_OK;
}

static sl_status load_bins(sl_log_reader *r, uint32_t counter, sl_fmt_bin **bins, sl_error *err) {
    uint64_t cnt;
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_CURVES, &cnt);
    if (!s || counter >= cnt)
        return sl_fail(err, SL_E_FORMAT, "expected a curve for counter %u, found %llu curves",
                       counter, (unsigned long long)cnt);
    sl_fmt_section one = *s;
    one.offset += (uint64_t)counter * s->record_bytes;
    return sl__log_load(r, &one, 1, bins, err);
}

sl_status sl_log_load_curve(sl_log_reader *r, uint32_t counter, sl_log_bins *out, sl_error *err) {
    level levels[SL_FORMAT_LEVEL_MAX] = {{0}};
    sl_fmt_counter *counters = NULL;
    sl_fmt_bin *bins = NULL;
    uint64_t cnt;
    memset(out, 0, sizeof *out);
    /* The bins first: what is rolled up after that only makes sums that are made again anyway. */
    SL_TRY(load_bins(r, counter, &bins, err));
    sl_status status = load_counters(r, &counters, &cnt, err);
    if (status >= 0 && counter >= cnt)
        status = sl_fail(err, SL_E_USAGE, "there is no counter %u", counter);
    if (status >= 0)
        status = build(r, &counters[counter], bins, levels, err);
    if (status >= 0)
        status = join(levels, r->header.curve_levels, r->header.curve_bins, out, err);
    for (uint32_t l = 0; l < r->header.curve_levels; l++)
        free(levels[l].at);
    free(bins);
    free(counters);
    if (status < 0)
        sl_vec_free(out);
    return status;
}
