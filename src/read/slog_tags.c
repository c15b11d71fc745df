/* SPDX-License-Identifier: MIT */
#include "read/slog_tags.h"

#include <stdlib.h>
#include <string.h>

#include "model/addr_map.h"
#include "model/tag_rules.h"

/* What a label means to us; labels also name libraries. */
typedef struct label_meaning {
    bool is_known;
    uint8_t phase; /* sl_train_phase */
    uint8_t tag;   /* sl_tag */
} label_meaning;

/* A block that is live at this point of the events. */
typedef struct live_block {
    sl_device_trace *device; /* NULL = the slot is free */
    uint32_t event_idx;
    uint32_t next_free; /* slot + 1 */
    sl_tag_facts facts;
} live_block;

/* A block that waits for the moment that decides whether it outlives its phase. */
typedef struct waiting_block {
    uint32_t slot;
    uint32_t event_idx;
    uint32_t tid; /* that made it */
} waiting_block;

typedef SL_VEC(waiting_block) waiting_blocks;

struct sl_slog_tags {
    sl_trace *trace;    /* borrowed */
    sl_log_reader *log; /* borrowed */
    label_meaning labels[SL_LABEL_CAP];
    SL_VEC(live_block) blocks; /* slots */
    uint32_t first_free;       /* slot + 1, 0 = none */
    sl_addr_map slots;         /* place_of -> slot */
    waiting_blocks backward, optimizer;
    uint8_t *is_built; /* owned; by stack id: 0 not asked yet, 1 no, 2 yes */
    size_t is_built_cnt;
    uint64_t training_from_ns; /* UINT64_MAX = not yet */
    uint64_t last_step_ns;     /* 0 = none */
    sl_train_phase last_phase; /* of the newest alloc */
};

/* ---- names and stacks ---- */

static label_meaning meaning_of(sl_slog_tags *t, uint16_t label) {
    if (label == 0 || label >= SL_LABEL_CAP)
        return (label_meaning){0};
    label_meaning *meaning = &t->labels[label];
    if (!meaning->is_known) {
        sl_str name = sl_log_get_label(t->log, label);
        *meaning = (label_meaning){name.len > 0, (uint8_t)sl_train_phase_find(name),
                                   (uint8_t)sl_tag_find(name.ptr, name.len)};
    }
    return *meaning;
}

static bool find_build_frame(const sl_trace *trace, uint32_t stack_id) {
    for (size_t i = 0, depth = sl_stack_depth(&trace->stacks, stack_id); i < depth; i++) {
        sl_frame frame = sl_stack_frame(&trace->stacks, stack_id, i);
        if (sl_frame_marks_find(sl_strtab_get(&trace->strings, frame.function),
                                sl_strtab_get(&trace->strings, frame.file)) &
            SL_FRAME_BUILD)
            return true;
    }
    return false;
}

/* Without memory for the answers each is found again. */
static bool is_built(sl_slog_tags *t, uint32_t stack_id) {
    if (stack_id >= t->is_built_cnt) {
        size_t cnt = ((size_t)stack_id + 1) * 2;
        uint8_t *grown = realloc(t->is_built, cnt);
        if (!grown)
            return find_build_frame(t->trace, stack_id);
        memset(grown + t->is_built_cnt, 0, cnt - t->is_built_cnt);
        t->is_built = grown;
        t->is_built_cnt = cnt;
    }
    if (!t->is_built[stack_id])
        t->is_built[stack_id] = find_build_frame(t->trace, stack_id) ? 2 : 1;
    return t->is_built[stack_id] == 2;
}

/* ---- live blocks ---- */

/* Addresses of devices and of the host have at most 57 bits. */
static uint64_t place_of(int device, uint64_t addr) {
    return addr ^ (uint64_t)(uint8_t)(device + 1) << 57;
}

static void decide(const live_block *block) {
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
    decide(&t->blocks.at[slot]);
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
    sl_train_phase phase = (sl_train_phase)meaning_of(t, r->tag).phase;
    end_block(t, r->device, r->addr);
    uint32_t slot = take_slot(t);
    if (slot == SL_ADDR_NONE || !sl_addr_map_put(&t->slots, place_of(r->device, r->addr), slot))
        return false;
    t->blocks.at[slot] = (live_block){
        .device = device,
        .event_idx = event_idx,
        .facts = {.phase = phase,
                  .is_built = is_built(t, device->events.stack_id[event_idx]),
                  .is_training = r->time_ns >= t->training_from_ns},
    };
    waiting_blocks *list = phase == SL_PHASE_BACKWARD    ? &t->backward
                           : phase == SL_PHASE_OPTIMIZER ? &t->optimizer
                                                         : NULL;
    return !list || wait_for(t, list, (waiting_block){slot, event_idx, r->tid});
}

/* ---- records ---- */

static bool add_alloc(sl_slog_tags *t, const sl_log_record *r, sl_device_trace *device) {
    sl_train_phase phase = (sl_train_phase)meaning_of(t, r->tag).phase;
    if (phase != SL_PHASE_NONE && r->time_ns < t->training_from_ns)
        t->training_from_ns = r->time_ns;
    /* The thread that stepped is at something else: its step is over. */
    if (phase != SL_PHASE_OPTIMIZER && t->optimizer.cnt > 0 &&
        t->optimizer.at[t->optimizer.cnt - 1].tid == r->tid)
        settle(t, &t->optimizer);
    t->last_phase = phase;
    return begin_block(t, r, device);
}

/* The thread's optimizer begins, or has done its work. */
static void change_phase(sl_slog_tags *t, sl_train_phase phase) {
    settle(t, &t->optimizer);
    if (phase == SL_PHASE_OPTIMIZER)
        settle(t, &t->backward);
    t->last_phase = phase;
}

/* Of a block, or, without an address, of the thread. */
static void add_annotation(sl_slog_tags *t, const sl_log_record *r) {
    label_meaning meaning = meaning_of(t, r->tag);
    if (r->addr == 0) {
        if (r->tag)
            change_phase(t, (sl_train_phase)meaning.phase);
        return;
    }
    uint32_t slot = sl_addr_map_find(&t->slots, place_of(r->device, r->addr));
    if (slot != SL_ADDR_NONE && meaning.tag != SL_TAG_UNKNOWN)
        t->blocks.at[slot].facts.annotated = (sl_tag)meaning.tag;
}

bool sl_slog_tags_add(sl_slog_tags *t, const sl_log_record *r, sl_device_trace *device) {
    label_meaning meaning = meaning_of(t, r->tag);
    t->trace->has_tags |= meaning.phase != SL_PHASE_NONE || meaning.tag != SL_TAG_UNKNOWN;
    switch (r->kind) {
    case SL_EV_ALLOC: return add_alloc(t, r, device);
    case SL_EV_FREE:
    case SL_EV_FREE_COMPLETED: end_block(t, r->device, r->addr); return true;
    case SL_EV_ANNOTATE: add_annotation(t, r); return true;
    case SL_EV_STEP: settle(t, &t->optimizer); return true;
    default: return true;
    }
}

void sl_slog_tags_finish(sl_slog_tags *t) {
    /* What a backward pass left behind counts when something else came after it. */
    if (t->last_phase != SL_PHASE_BACKWARD)
        settle(t, &t->backward);
    for (size_t i = 0; i < t->blocks.cnt; i++)
        if (t->blocks.at[i].device)
            decide(&t->blocks.at[i]);
}

/* Its alloc is no longer in the ring: what is left are the table's words and the steps. */
static sl_tag decide_old(sl_slog_tags *t, const sl_log_block *b, uint32_t stack_id) {
    label_meaning meaning = meaning_of(t, b->tag);
    sl_tag_facts facts = {.annotated = (sl_tag)meaning.tag,
                          .phase = (sl_train_phase)meaning.phase,
                          .is_built = is_built(t, stack_id),
                          .is_training = b->time_ns >= t->training_from_ns,
                          .has_outlived = b->time_ns < t->last_step_ns};
    return sl_tag_decide(&facts);
}

sl_tag sl_slog_tags_block(sl_slog_tags *t, const sl_log_block *b, uint32_t stack_id) {
    label_meaning meaning = meaning_of(t, b->tag);
    t->trace->has_tags |= meaning.phase != SL_PHASE_NONE || meaning.tag != SL_TAG_UNKNOWN;
    uint32_t slot = sl_addr_map_find(&t->slots, place_of(b->device, b->addr));
    if (slot == SL_ADDR_NONE)
        return decide_old(t, b, stack_id);
    live_block *block = &t->blocks.at[slot];
    if (meaning.tag != SL_TAG_UNKNOWN) {
        block->facts.annotated = (sl_tag)meaning.tag;
        decide(block);
    }
    return (sl_tag)block->device->events.tag[block->event_idx];
}

/* ---- life ---- */

/* The list of steps outlives the ring. */
static sl_status find_steps(sl_slog_tags *t, sl_error *err) {
    sl_log_marks marks;
    SL_TRY(sl_log_load_marks(t->log, &marks, err));
    for (size_t i = 0; i < marks.cnt; i++) {
        if (marks.at[i].kind != SL_EV_STEP)
            continue;
        if (marks.at[i].time_ns < t->training_from_ns)
            t->training_from_ns = marks.at[i].time_ns;
        if (marks.at[i].time_ns > t->last_step_ns)
            t->last_step_ns = marks.at[i].time_ns;
    }
    sl_vec_free(&marks);
    return SL_OK;
}

sl_status sl_slog_tags_new(sl_trace *trace, sl_log_reader *log, sl_slog_tags **out, sl_error *err) {
    sl_slog_tags *t = calloc(1, sizeof *t);
    if (!t)
        return sl_fail(err, SL_E_NOMEM, "no memory for a trace");
    t->trace = trace;
    t->log = log;
    t->training_from_ns = UINT64_MAX;
    sl_status status = find_steps(t, err);
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
    free(t->is_built);
    free(t);
}
