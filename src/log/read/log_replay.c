/* SPDX-License-Identifier: MIT */
#include "log/read/log_replay.h"

#include <stdlib.h>

static uint16_t place_of(uint8_t domain, int device) {
    return (uint16_t)(domain << 8 | (uint8_t)device);
}

/* The slot of an address, or the empty one where it would go. */
static sl_log_replay_slot *find(const sl_log_replay *r, uint64_t addr, uint16_t place) {
    uint64_t hash = sl_live_hash(addr, (uint64_t)place << 48);
    for (size_t i = (size_t)hash;; i++) {
        sl_log_replay_slot *slot = &r->slots[i & (r->slot_cnt - 1)];
        if (slot->addr == 0 || (slot->addr == addr && slot->place == place))
            return slot;
    }
}

static bool make_room(sl_log_replay *r) {
    if (r->used * 4 < r->slot_cnt * 3)
        return true;
    sl_log_replay bigger = *r;
    bigger.slot_cnt = r->slot_cnt ? r->slot_cnt * 2 : 1024;
    bigger.slots = calloc(bigger.slot_cnt, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < r->slot_cnt; i++)
        if (r->slots[i].addr)
            *find(&bigger, r->slots[i].addr, r->slots[i].place) = r->slots[i];
    free(r->slots);
    *r = bigger;
    return true;
}

static void add_alloc(sl_log_replay *r, sl_log_replay_slot *slot, const sl_log_record *e) {
    slot->size = e->size;
    slot->time_ns = e->time_ns;
    slot->is_live = true;
    r->live_blocks++;
    r->live_bytes += e->size;
    r->alloc_cnt++;
    r->alloc_bytes += e->size;
}

static void add_free(sl_log_replay *r, sl_log_replay_slot *slot) {
    if (!slot->is_live)
        return;
    slot->is_live = false;
    r->live_blocks--;
    r->live_bytes -= slot->size;
    r->free_cnt++;
    r->free_bytes += slot->size;
}

bool sl_log_replay_add(sl_log_replay *r, const sl_log_record *e) {
    if (e->kind >= SL_EV_LIMIT || sl_kind_rows[e->kind].effect == SL_EFFECT_NONE ||
        (e->flags & SL_RECORD_UNTRACKED) || e->addr == 0)
        return true;
    if (!make_room(r))
        return false;
    uint16_t place = place_of(sl_kind_rows[e->kind].domain, e->device);
    sl_log_replay_slot *slot = find(r, e->addr, place);
    r->used += slot->addr == 0;
    slot->addr = e->addr;
    slot->place = place;
    if (sl_kind_rows[e->kind].effect == SL_EFFECT_ALLOC)
        add_alloc(r, slot, e);
    else
        add_free(r, slot);
    return true;
}

static sl_status check_sum(const char *what, uint64_t replayed, uint64_t kept, sl_error *err) {
    if (replayed == kept)
        return SL_OK;
    return sl_fail(err, SL_E_FORMAT,
                   "expected %s of %llu from the events, found %llu in the tables", what,
                   (unsigned long long)replayed, (unsigned long long)kept);
}

sl_status sl_log_replay_compare(const sl_log_replay *r, const sl_log_tables *t, sl_error *err) {
    uint64_t alloc_cnt = 0, alloc_bytes = 0, free_cnt = 0, free_bytes = 0;
    for (size_t i = 0; i < t->sites.cnt; i++) {
        alloc_cnt += t->sites.at[i].alloc_cnt;
        alloc_bytes += t->sites.at[i].alloc_bytes;
        free_cnt += t->sites.at[i].free_cnt;
        free_bytes += t->sites.at[i].free_bytes;
    }
    SL_TRY(check_sum("a number of live blocks", r->live_blocks, t->blocks.cnt, err));
    for (size_t i = 0; i < t->blocks.cnt; i++) {
        const sl_log_block *b = &t->blocks.at[i];
        const sl_log_replay_slot *slot =
            r->slot_cnt ? find(r, b->addr, place_of(b->domain, b->device)) : NULL;
        if (!slot || !slot->is_live || slot->size != b->size)
            return sl_fail(err, SL_E_FORMAT,
                           "expected the block at %#llx (%llu bytes) of the live table among the "
                           "events, found it %s",
                           (unsigned long long)b->addr, (unsigned long long)b->size,
                           slot && slot->is_live ? "with another size"
                                                 : "freed or never allocated");
    }
    SL_TRY(check_sum("a number of allocs", r->alloc_cnt, alloc_cnt, err));
    SL_TRY(check_sum("allocated bytes", r->alloc_bytes, alloc_bytes, err));
    SL_TRY(check_sum("a number of frees", r->free_cnt, free_cnt, err));
    return check_sum("freed bytes", r->free_bytes, free_bytes, err);
}

void sl_log_replay_fini(sl_log_replay *r) {
    free(r->slots);
    *r = (sl_log_replay){0};
}
