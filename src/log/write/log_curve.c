/* SPDX-License-Identifier: MIT */
/* Counters and their curves. Level 0 has bins of 100 ms, each further level bins four times as
 * long; every level is a ring of the same number of bins, so ten levels of 512 hold the last 51 s
 * at 100 ms and five months at the coarsest. Events update level 0; maintain carries finished bins
 * up. Every word of a bin carries a tag of the bin's number, so a bin is begun again word by word
 * with no moment at which an old minimum could pass for a new one.
 *
 * An event that comes late (its thread slept between clock and update) finds its bin already
 * carried up; it then updates the level above itself. Maintain raises `rolled` before it reads the
 * bin, the event updates the bin before it reads `rolled`, both sequentially consistent: one of
 * the two sees the other. */
#include "log/write/log_writer_impl.h"

#define TAG_MASK UINT64_C(0xffff)

typedef struct sample {
    uint64_t min, max, last, cnt;
} sample;

static sl_fmt_counter *counter_at(const sl_log *log, uint32_t i) {
    return (sl_fmt_counter *)(void *)log->at[SL_SECTION_COUNTERS] + i;
}

static sl_fmt_bin *bin_at(const sl_log *log, uint32_t counter, uint32_t level, uint64_t bin_idx) {
    sl_fmt_bin *bins = (sl_fmt_bin *)(void *)log->at[SL_SECTION_CURVES];
    size_t row = (size_t)counter * SL_CURVE_LEVELS + level;
    return bins + row * log->curve_bins + (bin_idx & (log->curve_bins - 1));
}

static uint64_t tag_of(uint64_t number) {
    return 1 + (number - 1) % 65535;
}

typedef enum word_rule { WORD_MIN, WORD_MAX, WORD_LAST, WORD_ADD } word_rule;

/* The first word of a new time replaces the old one, but only while the bin still is of this
 * time: a thread that slept through a whole turn of the ring must not write over newer data. */
static __attribute__((noinline)) bool begin_word(const sl_fmt_bin *bin, uint64_t *at,
                                                 uint64_t number, uint64_t value) {
    uint64_t word = sl_get(at), tag = tag_of(number);
    while ((word & TAG_MASK) != tag) {
        if (sl_get_acquire(&bin->bin) != number || sl_swap(at, &word, value << 16 | tag))
            return true;
    }
    return false;
}

static inline void raise_word(uint64_t *at, uint64_t word, uint64_t value, word_rule rule) {
    uint64_t tag = word & TAG_MASK;
    while ((word & TAG_MASK) == tag &&
           (rule == WORD_MIN ? value < word >> 16 : value > word >> 16) &&
           !sl_swap(at, &word, value << 16 | tag))
        continue;
}

/* The addition is sequentially consistent: see the top of this file. */
static inline __attribute__((always_inline)) void
update_word(const sl_fmt_bin *bin, uint64_t *at, uint64_t number, uint64_t value, word_rule rule) {
    uint64_t word = sl_get(at), tag = tag_of(number);
    if (SL_UNLIKELY((word & TAG_MASK) != tag)) {
        if (begin_word(bin, at, number, value))
            return;
        word = sl_get(at);
    }
    if (rule == WORD_ADD)
        __atomic_fetch_add(at, value << 16, __ATOMIC_SEQ_CST);
    else if (rule == WORD_LAST)
        sl_set_release(at, value << 16 | tag);
    else
        raise_word(at, word, value, rule);
}

/* False when the bin already is of a later time. */
static bool update_bin(sl_fmt_bin *bin, uint64_t number, const sample *s) {
    uint64_t seen = sl_get_acquire(&bin->bin);
    while (seen < number && !sl_swap(&bin->bin, &seen, number))
        continue;
    if (seen > number)
        return false;
    update_word(bin, &bin->min, number, s->min, WORD_MIN);
    update_word(bin, &bin->max, number, s->max, WORD_MAX);
    update_word(bin, &bin->last, number, s->last, WORD_LAST);
    update_word(bin, &bin->cnt, number, s->cnt, WORD_ADD);
    return true;
}

static bool is_rolled(const sl_log *log, uint32_t counter, uint32_t level, uint64_t bin_idx) {
    const uint64_t *rolled = &counter_at(log, counter)->rolled[level];
    return bin_idx < __atomic_load_n(rolled, __ATOMIC_SEQ_CST);
}

/* The bin was carried up before the sample came: the bins above get it here. True when one did. */
static SL_COLD bool update_above(sl_log *log, uint32_t counter, uint64_t bin_idx, const sample *s) {
    bool is_kept = false;
    for (uint32_t level = 0; level + 1 < SL_CURVE_LEVELS; level++) {
        if (!is_rolled(log, counter, level, bin_idx))
            break;
        bin_idx /= SL_CURVE_FACTOR;
        is_kept |= update_bin(bin_at(log, counter, level + 1, bin_idx), bin_idx + 1, s);
    }
    return is_kept;
}

/* A value between the least and the largest of a bin that has begun changes two words: what nearly every
 * event does, in few instructions. False: nothing was done. */
static inline bool update_within(sl_fmt_bin *bin, uint64_t number, uint64_t value) {
    uint64_t tag = tag_of(number);
    uint64_t word = value << 16 | tag, min = sl_get(&bin->min), max = sl_get(&bin->max);
    uint64_t tags =
        (min ^ tag) | (max ^ tag) | (sl_get(&bin->last) ^ tag) | (sl_get(&bin->cnt) ^ tag);
    if (sl_get_acquire(&bin->bin) != number || tags & TAG_MASK || word < min || word > max)
        return false;
    sl_set_release(&bin->last, word);
    __atomic_fetch_add(&bin->cnt, UINT64_C(1) << 16, __ATOMIC_SEQ_CST);
    return true;
}

static SL_COLD bool update_slowly(sl_fmt_bin *bin, uint64_t number, uint64_t value) {
    sample s = {value, value, value, 1};
    return update_bin(bin, number, &s);
}

SL_HOT void sl__curve_set(sl_log *log, uint32_t counter, uint64_t value, uint64_t time_ns) {
    sl_fmt_counter *c = counter_at(log, counter);
    uint64_t bin_idx = time_ns / SL_CURVE_BIN_NS;
    sl_fmt_bin *bin = bin_at(log, counter, 0, bin_idx);
    bool is_kept =
        SL_LIKELY(update_within(bin, bin_idx + 1, value)) || update_slowly(bin, bin_idx + 1, value);
    sl_set(&c->last, value);
    sl_set(&c->last_ns, time_ns);
    if (SL_UNLIKELY(is_rolled(log, counter, 0, bin_idx)))
        is_kept |= update_above(log, counter, bin_idx, &(sample){value, value, value, 1});
    if (SL_UNLIKELY(!is_kept))
        sl__health(log, SL_HEALTH_CURVE_LATE);
}

/* ---- maintain ---- */

static bool read_bin(const sl_fmt_bin *bin, uint64_t number, sample *s) {
    uint64_t cnt = __atomic_load_n(&bin->cnt, __ATOMIC_SEQ_CST), tag = tag_of(number);
    uint64_t min = sl_get_acquire(&bin->min), max = sl_get_acquire(&bin->max);
    uint64_t last = sl_get_acquire(&bin->last);
    if (sl_get_acquire(&bin->bin) != number || (min & TAG_MASK) != tag || (max & TAG_MASK) != tag ||
        (last & TAG_MASK) != tag || (cnt & TAG_MASK) != tag)
        return false;
    *s = (sample){min >> 16, max >> 16, last >> 16, cnt >> 16};
    return true;
}

static void roll_bin(sl_log *log, uint32_t counter, uint32_t level, uint64_t bin_idx) {
    sample s;
    uint64_t up = bin_idx / SL_CURVE_FACTOR;
    if (read_bin(bin_at(log, counter, level, bin_idx), bin_idx + 1, &s))
        update_bin(bin_at(log, counter, level + 1, up), up + 1, &s);
}

static void set_rolled(uint64_t *rolled, uint64_t bin_idx) {
    __atomic_store_n(rolled, bin_idx, __ATOMIC_SEQ_CST);
}

/* After a pause longer than the ring: bins of before it may still be in their places. */
static void roll_old(sl_log *log, uint32_t counter, uint32_t level, uint64_t end_idx) {
    uint64_t *rolled = &counter_at(log, counter)->rolled[level];
    uint64_t first = sl_get(rolled);
    set_rolled(rolled, end_idx);
    for (uint64_t i = 0; i < log->curve_bins; i++) {
        uint64_t number = sl_get_acquire(&bin_at(log, counter, level, first + i)->bin);
        if (number > first && number <= end_idx)
            roll_bin(log, counter, level, number - 1);
    }
}

static void roll_level(sl_log *log, uint32_t counter, uint32_t level, uint64_t end_idx) {
    uint64_t *rolled = &counter_at(log, counter)->rolled[level];
    if (end_idx > log->curve_bins && sl_get(rolled) < end_idx - log->curve_bins)
        roll_old(log, counter, level, end_idx - log->curve_bins);
    for (uint64_t i = sl_get(rolled); i < end_idx; i++) {
        set_rolled(rolled, i + 1);
        roll_bin(log, counter, level, i);
    }
}

/* The bin before the present one may still be written by threads that are only a little late. */
void sl__curve_roll(sl_log *log, uint64_t now_ns) {
    uint64_t cnt = sl_get_acquire(&log->wm[SL_SECTION_COUNTERS]->used);
    for (uint32_t counter = 0; counter < cnt; counter++) {
        uint64_t now_idx = now_ns / SL_CURVE_BIN_NS;
        for (uint32_t level = 0; level + 1 < SL_CURVE_LEVELS; level++) {
            if (now_idx >= 2)
                roll_level(log, counter, level, now_idx - 1);
            now_idx /= SL_CURVE_FACTOR;
        }
    }
}

/* ---- counters ---- */

static uint64_t counter_word(sl_counter_kind kind, int device, uint32_t name) {
    return (uint64_t)kind | UINT64_C(1) << 8 | (uint64_t)(uint16_t)device << 16 |
           (uint64_t)name << 32;
}

static void raise_used(sl_log *log, sl_fmt_watermark *wm, uint64_t used) {
    uint64_t seen = sl_get(&wm->used);
    while (seen < used && !sl_swap(&wm->used, &seen, used))
        continue;
    sl__mark_used(log, wm, used);
}

int sl_log_counter(sl_log *log, sl_counter_kind kind, int device, uint32_t name) {
    uint64_t word = counter_word(kind, device, name);
    uint64_t cap = sl_get_acquire(&log->wm[SL_SECTION_CURVES]->reserved);
    uint64_t room = sl_get_acquire(&log->wm[SL_SECTION_COUNTERS]->reserved);
    if (cap > room)
        cap = room;
    for (uint32_t i = 0; i < cap; i++) {
        uint64_t *at = &counter_at(log, i)->word, found = sl_get_acquire(at);
        if ((found == 0 && sl_swap(at, &found, word)) || found == word) {
            raise_used(log, log->wm[SL_SECTION_CURVES], i + 1);
            raise_used(log, log->wm[SL_SECTION_COUNTERS], i + 1);
            return (int)i;
        }
    }
    sl__health(log, SL_HEALTH_COUNTER_OVERFLOW);
    return -1;
}

static SL_COLD uint64_t count_clamped(sl_log *log) {
    sl__health(log, SL_HEALTH_SIZE_CLAMPED);
    return SL_SIZE_MASK;
}

static inline uint64_t clamp_value(sl_log *log, uint64_t value) {
    return SL_LIKELY(value <= SL_SIZE_MASK) ? value : count_clamped(log);
}

void sl_log_counter_set(sl_log *log, int counter, uint64_t value) {
    if (counter < 0 || (uint64_t)counter >= sl_get(&log->wm[SL_SECTION_COUNTERS]->used))
        return;
    if (sl_get(&counter_at(log, (uint32_t)counter)->why))
        sl_set(&counter_at(log, (uint32_t)counter)->why, 0);
    sl__curve_set(log, (uint32_t)counter, clamp_value(log, value), sl__now(log));
}

void sl_log_counter_unavailable(sl_log *log, int counter, uint32_t why) {
    if (counter >= 0 && (uint64_t)counter < sl_get(&log->wm[SL_SECTION_COUNTERS]->used))
        sl_set_release(&counter_at(log, (uint32_t)counter)->why, why ? why : UINT32_MAX);
}

/* ---- totals that come with events ---- */

/* Maintain may still make room for a counter that found none. */
static bool may_grow(const sl_log *log) {
    const sl_fmt_watermark *wm = log->wm[SL_SECTION_CURVES];
    return sl_get(&wm->reserved) < log->header->sections[wm - log->marks].cap;
}

static SL_COLD int look_up_counter(sl_log *log, sl_counter_kind kind, int8_t device,
                                   uint32_t *remembered) {
    int counter = sl_log_counter(log, kind, device, 0);
    if (remembered && (counter >= 0 || !may_grow(log)))
        sl_set32_release(remembered, counter < 0 ? UINT32_MAX : (uint32_t)counter + 1);
    return counter;
}

/* The counter of a device, remembered; -1 when there is none. */
static inline int device_counter(sl_log *log, sl_counter_kind kind, int8_t device) {
    unsigned slot = (unsigned)(device + 1);
    if (SL_UNLIKELY(slot >= SL_DEVICE_SLOTS))
        return look_up_counter(log, kind, device, NULL);
    sl_device_counters *counters = &log->device_counters[slot];
    uint32_t *at = kind == SL_COUNTER_ALLOCATED ? &counters->allocated : &counters->reserved;
    uint32_t known = sl_get32_acquire(at);
    if (SL_UNLIKELY(known == 0))
        return look_up_counter(log, kind, device, at);
    return known == UINT32_MAX ? -1 : (int)known - 1;
}

SL_HOT void sl__curve_totals(sl_log *log, const sl_log_event *event, uint64_t time_ns) {
    if (event->total_allocated != SL_LOG_UNKNOWN) {
        int c = device_counter(log, SL_COUNTER_ALLOCATED, event->device);
        if (SL_LIKELY(c >= 0))
            sl__curve_set(log, (uint32_t)c, clamp_value(log, event->total_allocated), time_ns);
    }
    if (event->total_reserved != SL_LOG_UNKNOWN) {
        int c = device_counter(log, SL_COUNTER_RESERVED, event->device);
        /* Rarely changes; a bin without samples goes on at the last value. */
        if (c >= 0 && (sl_get(&counter_at(log, (uint32_t)c)->last) != event->total_reserved ||
                       sl_get(&counter_at(log, (uint32_t)c)->last_ns) == 0))
            sl__curve_set(log, (uint32_t)c, clamp_value(log, event->total_reserved), time_ns);
    }
}
