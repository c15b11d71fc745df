/* SPDX-License-Identifier: MIT */
#include "model/stack.h"

#include <assert.h>
#include <string.h>

/* Both tables are open addressing over ids, so they share one growth function: hash_of gives the
 * hash of an existing id. */
typedef uint64_t (*id_hash)(const sl_stacks *stacks, uint32_t id);

static uint64_t hash_frame_id(const sl_stacks *stacks, uint32_t id) {
    return sl_hash_bytes(&stacks->frames.at[id], sizeof(sl_frame));
}

static uint64_t hash_frame_ids(const uint32_t *frame_ids, size_t depth) {
    return sl_hash_bytes(frame_ids, depth * sizeof *frame_ids);
}

static uint64_t hash_stack_id(const sl_stacks *stacks, uint32_t id) {
    sl_stack_span span = stacks->spans.at[id];
    return hash_frame_ids(span.depth ? stacks->frame_ids.at + span.first : NULL, span.depth);
}

static bool rehash(const sl_stacks *stacks, uint32_t **slots, size_t *slot_cnt, size_t id_cnt,
                   id_hash hash_of) {
    size_t new_cnt = *slot_cnt ? *slot_cnt * 2 : 256;
    uint32_t *grown = calloc(new_cnt, sizeof *grown);
    if (!grown)
        return false;
    for (uint32_t id = 0; id < id_cnt; id++) {
        size_t i = (size_t)hash_of(stacks, id) & (new_cnt - 1);
        while (grown[i])
            i = (i + 1) & (new_cnt - 1);
        grown[i] = id + 1;
    }
    free(*slots);
    *slots = grown;
    *slot_cnt = new_cnt;
    return true;
}

uint32_t sl_stacks_intern_frame(sl_stacks *stacks, sl_frame frame) {
    size_t cnt = stacks->frames.cnt;
    if (cnt * 2 >= stacks->frame_slot_cnt &&
        !rehash(stacks, &stacks->frame_slots, &stacks->frame_slot_cnt, cnt, hash_frame_id))
        return SL_STACK_NONE;
    size_t mask = stacks->frame_slot_cnt - 1;
    size_t i = (size_t)sl_hash_bytes(&frame, sizeof frame) & mask;
    for (; stacks->frame_slots[i]; i = (i + 1) & mask) {
        uint32_t id = stacks->frame_slots[i] - 1;
        if (memcmp(&stacks->frames.at[id], &frame, sizeof frame) == 0)
            return id;
    }
    if (cnt >= SL_STACK_NONE - 1 || !sl_vec_push(&stacks->frames, frame))
        return SL_STACK_NONE;
    stacks->frame_slots[i] = (uint32_t)cnt + 1;
    return (uint32_t)cnt;
}

static bool add_span(sl_stacks *stacks, const uint32_t *frame_ids, size_t depth) {
    size_t first = stacks->frame_ids.cnt;
    if (first + depth > UINT32_MAX || !sl_vec_reserve(&stacks->frame_ids, depth))
        return false;
    if (!sl_vec_push(&stacks->spans, ((sl_stack_span){(uint32_t)first, (uint32_t)depth})))
        return false;
    if (depth)
        memcpy(stacks->frame_ids.at + first, frame_ids, depth * sizeof *frame_ids);
    stacks->frame_ids.cnt += depth;
    return true;
}

static bool span_equals(const sl_stacks *stacks, uint32_t id, const uint32_t *frame_ids,
                        size_t depth) {
    sl_stack_span span = stacks->spans.at[id];
    return span.depth == depth && (depth == 0 || memcmp(stacks->frame_ids.at + span.first,
                                                        frame_ids, depth * sizeof *frame_ids) == 0);
}

uint32_t sl_stacks_intern(sl_stacks *stacks, const uint32_t *frame_ids, size_t depth) {
    if (stacks->spans.cnt == 0 && !add_span(stacks, NULL, 0))
        return SL_STACK_NONE;
    if (depth == 0)
        return SL_STACK_EMPTY;
    size_t cnt = stacks->spans.cnt;
    if (cnt * 2 >= stacks->stack_slot_cnt &&
        !rehash(stacks, &stacks->stack_slots, &stacks->stack_slot_cnt, cnt, hash_stack_id))
        return SL_STACK_NONE;
    size_t mask = stacks->stack_slot_cnt - 1;
    size_t i = (size_t)hash_frame_ids(frame_ids, depth) & mask;
    for (; stacks->stack_slots[i]; i = (i + 1) & mask)
        if (span_equals(stacks, stacks->stack_slots[i] - 1, frame_ids, depth))
            return stacks->stack_slots[i] - 1;
    if (cnt >= SL_STACK_NONE - 1 || !add_span(stacks, frame_ids, depth))
        return SL_STACK_NONE;
    stacks->stack_slots[i] = (uint32_t)cnt + 1;
    return (uint32_t)cnt;
}

size_t sl_stack_depth(const sl_stacks *stacks, uint32_t stack_id) {
    return stack_id < stacks->spans.cnt ? stacks->spans.at[stack_id].depth : 0;
}

sl_frame sl_stack_frame(const sl_stacks *stacks, uint32_t stack_id, size_t i) {
    assert(i < sl_stack_depth(stacks, stack_id));
    return stacks->frames.at[stacks->frame_ids.at[stacks->spans.at[stack_id].first + i]];
}

void sl_stacks_fini(sl_stacks *stacks) {
    sl_vec_free(&stacks->frames);
    sl_vec_free(&stacks->frame_ids);
    sl_vec_free(&stacks->spans);
    free(stacks->frame_slots);
    free(stacks->stack_slots);
    *stacks = (sl_stacks){0};
}
