/* SPDX-License-Identifier: MIT */
#include "analyze/step_peaks.h"

#include <math.h>

#include "analyze/thresholds.h"
#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "base/stats/series.h"

bool sl_step_peaks_find(const sl_an *an, sl_step_peaks *out) {
    const sl_steps *steps = an->steps;
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, an->replay);
    for (size_t i = 0; i < steps->borders.cnt; i++) {
        uint32_t end = i + 1 < steps->borders.cnt ? steps->borders.at[i + 1] : an->to;
        while (walk.next < steps->borders.at[i] && sl_replay_walk_next(&walk)) {
        }
        sl_step_peak peak = {walk.totals.requested_bytes, walk.next ? walk.next - 1 : 0, 0};
        while (walk.next < end && sl_replay_walk_next(&walk))
            if (walk.totals.requested_bytes > peak.bytes) {
                peak.bytes = walk.totals.requested_bytes;
                peak.event = walk.next - 1;
            }
        peak.end_bytes = walk.totals.requested_bytes;
        if (!sl_vec_push(out, peak))
            return false;
    }
    return true;
}

size_t sl_step_peaks_warm(size_t step_cnt) {
    size_t share = (size_t)ceil(SL_T_LEAK_WARM_SHARE * (double)step_cnt);
    return sl_max_size(share, SL_T_LEAK_WARM_STEPS);
}

uint64_t sl_step_peaks_usual(const sl_step_peaks *peaks) {
    double values[SL_SERIES_MAX];
    size_t warm = sl_step_peaks_warm(peaks->cnt), used = 0;
    if (peaks->cnt < warm + SL_T_LEAK_MIN_STEPS)
        return 0;
    size_t stride = (peaks->cnt - warm + SL_SERIES_MAX - 1) / SL_SERIES_MAX;
    for (size_t i = warm; i < peaks->cnt; i += stride)
        values[used++] = (double)peaks->at[i].bytes;
    return (uint64_t)sl_stat_median(values, used);
}
