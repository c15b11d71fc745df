/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_tags.h"

#include <stdlib.h>

#include "model/addr_map.h"
#include "read/slog/slog_facts.h"

/* A block that is live at this point of the events. */
typedef struct live_block {
    sl_device_trace *device; /* NULL = the slot is free */
    uint32_t event_idx;
    uint32_t next_free; /* slot + 1 */
    uint32_t look_cnt;  /* scans of the optimizers while it was live */
    uint64_t born_step; /* steps that were over before it */
    sl_tag_facts facts;
} live_block;

/* A block must be missed by two scans: another optimizer, which steps less often, may hold it. */
#define PASSED_OVER_LOOKS 2

/* A block that waits for the moment that decides whether it outlives its phase. */
typedef struct waiting_block {
    uint32_t slot;
    uint32_t event_idx;
    uint32_t tid; /* that made it */
} waiting_block;

typedef SL_VEC(waiting_block) waiting_blocks;

struct sl_slog_tags {
    sl_trace *trace;           /* borrowed */
    sl_slog_facts *about;      /* owned */
    SL_VEC(live_block) blocks; /* slots */
    uint32_t first_free;       /* slot + 1, 0 = none */
    sl_addr_map slots;         /* place_of -> slot */
    waiting_blocks backward, optimizer;
    uint64_t step_cnt;         /* over at this point of the events; see count_pass */
    sl_train_phase last_phase; /* of the newest alloc */
    bool has_forward;          /* a module has run */
    bool is_in_closure;        /* an optimizer waits for it: its step is not over */
};

/* ---- live blocks ---- */

/* Addresses of devices and of the host have at most 57 bits. */
static uint64_t place_of(int device, uint64_t addr) {
    return addr ^ (uint64_t)(uint8_t)(device + 1) << 57;
}

static void decide(const sl_slog_tags *t, live_block *block) {
    block->facts.is_kept = t->step_cnt - block->born_step >= SL_TAG_KEPT_STEPS;
    block->facts.has_model = t->has_forward || sl_slog_has_steps(t->about);
    block->device->events.tag[block->event_idx] = (uint8_t)sl_tag_decide(&block->facts);
}

static uint32_t take_slot(sl_slog_tags *t) {
    uint32_t slot = t->first_free;
    if (slot) {
        t->first_free = t->blocks.at[slot - 1].next_free;
        return slot - 1;
    }
    if (t->blocks.cnt >= SL_ADDR_NONE || !sl_vec_push(&t->blocks, (live_block){0}))
        return SL_ADDR_NONE;
    return (uint32_t)t->blocks.cnt - 1;
}

static void end_block(sl_slog_tags *t, int device, uint64_t addr) {
    uint32_t slot = sl_addr_map_remove(&t->slots, place_of(device, addr));
    if (slot == SL_ADDR_NONE)
        return;
    decide(t, &t->blocks.at[slot]);
    t->blocks.at[slot] = (live_block){.next_free = t->first_free};
    t->first_free = slot + 1;
}

/* The block while it lives; NULL once it is gone, whoever has its slot now. */
static live_block *still_live(sl_slog_tags *t, const waiting_block *waiting) {
    live_block *block = &t->blocks.at[waiting->slot];
    return block->device && block->event_idx == waiting->event_idx ? block : NULL;
}

/* Those that are still live have outlived what the list waits for. */
static void settle(sl_slog_tags *t, waiting_blocks *list) {
    for (size_t i = 0; i < list->cnt; i++) {
        live_block *block = still_live(t, &list->at[i]);
        if (block)
            block->facts.has_outlived = true;
    }
    list->cnt = 0;
}

/* Keeps a list within twice the live blocks: a program without an optimizer never settles it. */
static bool wait_for(sl_slog_tags *t, waiting_blocks *list, waiting_block waiting) {
    if (list->cnt >= 1024 && list->cnt > 2 * t->slots.cnt) {
        size_t kept = 0;
        for (size_t i = 0; i < list->cnt; i++)
            if (still_live(t, &list->at[i]))
                list->at[kept++] = list->at[i];
        list->cnt = kept;
    }
    return sl_vec_push(list, waiting);
}

static bool begin_block(sl_slog_tags *t, const sl_log_record *r, sl_device_trace *device) {
    uint32_t event_idx = (uint32_t)device->events.cnt - 1;
    sl_train_phase phase = (sl_train_phase)sl_slog_label(t->about, r->tag).phase;
    end_block(t, r->device, r->addr);
    uint32_t slot = take_slot(t);
    if (slot == SL_ADDR_NONE || !sl_addr_map_put(&t->slots, place_of(r->device, r->addr), slot))
        return false;
    t->blocks.at[slot] = (live_block){
        .device = device,
        .event_idx = event_idx,
        .born_step = t->step_cnt,
        .facts = {.annotated = (sl_tag)sl_slog_label(t->about, r->tag).tag,
                  .phase = phase,
                  .is_built = sl_slog_is_built(t->about, r->stack),
                  .is_training = sl_slog_is_training(t->about, r->time_ns)},
    };
    waiting_blocks *list = phase == SL_PHASE_BACKWARD    ? &t->backward
                           : phase == SL_PHASE_OPTIMIZER ? &t->optimizer
                                                         : NULL;
    return !list || wait_for(t, list, (waiting_block){slot, event_idx, r->tid});
}

/* ---- records ---- */

/* A program without steps (inference, an update by hand) is divided by its forward passes. No optimizer begins
 * there: what a backward pass leaves behind is known when something else comes after it. */
static void count_pass(sl_slog_tags *t, sl_train_phase phase) {
    bool is_forward = phase == SL_PHASE_FORWARD;
    t->has_forward |= is_forward;
    if (sl_slog_has_steps(t->about))
        return;
    t->step_cnt += is_forward && t->last_phase != SL_PHASE_FORWARD;
    if (phase != SL_PHASE_BACKWARD)
        settle(t, &t->backward);
}

static bool add_alloc(sl_slog_tags *t, const sl_log_record *r, sl_device_trace *device) {
    if (sl_slog_label(t->about, r->tag).tag != SL_TAG_UNKNOWN) /* it has no phase */
        return begin_block(t, r, device);
    sl_train_phase phase = (sl_train_phase)sl_slog_label(t->about, r->tag).phase;
    if (phase != SL_PHASE_NONE)
        sl_slog_note_training(t->about, r->time_ns);
    /* The thread that stepped is at something else: its step is over. */
    if (phase != SL_PHASE_OPTIMIZER && t->optimizer.cnt > 0 && !t->is_in_closure &&
        t->optimizer.at[t->optimizer.cnt - 1].tid == r->tid)
        settle(t, &t->optimizer);
    count_pass(t, phase);
    t->last_phase = phase;
    return begin_block(t, r, device);
}

/* Rare: after steps 1, 2, 4, 8, ... of an optimizer. */
static void count_look(sl_slog_tags *t) {
    for (size_t i = 0; i < t->blocks.cnt; i++)
        t->blocks.at[i].facts.was_passed_over |=
            ++t->blocks.at[i].look_cnt >= PASSED_OVER_LOOKS && t->blocks.at[i].device;
}

/* The thread's optimizer begins, or has done its work. */
static void change_phase(sl_slog_tags *t, sl_train_phase phase) {
    if (!t->is_in_closure || phase != SL_PHASE_OPTIMIZER)
        settle(t, &t->optimizer);
    t->is_in_closure = false;
    if (phase == SL_PHASE_OPTIMIZER)
        settle(t, &t->backward);
    t->last_phase = phase;
}

/* Of a block, or, without an address, of the thread. */
static void add_annotation(sl_slog_tags *t, const sl_log_record *r) {
    sl_label_meaning meaning = sl_slog_label(t->about, r->tag);
    if (r->addr == 0) {
        if (meaning.is_look)
            count_look(t);
        else if (meaning.is_closure)
            t->is_in_closure = true;
        else if (r->tag)
            change_phase(t, (sl_train_phase)meaning.phase);
        return;
    }
    uint32_t slot = sl_addr_map_find(&t->slots, place_of(r->device, r->addr));
    if (slot != SL_ADDR_NONE && meaning.tag != SL_TAG_UNKNOWN)
        t->blocks.at[slot].facts.annotated = (sl_tag)meaning.tag;
}

bool sl_slog_tags_add(sl_slog_tags *t, const sl_log_record *r, sl_device_trace *device) {
    sl_label_meaning meaning = sl_slog_label(t->about, r->tag);
    t->trace->has_tags |= meaning.phase != SL_PHASE_NONE || meaning.tag != SL_TAG_UNKNOWN;
    switch (r->kind) {
    case SL_EV_ALLOC: return add_alloc(t, r, device);
    case SL_EV_FREE:
    case SL_EV_FREE_COMPLETED: end_block(t, r->device, r->addr); return true;
    case SL_EV_ANNOTATE: add_annotation(t, r); return true;
    case SL_EV_STEP:
        t->is_in_closure = false;
        settle(t, &t->optimizer);
        t->step_cnt++;
        return true;
    default: return true;
    }
}

void sl_slog_tags_finish(sl_slog_tags *t) {
    /* What a backward pass left behind counts when something else came after it. */
    if (t->last_phase != SL_PHASE_BACKWARD)
        settle(t, &t->backward);
    for (size_t i = 0; i < t->blocks.cnt; i++)
        if (t->blocks.at[i].device)
            decide(t, &t->blocks.at[i]);
}

void sl_slog_tags_see_tables(sl_slog_tags *t, const sl_log_tables *tables) {
    sl_slog_see_tables(t->about, tables);
    t->trace->has_tags |= sl_slog_has_tags(t->about);
}

/* When its alloc is no longer in the ring, what is left are the table's words and the steps. */
sl_tag sl_slog_tags_block(sl_slog_tags *t, const sl_log_tables *tables, const sl_log_block *b) {
    uint32_t slot = sl_addr_map_find(&t->slots, place_of(b->device, b->addr));
    if (slot == SL_ADDR_NONE)
        return sl_slog_block_tag(t->about, tables, b);
    live_block *block = &t->blocks.at[slot];
    sl_label_meaning meaning = sl_slog_label(t->about, b->tag);
    if (meaning.tag != SL_TAG_UNKNOWN) {
        block->facts.annotated = (sl_tag)meaning.tag;
        decide(t, block);
    }
    return (sl_tag)block->device->events.tag[block->event_idx];
}

/* ---- life ---- */

sl_status sl_slog_tags_new(sl_trace *trace, sl_log_reader *log, sl_slog_tags **out, sl_error *err) {
    sl_slog_tags *t = calloc(1, sizeof *t);
    if (!t)
        return sl_fail_no_memory(err, "a trace");
    t->trace = trace;
    sl_status status = sl_slog_facts_new(log, &t->about, err);
    if (status < 0)
        sl_slog_tags_free(t);
    else
        *out = t;
    return status;
}

void sl_slog_tags_free(sl_slog_tags *t) {
    if (!t)
        return;
    sl_vec_free(&t->blocks);
    sl_vec_free(&t->backward);
    sl_vec_free(&t->optimizer);
    sl_addr_map_fini(&t->slots);
    sl_slog_facts_free(t->about);
    free(t);
}
