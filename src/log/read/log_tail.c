/* SPDX-License-Identifier: MIT */
#include "log/read/log_tail.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "log/read/log_reader_impl.h"

uint64_t sl_log_newest_ns(const sl_log_reader *r) {
    return r->state.closed_ns ? r->state.closed_ns : r->state.heartbeat_ns;
}

/* ---- curves ---- */

static uint64_t level_ns(const sl_log_reader *r, uint32_t level) {
    return r->header.curve_bin_ns
           << 2 * level; /* SL_CURVE_FACTOR is 4; bounded by the header's check */
}

/* From where on a level still has every bin, on a border of the level above. One bin less than the ring has: the
 * writer may begin the next one while we read. */
static uint64_t level_start(const sl_log_reader *r, uint32_t level) {
    uint64_t length = level_ns(r, level), up = length * SL_CURVE_FACTOR;
    uint64_t newest = sl_log_newest_ns(r) / length, bins = r->header.curve_bins;
    if (newest + 2 < bins)
        return 0;
    return ((newest + 2 - bins) * length + up - 1) / up * up;
}

/* The finest level that has the bin which ends at or after this time. */
static uint32_t level_of(const sl_log_reader *r, uint64_t time_ns) {
    uint32_t level = 0;
    while (level + 1 < r->header.curve_levels && time_ns <= level_start(r, level) &&
           level_start(r, level) > 0)
        level++;
    return level;
}

uint64_t sl_log_bin_ns(const sl_log_reader *r, uint64_t time_ns) {
    return level_ns(r, level_of(r, time_ns));
}

static uint64_t word_or(uint64_t word, uint64_t tag, uint64_t fallback) {
    return (word & 0xffff) == tag ? word >> 16 : fallback;
}

/* False when the place has a bin of another time, or no sample. */
static bool decode(const sl_fmt_bin *bin, uint64_t number, uint64_t length_ns, sl_log_bin *out) {
    uint64_t tag = 1 + (number - 1) % 65535;
    uint64_t some = word_or(bin->min, tag, word_or(bin->max, tag, UINT64_MAX));
    if (bin->bin != number || some == UINT64_MAX)
        return false;
    *out = (sl_log_bin){.start_ns = (number - 1) * length_ns,
                        .length_ns = length_ns,
                        .min = word_or(bin->min, tag, some),
                        .max = word_or(bin->max, tag, some),
                        .last = word_or(bin->last, tag, some),
                        .cnt = word_or(bin->cnt, tag, 1)};
    return true;
}

static sl_status check_counter(const sl_log_reader *r, uint32_t counter, const sl_fmt_section **s,
                               sl_error *err) {
    uint64_t cnt;
    *s = sl__log_find(r, SL_SECTION_CURVES, &cnt);
    if (!*s || counter >= cnt)
        return sl_fail(err, SL_E_FORMAT, "expected a curve for counter %u, found %llu curves",
                       counter, (unsigned long long)cnt);
    return SL_OK;
}

/* Bins are read in pieces that lie together. */
#define PIECE 64

/* Appends bins [first, last] of a level; numbers count from 1. */
static sl_status add_bins(sl_log_reader *r, uint32_t counter, uint32_t level, uint64_t first,
                          uint64_t last, sl_log_bins *out, sl_error *err) {
    const sl_fmt_section *s;
    sl_fmt_bin piece[PIECE];
    uint64_t bins = r->header.curve_bins;
    SL_TRY(check_counter(r, counter, &s, err));
    uint64_t base = s->offset + (uint64_t)counter * s->record_bytes + level * bins * sizeof *piece;
    for (uint64_t n = first; n <= last;) {
        uint64_t place = (n - 1) & (bins - 1);
        uint64_t cnt = sl_min_u64(sl_min_u64(last - n + 1, bins - place), PIECE);
        SL_TRY(sl__log_read(r, piece, cnt * sizeof *piece, base + place * sizeof *piece, err));
        for (uint64_t i = 0; i < cnt; i++) {
            sl_log_bin bin;
            if (decode(&piece[i], n + i, level_ns(r, level), &bin) && !sl_vec_push(out, bin))
                return sl_fail_no_memory(err, "a curve");
        }
        n += cnt;
    }
    return SL_OK;
}

sl_status sl_log_load_window(sl_log_reader *r, uint32_t counter, uint64_t from_ns, uint64_t to_ns,
                             sl_log_bins *out, sl_error *err) {
    for (uint32_t level = r->header.curve_levels; level-- > 0;) {
        uint64_t length = level_ns(r, level);
        bool is_top = level + 1 == r->header.curve_levels;
        uint64_t from = sl_max_u64(from_ns, is_top ? 0 : level_start(r, level));
        uint64_t to = sl_min_u64(to_ns, level > 0 ? level_start(r, level - 1) : UINT64_MAX);
        if (from >= to)
            continue;
        uint64_t first = from / length + 1, last = to / length;
        if (last >= r->header.curve_bins)
            first = sl_max_u64(first, last - r->header.curve_bins + 1);
        SL_TRY(add_bins(r, counter, level, first, last, out, err));
    }
    return SL_OK;
}

sl_status sl_log_find_before(sl_log_reader *r, uint32_t counter, uint64_t time_ns, sl_log_bin *bin,
                             bool *is_found, sl_error *err) {
    sl_log_bins bins = {0};
    *is_found = false;
    SL_TRY(sl_log_load_curve(r, counter, &bins, err));
    for (size_t i = 0; i < bins.cnt && bins.at[i].start_ns + bins.at[i].length_ns <= time_ns; i++) {
        *bin = bins.at[i];
        *is_found = true;
    }
    sl_vec_free(&bins);
    return SL_OK;
}

/* ---- lists ---- */

sl_status sl_log_read_entry(sl_log_reader *r, uint32_t section, uint64_t i,
                            sl_log_list_entry *entry, sl_error *err) {
    uint64_t reserved, words[4];
    const sl_fmt_section *s = sl__log_find(r, section, &reserved);
    *entry = (sl_log_list_entry){0};
    if (!s || reserved == 0 || i >= sl_log_list_used(r, section))
        return SL_OK;
    SL_TRY(sl__log_read(r, words, sizeof words, s->offset + i % reserved * s->record_bytes, err));
    entry->is_there = words[0] >> 8 == i + 1;
    entry->kind = (uint8_t)words[0];
    entry->time_ns = words[1];
    entry->number = sl__log_mark_number(entry->kind, words[2], (uint32_t)words[3]);
    return SL_OK;
}

/* Records are in order of time, but for threads that were interrupted while they wrote. */
sl_status sl_log_count_until(sl_log_reader *r, uint32_t section, uint64_t time_ns, uint64_t *cnt,
                             sl_error *err) {
    uint64_t reserved, used = sl_log_list_used(r, section);
    sl__log_find(r, section, &reserved);
    uint64_t low = used > reserved ? used - reserved : 0, high = used;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        sl_log_list_entry entry;
        SL_TRY(sl_log_read_entry(r, section, middle, &entry, err));
        /* One that is not complete is being written now. */
        if (entry.is_there && entry.time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    *cnt = low;
    return SL_OK;
}

/* ---- strings ---- */

sl_status sl_log_read_string(sl_log_reader *r, uint32_t id, char *to, size_t cap, sl_error *err) {
    uint64_t units;
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_STRINGS, &units);
    sl_fmt_string head;
    to[0] = '\0';
    if (!s || id == 0 || id >= units)
        return SL_OK;
    SL_TRY(sl__log_read(r, &head, sizeof head, s->offset + (uint64_t)id * 8, err));
    uint64_t left = (units - id) * 8 - sizeof head;
    if (head.len == 0 || head.len > SL_FORMAT_STRING_MAX || head.len > left)
        return SL_OK;
    size_t len = sl_min_size(head.len, cap - 1);
    SL_TRY(sl__log_read(r, to, len, s->offset + (uint64_t)id * 8 + sizeof head, err));
    to[len] = '\0';
    return SL_OK;
}
