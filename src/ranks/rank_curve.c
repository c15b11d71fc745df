/* SPDX-License-Identifier: MIT */
#include "ranks/rank_curve.h"

#include <stdlib.h>

#include "base/core/order.h"

static const sl_rank_bin empty = {SL_BIN_NONE, SL_BIN_NONE, SL_BIN_NONE};

static void join(sl_rank_bin *to, const sl_rank_bin *from) {
    int64_t peak = sl_max_i64(to->peak, from->peak);
    if (from->bytes != SL_BIN_NONE || from->time_ns != SL_BIN_NONE)
        *to = *from;
    to->peak = peak;
}

void sl_rank_curve_coarsen(sl_rank_curve *curve, uint32_t shift) {
    while (curve->shift < shift) {
        uint64_t first = curve->first >> 1;
        uint32_t cnt = 0;
        for (uint32_t i = 0; i < curve->cnt; i++) {
            uint32_t to = (uint32_t)(((curve->first + i) >> 1) - first);
            sl_rank_bin bin = curve->at[i];
            while (cnt <= to)
                curve->at[cnt++] = empty;
            join(&curve->at[to], &bin);
        }
        curve->cnt = cnt;
        curve->first = first;
        curve->shift++;
    }
}

bool sl_rank_curve_add(sl_rank_curve *curve, uint64_t step, const sl_rank_bin *bin) {
    if (!curve->at) {
        curve->at = malloc(SL_RANK_BINS * sizeof *curve->at);
        if (!curve->at)
            return false;
        curve->first = step >> curve->shift;
    }
    if (curve->cnt && step >> curve->shift < curve->first + curve->cnt - 1)
        return true;
    while ((step >> curve->shift) - curve->first >= SL_RANK_BINS)
        sl_rank_curve_coarsen(curve, curve->shift + 1);
    uint32_t idx = (uint32_t)((step >> curve->shift) - curve->first);
    while (curve->cnt <= idx)
        curve->at[curve->cnt++] = empty;
    join(&curve->at[idx], bin);
    return true;
}

const sl_rank_bin *sl_rank_curve_bin(const sl_rank_curve *curve, uint64_t number) {
    if (number < curve->first || number - curve->first >= curve->cnt)
        return NULL;
    const sl_rank_bin *bin = &curve->at[number - curve->first];
    return bin->bytes == SL_BIN_NONE ? NULL : bin;
}

void sl_rank_curve_finish(sl_rank_curve *curve) {
    sl_rank_bin *kept = curve->cnt ? realloc(curve->at, curve->cnt * sizeof *kept) : NULL;
    curve->at = kept ? kept : curve->at;
}

void sl_rank_curve_free(sl_rank_curve *curve) {
    free(curve->at);
    *curve = (sl_rank_curve){0};
}
