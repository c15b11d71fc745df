/* SPDX-License-Identifier: MIT */
/* What the files of the writer share. The log object lives in anonymous memory of its own; all
 * pointers into the file point into one mapping that never moves (L1). */
#ifndef SL_LOG_WRITER_IMPL_H
#define SL_LOG_WRITER_IMPL_H

#include "base/core/clock.h"
#include "log/layout/log_atomic.h"
#include "log/layout/log_layout.h"
#include "log/write/log_file.h"
#include "log/write/log_writer.h"

/* Devices -1 .. 62 find their counters without a search. */
#define SL_DEVICE_SLOTS 64

/* Hash index of an interning table: id by content, 0 = empty slot. Not in the file: readers do not
 * need it. mapped with the log object. */
typedef struct sl_index {
    uint32_t *slots;
    uint32_t mask;
} sl_index;

/* Libraries on devices whose sums are kept; later ones have no curve. */
#define SL_LIBRARY_SLOTS 64

typedef struct sl_library_slot {
    uint64_t key;  /* (atomic) 1 << 32, device, label; 0 = free */
    uint64_t live; /* (atomic) bytes */
} sl_library_slot;

/* A level of the live table. */
typedef struct sl_live_level {
    sl_fmt_bucket *buckets;
    uint64_t mask;
} sl_live_level;

/* Counters of a device. (atomic) Their number + 1; 0 = not looked up yet, UINT32_MAX = no room. */
typedef struct sl_device_counters {
    uint32_t allocated, reserved;
} sl_device_counters;

struct sl_log {
    /* What every event reads comes first and fills four cache lines: between two events the program
     * uses the caches for itself. */
    uint64_t epoch; /* tells two logs at one address apart */
    uint64_t start_mono_ns;
    uint64_t live_top; /* (atomic) highest level that holds or held a block */
    uint32_t chunk_cap;
    uint32_t curve_bins;
    uint32_t site_cap;             /* sites that lie inside the mapping */
    uint8_t *at[SL_SECTION_LIMIT]; /* by kind; of level 0 for SL_SECTION_LIVE */
    sl_device_counters device_counters[SL_DEVICE_SLOTS]; /* by device + 1 */
    sl_live_level live[SL_FORMAT_LIVE_LEVEL_MAX];

    sl_log_file file;
    size_t own_bytes; /* of the mapping that holds this object and its indexes */
    uint32_t pid;
    uint32_t live_levels;
    uint32_t chunk_bytes;
    bool is_small; /* began with little space */

    sl_fmt_state *state; /* in the file */

    /* Where sections lie and how far they reach is decided by these copies alone (L12). */
    const sl_fmt_header *header;                   /* = own_header */
    sl_fmt_watermark marks[SL_FORMAT_SECTION_MAX]; /* by place in the section table */
    sl_fmt_watermark *wm[SL_SECTION_LIMIT];        /* by kind; of level 0 for SL_SECTION_LIVE */

    sl_index strings, frames, stacks, sites;
    sl_library_slot libraries[SL_LIBRARY_SLOTS];
    uint64_t swept_ns;                        /* maintain only */
    uint32_t stuck_sections;                  /* maintain only: bit i = section i could not grow */
    uint64_t stuck_ns[SL_FORMAT_SECTION_MAX]; /* when it failed, to try again later */
    uint64_t own_header[SL_FORMAT_HEADER_BYTES / 8];
};

/* What the calling thread has open. */
typedef struct sl_log_thread {
    sl_log *log;    /* the log this is about; NULL = none */
    uint64_t epoch; /* of that log */
    sl_fmt_thread *slot;
    sl_fmt_chunk *chunk; /* NULL = none open */
    uint64_t word;       /* of the chunk, as last stored */
    uint64_t base_ns;
    uint64_t published;
    uint32_t tid;
} sl_log_thread;

/* Where the next record of a thread goes. */
typedef struct sl_ring_place {
    sl_fmt_record *record; /* NULL: dropped */
    uint64_t time_word;    /* nanoseconds after the chunk's base, 48 bits */
    uint64_t position;     /* for the intent */
} sl_ring_place;

/* log_ring.c */
/* initial-exec: the general model may call malloc for a thread's first access to a library that
 * was loaded with dlopen. */
extern _Thread_local sl_log_thread sl__this_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
sl_log_thread *sl__log_attach_slow(sl_log *log); /* NULL: no slot, counted */
/* A chunk for the thread; false: all chunks are held by other threads, counted as dropped. */
bool sl__ring_claim(sl_log *log, sl_log_thread *thread, uint64_t time_ns);
void sl__ring_append(sl_log *log, const sl_log_event *event, uint64_t time_ns, uint8_t flags);
void sl__ring_sweep(sl_log *log);

/* log_live.c; a place in the live table. */
typedef struct sl_live_ref {
    sl_fmt_bucket *bucket; /* NULL: not found, no room */
    uint32_t slot;
} sl_live_ref;

sl_live_ref sl__live_find(const sl_log *log, uint64_t addr, uint64_t size_word);
sl_live_ref sl__live_insert(sl_log *log, uint64_t addr, const sl_fmt_live *live);
void sl__live_remove(sl_live_ref ref);
void sl__live_expect(const sl_log *log, uint64_t addr, uint64_t size_word);

/* log_curve.c */
void sl__curve_totals(sl_log *log, const sl_log_event *event, uint64_t time_ns);
void sl__curve_set(sl_log *log, uint32_t counter, uint64_t value, uint64_t time_ns);
void sl__curve_roll(sl_log *log, uint64_t now_ns);

/* log_library.c: a library took or (wrapped around) gave back bytes of the driver. */
void sl__library_change(sl_log *log, const sl_fmt_site *site, uint64_t bytes, uint64_t time_ns);

/* log_grow.c: gives a section its space up to `records`; SL_OK when it has it. */
sl_status sl__log_reserve(sl_log *log, uint32_t section, uint64_t records, sl_error *err);
void sl__log_grow(sl_log *log, uint64_t now_ns);
/* Records of a section that are there before the first event. */
uint64_t sl__log_first_records(const sl_fmt_section *section, bool is_small);

/* Takes `n` records of a section that only grows: the number of the first one, or UINT64_MAX
 * when they do not fit below the reserved mark (counted as `lost`). */
uint64_t sl__log_take(sl_log *log, sl_section_kind kind, uint64_t n, sl_health_kind lost);

/* The mark in the file follows the one in memory, and never goes back (L12). */
static inline void sl__mark_used(sl_log *log, const sl_fmt_watermark *own, uint64_t used) {
    uint64_t *at = &log->state->marks[own - log->marks].used, seen = sl_get(at);
    while (seen < used && !sl_swap(at, &seen, used))
        continue;
}

/* Takes `n` numbers of a section that wraps around; the first of them. */
static inline uint64_t sl__mark_add(sl_log *log, sl_fmt_watermark *own, uint64_t n) {
    uint64_t first = sl_add(&own->used, n);
    sl__mark_used(log, own, first + n);
    return first;
}

static inline void sl__health(sl_log *log, sl_health_kind kind) {
    sl_add(&log->state->health[kind], 1);
}

static inline bool sl__ring_has_room(const sl_log *log, const sl_log_thread *thread,
                                     uint64_t time_ns) {
    return thread->chunk && sl_chunk_count(thread->word) < log->chunk_cap &&
           (time_ns < thread->base_ns || time_ns - thread->base_ns <= SL_SIZE_MASK);
}

/* Inline and into the caller's struct: returned by value, its loads stalled on the stores. */
static inline void sl__ring_place(sl_log *log, sl_log_thread *thread, uint64_t time_ns,
                                  sl_ring_place *place) {
    place->record = NULL;
    place->time_word = place->position = 0;
    if (SL_UNLIKELY(!sl__ring_has_room(log, thread, time_ns)) &&
        !sl__ring_claim(log, thread, time_ns))
        return;
    uint32_t i = sl_chunk_count(thread->word);
    place->record = (sl_fmt_record *)(void *)(thread->chunk + 1) + i;
    /* A caller's clock reading may be older than the chunk; order within the chunk is kept. */
    place->time_word = time_ns > thread->base_ns ? time_ns - thread->base_ns : 0;
    place->position = (thread->word & ~UINT64_C(0xffff)) | i;
}

static inline sl_log_thread *sl__log_attach(sl_log *log) {
    sl_log_thread *thread = &sl__this_thread;
    if (SL_LIKELY(thread->log == log && thread->epoch == log->epoch))
        return thread;
    return sl__log_attach_slow(log);
}

static inline void sl__ring_publish(sl_log_thread *thread, const sl_ring_place *place,
                                    const sl_fmt_record *r) {
    sl_fmt_record *to = place->record;
    if (!to)
        return;
    uint64_t stamp = (sl_chunk_ticket(thread->word) & 0xff) << 8;
    /* Release, each of them: a reader that finds a new word of a record must also find the new
     * ticket when it looks again (L4). */
    sl_set_release(&to->w0, r->w0 | stamp);
    sl_set_release(&to->w1, r->w1);
    sl_set_release(&to->w2, r->w2);
    sl_set_release(&to->w3, r->w3);
    thread->word += 2;
    sl_set_release(&thread->chunk->word, thread->word); /* (L3) */
    sl_set_release(&thread->slot->published, ++thread->published);
}

static inline sl_fmt_site *sl__site(const sl_log *log, uint32_t id) {
    return (sl_fmt_site *)(void *)log->at[SL_SECTION_SITES] + id;
}

static inline uint64_t sl__now(const sl_log *log) {
    return sl_clock_mono_ns() - log->start_mono_ns;
}

#endif
