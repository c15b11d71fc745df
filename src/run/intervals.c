/* SPDX-License-Identifier: MIT */
#include "run/intervals.h"

#include <inttypes.h>

/* The multiple of `every` at or before the time. */
static int64_t border_before(int64_t time_us, int64_t every_us) {
    int64_t rest = time_us % every_us;
    return time_us - (rest < 0 ? rest + every_us : rest);
}

sl_status sl_interval_walk_init(sl_interval_walk *walk, const sl_replay *replay, int64_t every_us,
                                sl_error *err) {
    double span_us = sl_replay_span_us(replay, 0, sl_replay_end(replay));
    if (span_us / (double)every_us > SL_INTERVALS_MAX)
        return sl_fail(err, SL_E_LIMIT,
                       "%.0f intervals of %" PRId64 " us are too many; at most %d are made",
                       span_us / (double)every_us, every_us, SL_INTERVALS_MAX);
    *walk = (sl_interval_walk){.replay = replay,
                               .every_us = every_us,
                               .next_us = border_before(sl_replay_time(replay, 0), every_us)};
    sl_replay_walk_init(&walk->totals, replay);
    return SL_OK;
}

bool sl_interval_walk_next(sl_interval_walk *walk, sl_interval *out) {
    const sl_replay *replay = walk->replay;
    uint32_t from = walk->totals.next;
    if (from >= replay->event_cnt)
        return false;
    *out = (sl_interval){.from_us = walk->next_us, .from = from};
    if (__builtin_add_overflow(walk->next_us, walk->every_us, &out->until_us))
        out->until_us = INT64_MAX;
    uint64_t highest = walk->totals.totals.requested_bytes;
    out->peak = from ? from - 1 : SL_EVENT_BEFORE;
    while (walk->totals.next < replay->event_cnt &&
           sl_replay_time(replay, walk->totals.next) < out->until_us &&
           sl_replay_walk_next(&walk->totals))
        if (walk->totals.totals.requested_bytes > highest) {
            highest = walk->totals.totals.requested_bytes;
            out->peak = walk->totals.next - 1;
        }
    out->to = walk->totals.next;
    walk->next_us = out->until_us;
    return true;
}
