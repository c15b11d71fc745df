/* SPDX-License-Identifier: MIT */
/* The event path: sites, live table and ring move together under an intent (L9). */
#include "log/write/log_intern.h"

/* ---- sites ---- */

typedef struct site_key {
    uint64_t word; /* first word of sl_fmt_site */
    uint64_t first_ns;
} site_key;

static uint64_t *site_word(const sl_log *log, uint32_t id) {
    return (uint64_t *)(void *)sl__site(log, id);
}

static SL_HOT bool is_same_site(const sl_log *log, uint32_t id, const void *key) {
    return sl_get(site_word(log, id)) == ((const site_key *)key)->word;
}

static uint32_t make_site(sl_log *log, const void *key) {
    const site_key *from = key;
    uint64_t i = sl__log_take(log, SL_SECTION_SITES, 1, SL_HEALTH_SITE_OVERFLOW);
    if (i == UINT64_MAX)
        return 0;
    sl_set(&sl__site(log, (uint32_t)i)->first_ns, from->first_ns);
    sl_set_release(site_word(log, (uint32_t)i), from->word);
    return (uint32_t)i;
}

static void drop_site(sl_log *log, uint32_t id) {
    sl_set_release(site_word(log, id), 0);
}

/* Site 0, which all events share that found no room for a site. */
static SL_HOT uint32_t find_site(sl_log *log, const sl_log_event *event, uint8_t domain,
                                 uint64_t time_ns) {
    static const sl_intern_ops ops = {is_same_site, make_site, drop_site};
    /* A line of code is one site, whatever streams it allocates on. */
    uint16_t label = domain == SL_DOMAIN_DRIVER ? event->label : 0;
    site_key key = {event->stack | (uint64_t)label << 32 | (uint64_t)(uint8_t)event->device << 48 |
                        (uint64_t)domain << 56,
                    time_ns};
    uint32_t remembered = event->site_memo ? sl_get32_acquire(event->site_memo) : 0;
    if (SL_LIKELY(remembered && is_same_site(log, remembered, &key)))
        return remembered;
    /* Stacks are numbered in the order in which they are met. Their sites are in that order in the
     * index too: those of a program's steps fill a few pages instead of one page each. */
    uint32_t id =
        sl_intern(log, &log->sites, event->stack + sl_hash_mix(key.word >> 32), &ops, &key);
    if (event->site_memo)
        sl_set32_release(event->site_memo, id);
    return id;
}

/* free_bytes is read after the addition to alloc_bytes. So the thread that adds last sees every
 * allocation, and the peak is never below the live bytes at the end. Other threads may free in
 * between what this one has not seen allocated: a negative difference is ignored. */
static SL_HOT void add_bytes(sl_fmt_site *site, uint64_t size) {
    uint64_t allocated = sl_add(&site->alloc_bytes, size) + size;
    uint64_t live = allocated - sl_get_acquire(&site->free_bytes);
    uint64_t peak = sl_get(&site->peak_bytes);
    while ((int64_t)live > (int64_t)peak && !sl_swap(&site->peak_bytes, &peak, live))
        continue;
}

/* ---- intents ---- */

typedef struct change {
    sl_log *log;
    sl_log_thread *thread;
    sl_ring_place place;
    sl_fmt_record record;
    uint64_t size;
    uint64_t time_ns;
} change;

static void phase(const change *c, uint64_t step) {
    sl_set_release(&c->thread->slot->intent.phase, step);
}

static SL_HOT void begin(const change *c, uint32_t site_id, uint64_t first_step) {
    sl_fmt_intent *intent = &c->thread->slot->intent;
    sl_set_release(&intent->addr, c->record.w1);
    sl_set_release(&intent->w2, c->record.w2);
    sl_set_release(&intent->w3, c->record.w3);
    sl_set_release(&intent->position, c->place.position);
    sl_set_release(&intent->site, site_id);
    sl_set_release(&intent->time_ns, c->time_ns);
    sl_set_release(&intent->phase, first_step);
    sl_set_release(&intent->w0, c->record.w0);
}

static void end(const change *c) {
    sl_set_release(&c->thread->slot->intent.w0, 0);
}

static void publish(const change *c, uint64_t step) {
    phase(c, step);
    sl__ring_publish(c->thread, &c->place, &c->record);
    end(c);
}

/* Everything of a change but the site. False: no thread slot, counted. */
static SL_HOT bool prepare(change *c, sl_log *log, const sl_log_event *event, uint64_t time_ns) {
    c->log = log;
    c->thread = sl__log_attach(log);
    if (!c->thread)
        return false;
    c->time_ns = time_ns;
    c->size = event->size;
    sl__ring_place(log, c->thread, time_ns, &c->place);
    c->record.w0 = sl_record_w0(event->kind, event->device, event->flags, event->stack);
    c->record.w1 = event->addr;
    c->record.w2 = sl_pack48(event->size, event->label);
    c->record.w3 = sl_pack48(c->place.time_word, event->tag);
    return true;
}

static void flag_record(change *c, uint8_t flag) {
    c->record.w0 |= (uint64_t)flag << 24;
}

/* ---- alloc and free ---- */

static void untracked(change *c, sl_health_kind why) {
    sl__health(c->log, why);
    flag_record(c, SL_RECORD_UNTRACKED);
    sl__ring_publish(c->thread, &c->place, &c->record);
}

static SL_HOT void free_block(change *c, sl_live_ref ref) {
    sl_fmt_live *live = &ref.bucket->slot[ref.slot];
    uint32_t site_id = (uint32_t)sl_get(&live->site_word);
    if (SL_UNLIKELY(site_id >= c->log->site_cap)) { /* (L12) */
        untracked(c, SL_HEALTH_BAD_EVENT);
        return;
    }
    uint64_t size = sl_get(&live->size_word) & SL_SIZE_MASK;
    if (c->size != size) {
        if (c->size != 0)
            sl__health(c->log, SL_HEALTH_SIZE_MISMATCH);
        c->record.w2 = sl_pack48(size, (uint16_t)(c->record.w2 >> SL_SIZE_BITS));
    }
    sl_fmt_site *site = sl__site(c->log, site_id);
    begin(c, site_id, SL_FREE_CNT);
    sl_add(&site->free_cnt, 1);
    phase(c, SL_FREE_BYTES);
    sl_add(&site->free_bytes, size);
    phase(c, SL_FREE_TABLE);
    sl__live_remove(ref);
    publish(c, SL_FREE_RING);
    if (SL_UNLIKELY(site->domain == SL_DOMAIN_DRIVER))
        sl__library_change(c->log, site, 0 - size, c->time_ns);
}

static SL_HOT void write_free(sl_log *log, const sl_log_event *event, uint8_t domain,
                              uint64_t time_ns) {
    change c;
    sl_live_ref ref = sl__live_find(log, event->addr, sl_live_size_word(0, event->device, domain));
    if (SL_LIKELY(ref.bucket)) /* the intent is filled in while this arrives */
        __builtin_prefetch(sl__site(log, (uint32_t)sl_get(&ref.bucket->slot[ref.slot].site_word)),
                           1);
    if (!prepare(&c, log, event, time_ns))
        return;
    if (ref.bucket)
        free_block(&c, ref);
    else
        untracked(&c, SL_HEALTH_UNKNOWN_FREE);
}

/* An alloc of a live address: its free was missed. It is recorded as if it had come just before,
 * so that a replay of the ring meets no contradiction. */
static __attribute__((noinline)) void free_implicitly(sl_log *log, const sl_log_event *event,
                                                      sl_live_ref ref, uint64_t time_ns) {
    static const uint8_t free_of[SL_DOMAIN_LIMIT] = {
        [SL_DOMAIN_BLOCK] = SL_EV_FREE,
        [SL_DOMAIN_SEGMENT] = SL_EV_SEGMENT_FREE,
        [SL_DOMAIN_DRIVER] = SL_EV_DRIVER_FREE,
    };
    change c;
    sl_log_event missed = {.kind = free_of[sl_kind_rows[event->kind].domain],
                           .device = event->device,
                           .addr = event->addr};
    sl__health(log, SL_HEALTH_DOUBLE_ALLOC);
    if (!prepare(&c, log, &missed, time_ns))
        return;
    flag_record(&c, SL_RECORD_IMPLICIT);
    free_block(&c, ref);
}

static SL_HOT void alloc_block(change *c, const sl_log_event *event, uint8_t domain) {
    uint32_t site_id = find_site(c->log, event, domain, c->time_ns);
    sl_fmt_site *site = sl__site(c->log, site_id);
    sl_fmt_live live = {
        sl_live_size_word(c->size, event->device, domain),
        site_id | (uint64_t)event->label << 32 | (uint64_t)event->tag << 48,
        c->time_ns,
    };
    begin(c, site_id, SL_ALLOC_TABLE);
    if (!sl__live_insert(c->log, event->addr, &live).bucket) {
        end(c);
        untracked(c, SL_HEALTH_LIVE_OVERFLOW);
        return;
    }
    phase(c, SL_ALLOC_CNT);
    sl_add(&site->alloc_cnt, 1);
    phase(c, SL_ALLOC_BYTES);
    add_bytes(site, c->size);
    publish(c, SL_ALLOC_RING);
    if (SL_UNLIKELY(domain == SL_DOMAIN_DRIVER))
        sl__library_change(c->log, site, c->size, c->time_ns);
}

static SL_HOT void write_alloc(sl_log *log, const sl_log_event *event, uint8_t domain,
                               uint64_t time_ns) {
    change c;
    sl_live_ref old = sl__live_find(log, event->addr, sl_live_size_word(0, event->device, domain));
    if (SL_UNLIKELY(old.bucket))
        free_implicitly(log, event, old, time_ns);
    if (prepare(&c, log, event, time_ns))
        alloc_block(&c, event, domain);
}

/* ---- tags ---- */

/* One compare-and-swap of the word that holds site, label and tag: site and label stay what they
 * were compared to be, so the totals cannot be hurt (L8). When the block went away after all, the
 * swap fails, or gives the tag to a block of the same site that took the slot; nothing worse. The
 * table comes first: killed in between, the tag is where it outlives the ring. */
bool sl_log_annotate(sl_log *log, uint64_t addr, int8_t device, uint16_t tag) {
    sl_live_ref ref =
        sl__live_find(log, addr, sl_live_size_word(0, device, (uint8_t)SL_DOMAIN_BLOCK));
    if (!ref.bucket)
        return false;
    sl_fmt_live *live = &ref.bucket->slot[ref.slot];
    uint64_t word = sl_get_acquire(&live->site_word);
    uint64_t size = sl_get_acquire(&live->size_word) & SL_SIZE_MASK;
    if (word >> 48 == tag)
        return true;
    if (sl_get_acquire(&ref.bucket->key[ref.slot]) != addr ||
        !sl_swap(&live->site_word, &word, (word & SL_SIZE_MASK) | (uint64_t)tag << 48))
        return false;
    sl_log_event event = {
        .kind = SL_EV_ANNOTATE, .device = device, .tag = tag, .addr = addr, .size = size};
    sl__ring_append(log, &event, sl__now(log), 0);
    return true;
}

/* ---- entry ---- */

static SL_HOT void write_checked(sl_log *log, const sl_log_event *event, uint64_t time_ns) {
    sl_kind_row row = sl_kind_rows[event->kind];
    if (row.effect == SL_EFFECT_NONE) {
        sl__ring_append(log, event, time_ns, 0);
    } else if (SL_UNLIKELY(event->addr <= SL_FORMAT_KEY_BUSY)) {
        sl__health(log, SL_HEALTH_BAD_EVENT);
        sl__ring_append(log, event, time_ns, SL_RECORD_UNTRACKED);
    } else if (row.effect == SL_EFFECT_ALLOC) {
        write_alloc(log, event, row.domain, time_ns);
    } else {
        write_free(log, event, row.domain, time_ns);
    }
}

SL_HOT void sl_log_write(sl_log *log, const sl_log_event *event) {
    if (event->site_memo) /* reading the clock takes as long as this memory */
        __builtin_prefetch(sl__site(log, sl_get32_acquire(event->site_memo)), 1);
    uint64_t time_ns = event->time_ns ? event->time_ns : sl__now(log);
    if (SL_UNLIKELY(event->kind >= SL_EV_LIMIT || event->kind == SL_EV_UNKNOWN)) {
        sl__health(log, SL_HEALTH_BAD_EVENT);
        return;
    }
    if (SL_UNLIKELY(event->size > SL_SIZE_MASK)) {
        sl_log_event cut = *event;
        cut.size = SL_SIZE_MASK;
        sl__health(log, SL_HEALTH_SIZE_CLAMPED);
        write_checked(log, &cut, time_ns);
    } else {
        write_checked(log, event, time_ns);
    }
    sl__curve_totals(log, event, time_ns);
}

/* Between two events the program evicts our cache lines. Prefetching them all here overlaps the
 * misses; later each atomic addition would wait for the stores before it. */
SL_HOT void sl_log_expect(const sl_log *log, const sl_log_event *event) {
    const sl_log_thread *thread = &sl__this_thread;
    __builtin_prefetch(&log->at[SL_SECTION_SITES]);
    sl__live_expect(log, event->addr,
                    sl_live_size_word(0, event->device, sl_kind_rows[event->kind].domain));
    if (SL_UNLIKELY(thread->log != log || !thread->chunk))
        return;
    __builtin_prefetch(
        (const sl_fmt_record *)(const void *)(thread->chunk + 1) + sl_chunk_count(thread->word), 1);
    __builtin_prefetch(thread->chunk, 1);
    __builtin_prefetch(thread->slot, 1);
    __builtin_prefetch(&thread->slot->intent, 1);
}

uint64_t sl_log_now_ns(const sl_log *log) {
    return sl__now(log);
}

void sl_log_health_add(sl_log *log, sl_health_kind kind, uint64_t n) {
    if ((unsigned)kind < SL_FORMAT_HEALTH_MAX)
        sl_add(&log->state->health[kind], n);
}
