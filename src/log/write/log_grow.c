/* SPDX-License-Identifier: MIT */
/* Space for the sections. Everything an event may touch is reserved on disk first, so that a full
 * disk is an answer to a question asked here and never a SIGBUS in somebody's program (L1). */
#include "log/write/log_writer_impl.h"

/* A section grows by doubling, by at most this many bytes at a time. */
#define GROW_MAX_BYTES (16u << 20)
/* Beyond its first levels the live table gets a level as soon as the one so many below is used. */
#define LEVELS_AHEAD   2

/* What is there before the first event. It must last until maintain runs, which on a busy machine may
 * be a tenth of a second late: 8 MiB of ring hold a quarter of a million events; a program's first step
 * brings most of its stacks and sites at once; five levels hold 248 Ki blocks; a device brings ten
 * counters at once, and a counter that finds no room loses the readings until the next maintain.
 *
 * A small start is for the children of fork: they are many (the workers of a data loader, anew each epoch)
 * and mostly short. */
typedef struct first_sizes {
    uint32_t ring_bytes, stack_bytes, other_bytes;
    uint32_t string_bytes;
    uint32_t live_levels;
    uint32_t curves_ahead; /* kept in hand at any time */
} first_sizes;

static const first_sizes first_large = {
    .ring_bytes = 8u << 20,
    .stack_bytes = 1u << 20,
    .string_bytes = 256u << 10,
    .other_bytes = 256u << 10,
    .live_levels = 5,
    .curves_ahead = 16,
};

static const first_sizes first_small = {
    .ring_bytes = 128u << 10,
    .stack_bytes = 64u << 10,
    .string_bytes = 32u << 10,
    .other_bytes = 8u << 10,
    .live_levels = 3,
    .curves_ahead = 5, /* the four of the host, and what is allocated */
};

/* A section that found no space asks again after this time. */
#define RETRY_NS UINT64_C(5000000000)

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static const first_sizes *first_of(bool is_small) {
    return is_small ? &first_small : &first_large;
}

uint64_t sl__log_first_records(const sl_fmt_section *s, bool is_small) {
    const first_sizes *first = first_of(is_small);
    switch (s->kind) {
    case SL_SECTION_LIVE: return s->level < first->live_levels ? s->cap : 0;
    case SL_SECTION_CURVES: return min_u64(s->cap, first->curves_ahead);
    case SL_SECTION_RING: return min_u64(s->cap, first->ring_bytes / s->record_bytes);
    case SL_SECTION_STACKS:
    case SL_SECTION_SITES: return min_u64(s->cap, first->stack_bytes / s->record_bytes);
    case SL_SECTION_STRINGS:
    case SL_SECTION_FRAMES: return min_u64(s->cap, first->string_bytes / s->record_bytes);
    default: return min_u64(s->cap, first->other_bytes / s->record_bytes);
    }
}

sl_status sl__log_reserve(sl_log *log, uint32_t section, uint64_t records, sl_error *err) {
    const sl_fmt_section *s = &log->header->sections[section];
    sl_fmt_watermark *own = &log->marks[section];
    uint64_t have = sl_get(&own->reserved);
    if (records <= have)
        return SL_OK;
    uint64_t offset = s->offset + have * s->record_bytes;
    uint64_t bytes = (records - have) * s->record_bytes;
    if (sl__file_reserve(&log->file, offset, bytes) < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot reserve %llu bytes for section %s",
                             (unsigned long long)bytes, sl_section_name(s->kind));
    sl_set_release(&log->state->marks[section].reserved, records);
    sl_set_release(&own->reserved, records);
    return SL_OK;
}

/* How many records this section should have by now. */
static uint64_t wanted_records(const sl_log *log, uint32_t section) {
    const sl_fmt_section *s = &log->header->sections[section];
    const sl_fmt_watermark *wm = &log->marks[section];
    uint64_t have = sl_get(&wm->reserved);
    if (s->kind == SL_SECTION_LIVE)
        return s->level < sl_get(&log->live_top) + LEVELS_AHEAD ? s->cap : have;
    if (s->kind == SL_SECTION_CURVES)
        return min_u64(s->cap, sl_get(&wm->used) + first_of(log->is_small)->curves_ahead);
    uint64_t step_max = GROW_MAX_BYTES / s->record_bytes + 1;
    uint64_t low = min_u64((have + 1) / 2, step_max / 2 + 1);
    if (have >= s->cap || sl_get(&wm->used) + low <= have)
        return have;
    return min_u64(s->cap, have + min_u64(have + 1, step_max));
}

void sl__log_grow(sl_log *log, uint64_t now_ns) {
    for (uint32_t i = 0; i < log->header->section_cnt; i++) {
        uint64_t wanted = wanted_records(log, i);
        if (wanted <= sl_get(&log->marks[i].reserved))
            continue;
        if ((log->stuck_sections >> i & 1) && now_ns - log->stuck_ns[i] < RETRY_NS)
            continue;
        log->stuck_sections &= ~(1u << i);
        if (sl__log_reserve(log, i, wanted, NULL) < 0) {
            sl__health(log, SL_HEALTH_EXTEND_FAILED);
            log->stuck_sections |= 1u << i;
            log->stuck_ns[i] = now_ns;
        }
    }
}

uint64_t sl__log_take(sl_log *log, sl_section_kind kind, uint64_t n, sl_health_kind lost) {
    sl_fmt_watermark *wm = log->wm[kind];
    uint64_t used = sl_get(&wm->used);
    do {
        if (used + n > sl_get_acquire(&wm->reserved)) {
            sl__health(log, lost);
            return UINT64_MAX;
        }
    } while (!sl_swap(&wm->used, &used, used + n));
    sl__mark_used(log, wm, used + n);
    return used;
}
