/* SPDX-License-Identifier: MIT */
#include "run/lines/live_split.h"

#include <stdlib.h>

#include "model/torch_frames.h"

_Static_assert(SL_TAG_LIMIT <= SL_SPLIT_MAX && SL_PHASE_LIMIT <= SL_SPLIT_MAX,
               "a split has room for every class");

typedef struct phase_cache {
    uint8_t *phases; /* owned; by stack id: phase + 1, 0 = not asked yet */
} phase_cache;

/* The class of one life. */
typedef unsigned (*classify_fn)(const sl_replay *replay, const sl_life *life, phase_cache *cache);

static unsigned tag_of(const sl_replay *replay, const sl_life *life, phase_cache *cache) {
    SL_UNUSED(cache);
    return (unsigned)sl_replay_tag(replay, life);
}

static sl_train_phase stack_phase(const sl_trace *trace, uint32_t stack_id) {
    uint32_t marks = 0;
    for (size_t i = 0, depth = sl_stack_depth(&trace->stacks, stack_id); i < depth; i++) {
        sl_frame frame = sl_stack_frame(&trace->stacks, stack_id, i);
        marks |= sl_torch_frame_find(sl_strtab_get(&trace->strings, frame.function),
                                     sl_strtab_get(&trace->strings, frame.file))
                     .marks;
    }
    return sl_train_phase_of(marks);
}

/* Autograd's threads have no Python frames: where stacks are recorded, a block without one is theirs. */
static unsigned phase_of(const sl_replay *replay, const sl_life *life, phase_cache *cache) {
    if (life->stack_id == SL_STACK_EMPTY)
        return life->flags & SL_LIFE_BASE ? SL_PHASE_NONE : SL_PHASE_BACKWARD;
    uint8_t *phase = &cache->phases[life->stack_id];
    if (!*phase)
        *phase = (uint8_t)(stack_phase(replay->trace, life->stack_id) + 1);
    return *phase - 1u;
}

static bool is_shown(const sl_sites *sites, const sl_life *life) {
    return !sites || sites->sites.at[sl_sites_of(sites, life)].is_shown;
}

static bool add_lives(const sl_replay *replay, const sl_sites *sites, uint32_t event,
                      classify_fn classify, sl_split *out) {
    phase_cache cache = {calloc(replay->trace->stacks.spans.cnt + 1, 1)};
    sl_life_ids ids = {0};
    bool ok = cache.phases && sl_replay_live_at(replay, event, &ids);
    for (size_t i = 0; ok && i < ids.cnt; i++) {
        const sl_life *life = &replay->lives.at[ids.at[i]];
        if (!is_shown(sites, life))
            continue;
        sl_share *share = &out->shares[classify(replay, life, &cache)];
        share->bytes += life->requested_bytes;
        share->blocks++;
    }
    sl_vec_free(&ids);
    free(cache.phases);
    return ok;
}

bool sl_live_split_by_tag(const sl_replay *replay, const sl_sites *sites, uint32_t event,
                          sl_split *out) {
    *out = (sl_split){.is_known = replay->trace->has_tags, .cnt = SL_TAG_LIMIT};
    for (unsigned i = 0; i < out->cnt; i++)
        out->names[i] = sl_tag_name((sl_tag)i);
    return !out->is_known || add_lives(replay, sites, event, tag_of, out);
}

bool sl_live_split_by_phase(const sl_replay *replay, const sl_sites *sites, uint32_t event,
                            sl_split *out) {
    *out = (sl_split){.is_known = replay->trace->has_event_stacks, .cnt = SL_PHASE_LIMIT};
    for (unsigned i = 0; i < out->cnt; i++)
        out->names[i] = sl_train_phase_name((sl_train_phase)i);
    return !out->is_known || add_lives(replay, sites, event, phase_of, out);
}
