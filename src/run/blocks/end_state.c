/* SPDX-License-Identifier: MIT */
#include "run/blocks/end_state.h"

#include "run/blocks/replay.h"

static bool copy_known(sl_end_state *state, const sl_device_trace *device) {
    for (size_t i = 0; i < device->segments.cnt; i++)
        if (!sl_vec_push(&state->segments, device->segments.at[i]))
            return false;
    for (size_t i = 0; i < device->blocks.cnt; i++)
        if (!sl_vec_push(&state->blocks, device->blocks.at[i]))
            return false;
    return true;
}

/* Adds a block to the last segment and keeps that segment's sums. */
static bool add_block(sl_end_state *state, const sl_block *block) {
    sl_segment *segment = &state->segments.at[state->segments.cnt - 1];
    segment->block_cnt++;
    segment->total_bytes += block->size_bytes;
    if (block->state != SL_BLOCK_INACTIVE) {
        segment->active_bytes += block->size_bytes;
        segment->requested_bytes += block->requested_bytes;
    }
    if (block->state == SL_BLOCK_ALLOCATED)
        segment->allocated_bytes += block->size_bytes;
    return sl_vec_push(&state->blocks, *block);
}

static sl_block block_of_life(const sl_life *life) {
    bool is_dropped = life->drop_event != SL_EVENT_NEVER;
    return (sl_block){.addr = life->addr,
                      .size_bytes = life->block_bytes,
                      .requested_bytes = life->requested_bytes,
                      .stack_id = life->stack_id,
                      .state = is_dropped ? SL_BLOCK_PENDING_FREE : SL_BLOCK_ALLOCATED};
}

static bool add_extent(sl_end_state *state, const sl_replay *replay, const sl_extent *extent) {
    sl_block block = {.addr = extent->addr, .size_bytes = extent->bytes};
    if (extent->life_idx != SL_IDX_NONE)
        block = block_of_life(&replay->lives.at[extent->life_idx]);
    block.segment_idx = (uint32_t)(state->segments.cnt - 1);
    return add_block(state, &block);
}

static bool begin_segment(sl_end_state *state, const sl_segment_life *life) {
    return sl_vec_push(&state->segments, ((sl_segment){.addr = life->addr,
                                                       .first_block = (uint32_t)state->blocks.cnt,
                                                       .stream_idx = life->stream_idx,
                                                       .pool_idx = life->pool_idx,
                                                       .is_large = life->is_large,
                                                       .is_expandable = life->is_expandable}));
}

static bool build_from_geometry(sl_end_state *state, const sl_replay *replay, uint32_t last) {
    sl_extents extents = {0};
    bool is_done = sl_replay_geometry_at(replay, last, &extents);
    uint32_t segment_idx = SL_IDX_NONE;
    for (size_t i = 0; is_done && i < extents.cnt; i++) {
        if (extents.at[i].segment_idx != segment_idx) {
            segment_idx = extents.at[i].segment_idx;
            is_done = begin_segment(state, &replay->segments.at[segment_idx]);
        }
        is_done = is_done && add_extent(state, replay, &extents.at[i]);
    }
    sl_vec_free(&extents);
    return is_done;
}

/* PyTorch's small pool serves requests up to 1 MiB. */
#define SMALL_MAX_BYTES ((uint64_t)1 << 20)

static bool add_alone(sl_end_state *state, const sl_block *block, uint16_t stream_idx) {
    sl_segment_life segment = {.addr = block->addr,
                               .stream_idx = stream_idx,
                               .is_large = block->size_bytes > SMALL_MAX_BYTES};
    sl_block placed = *block;
    if (!begin_segment(state, &segment))
        return false;
    placed.segment_idx = (uint32_t)(state->segments.cnt - 1);
    return add_block(state, &placed);
}

static bool build_from_lives(sl_end_state *state, const sl_replay *replay, uint32_t last) {
    sl_life_ids ids = {0};
    bool is_done = sl_replay_live_at(replay, last, &ids);
    for (size_t i = 0; is_done && i < ids.cnt; i++) {
        const sl_life *life = &replay->lives.at[ids.at[i]];
        sl_block block = block_of_life(life);
        is_done = add_alone(state, &block, life->stream_idx);
    }
    sl_vec_free(&ids);
    return is_done;
}

/* An input that knows its live blocks, but not the segments around them. */
static bool build_from_blocks(sl_end_state *state, const sl_device_trace *device) {
    for (size_t i = 0; i < device->blocks.cnt; i++)
        if (!add_alone(state, &device->blocks.at[i], 0))
            return false;
    return true;
}

sl_status sl_end_state_load(sl_end_state *state, const sl_run_device *of, sl_error *err) {
    const sl_device_trace *device = of->events;
    const sl_replay *replay;
    *state = (sl_end_state){0};
    bool is_done;
    SL_TRY(sl_run_replay(of, &replay, err));
    /* The input's own end state is that of the exit (T3). */
    bool is_given = device->has_end_state && replay->event_cnt == device->events.cnt;
    if (is_given && device->segments.cnt == 0)
        is_done = build_from_blocks(state, device);
    else if (is_given)
        is_done = copy_known(state, device);
    else if (replay->geometry_known)
        is_done = build_from_geometry(state, replay, sl_replay_end(replay));
    else
        is_done = build_from_lives(state, replay, sl_replay_end(replay));
    if (is_done)
        return SL_OK;
    sl_end_state_fini(state);
    return sl_fail_no_memory(err, "the end state");
}

void sl_end_state_fini(sl_end_state *state) {
    sl_vec_free(&state->segments);
    sl_vec_free(&state->blocks);
}
