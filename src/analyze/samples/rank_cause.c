/* SPDX-License-Identifier: MIT */
#include "analyze/samples/rank_cause.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/thresholds.h"
#include "base/core/order.h"

char *sl__ranks_list(sl_arena *arena, const int *ranks, size_t cnt) {
    char text[900];
    size_t len = 0, shown = cnt < 64 ? cnt : 64;
    text[0] = '\0';
    for (size_t i = 0; i < shown; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", i ? ", " : "", ranks[i]);
    if (cnt > shown)
        return sl_arena_printf(arena, "%s and %zu more", text, cnt - shown);
    return sl_arena_copy(arena, text, len);
}

/* The first place where uninterrupted growth reaches the threshold. */
static bool find_spike(const sl_rank_point *points, const sl_rank_row *row, sl_rank_suspect *out) {
    int64_t threshold = (int64_t)(SL_T_RANK_RISE_SHARE * (double)row->peak_used_bytes);
    int64_t sum = 0;
    size_t deltas = 0;
    threshold = sl_max_i64(threshold, SL_T_RANK_RISE_BYTES);
    for (size_t i = 1; i < row->sample_cnt; i++) {
        int64_t delta = points[i].used_bytes - points[i - 1].used_bytes;
        sum = delta > 0 ? sum + delta : 0;
        deltas = delta > 0 ? deltas + 1 : 0;
        if (sum < threshold)
            continue;
        *out = (sl_rank_suspect){.rank = row->rank,
                                 .first_spike_ns = points[i].timestamp_ns,
                                 .aligned_first_spike_ns = points[i].aligned_ns,
                                 .peak_delta_bytes = sum,
                                 .spike_window_samples = deltas};
        return true;
    }
    return false;
}

static sl_status collect(sl_ranks *ranks, bool *is_sparse, sl_error *err) {
    SL_VEC(int) short_ranks = {0};
    size_t point = 0;
    bool is_good = true;
    for (size_t i = 0; is_good && i < ranks->rows.cnt; i++) {
        const sl_rank_row *row = &ranks->rows.at[i];
        sl_rank_suspect candidate;
        if (row->sample_cnt < 2)
            is_good = sl_vec_push(&short_ranks, row->rank);
        else if (find_spike(&ranks->points.at[point], row, &candidate))
            is_good = sl_vec_push(&ranks->suspects, candidate);
        point += row->sample_cnt;
    }
    *is_sparse = short_ranks.cnt > 0 || ranks->missing.cnt > 0;
    if (is_good && short_ranks.cnt) {
        char *list = sl__ranks_list(&ranks->arena, short_ranks.at, short_ranks.cnt);
        is_good = list != NULL;
        if (list)
            sl__ranks_note(ranks,
                           "These ranks have fewer than two samples and cannot show a "
                           "spike: %s.",
                           list);
    }
    sl_vec_free(&short_ranks);
    return is_good ? SL_OK : sl_fail_no_memory(err, "the suspects");
}

static int compare_suspects(const void *a, const void *b) {
    const sl_rank_suspect *x = a, *y = b;
    if (x->aligned_first_spike_ns != y->aligned_first_spike_ns)
        return x->aligned_first_spike_ns < y->aligned_first_spike_ns ? -1 : 1;
    if (x->peak_delta_bytes != y->peak_delta_bytes)
        return x->peak_delta_bytes > y->peak_delta_bytes ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static sl_rank_confidence rate(const sl_ranks *ranks, const sl_rank_suspect *s, bool is_sparse,
                               double interval_ns) {
    int64_t earliest = ranks->suspects.at[0].aligned_first_spike_ns;
    if (!ranks->has_onset || s->aligned_first_spike_ns != earliest || is_sparse)
        return SL_RANK_LOW;
    bool is_unique = earliest < ranks->onset_ns;
    bool leads = interval_ns <= 0 || (double)s->lead_ns >= interval_ns;
    return is_unique && leads ? SL_RANK_HIGH : SL_RANK_MEDIUM;
}

/* Ranks that rose after the onset are not suspects; the others get their lead and their rating. */
static void judge(sl_ranks *ranks, bool is_sparse, double interval_ns) {
    size_t cnt = 0;
    while (cnt < ranks->suspects.cnt &&
           (!ranks->has_onset || ranks->suspects.at[cnt].aligned_first_spike_ns <= ranks->onset_ns))
        cnt++;
    ranks->suspects.cnt = cnt;
    for (size_t i = 0; i < cnt; i++) {
        sl_rank_suspect *s = &ranks->suspects.at[i];
        s->lead_ns = ranks->has_onset ? ranks->onset_ns - s->aligned_first_spike_ns : 0;
        s->supporting_ranks = cnt;
        s->confidence = rate(ranks, s, is_sparse, interval_ns);
    }
}

sl_status sl__rank_cause(sl_ranks *ranks, double interval_ns, sl_error *err) {
    bool is_sparse = false;
    if (ranks->rows.cnt < 2) {
        sl__ranks_note(ranks, "At least two ranks are required for a first cause.");
        return SL_OK;
    }
    SL_TRY(collect(ranks, &is_sparse, err));
    if (!ranks->suspects.cnt) {
        sl__ranks_note(ranks, "No qualifying cross-rank spikes were detected.");
        return SL_OK;
    }
    qsort(ranks->suspects.at, ranks->suspects.cnt, sizeof *ranks->suspects.at, compare_suspects);
    ranks->has_onset = ranks->suspects.cnt > 1;
    if (ranks->has_onset)
        ranks->onset_ns = ranks->suspects.at[1].aligned_first_spike_ns;
    else
        sl__ranks_note(ranks, "Only one rank shows a qualifying spike, which limits confidence.");
    judge(ranks, is_sparse, interval_ns);
    return SL_OK;
}
