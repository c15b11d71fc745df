/* SPDX-License-Identifier: MIT */
#include "run/lines/stack_sums.h"

size_t sl_stack_sums_cnt(const sl_trace *trace) {
    return trace->stacks.spans.cnt ? trace->stacks.spans.cnt : 1;
}

sl_stack_sum *sl_stack_sums_new(const sl_trace *trace) {
    return calloc(sl_stack_sums_cnt(trace), sizeof(sl_stack_sum));
}

static void add(sl_stack_sum *sums, const sl_life *life) {
    sums[life->stack_id].bytes += life->requested_bytes;
    sums[life->stack_id].blocks++;
}

bool sl_stack_sums_live(const sl_replay *replay, uint32_t event, sl_stack_sum *sums) {
    sl_life_ids ids = {0};
    bool is_done = sl_replay_live_at(replay, event, &ids);
    for (size_t i = 0; is_done && i < ids.cnt; i++)
        add(sums, &replay->lives.at[ids.at[i]]);
    sl_vec_free(&ids);
    return is_done;
}

void sl_stack_sums_allocated(const sl_replay *replay, uint32_t from, uint32_t to,
                             sl_stack_sum *sums) {
    size_t end = sl_replay_first_life(replay, to);
    for (size_t i = sl_replay_first_life(replay, from); i < end; i++)
        add(sums, &replay->lives.at[i]);
}

void sl_stack_sums_grown(const sl_replay *replay, sl_stack_sum *sums) {
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++)
        if (replay->lives.at[i].end_event == SL_EVENT_NEVER)
            add(sums, &replay->lives.at[i]);
}
