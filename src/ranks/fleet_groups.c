/* SPDX-License-Identifier: MIT */
/* Ranks that behave alike: those whose memory is at about the same level early in the run. A pipeline stage, the
 * holders of an expert and a rank 0 with more to do are groups of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "base/stats/series.h"
#include "ranks/fleet_impl.h"

/* Neighbours in order of their level that are further apart than this are not alike. */
#define LEVEL_GAP_SHARE 0.04
#define LEVEL_GAP_BYTES (4 << 20)
/* Fewer ranks than this make no median worth comparing with: they join the group with the nearest level. */
#define GROUP_MIN       3u
#define FEW_RANKS       16u
/* The first steps, after those that allocate what stays. */
#define WARM_UP_BINS    2u

typedef struct leveled {
    uint32_t row;
    double level; /* NaN = not known */
} leveled;

static int compare_levels(const void *a, const void *b) {
    const leveled *x = a, *y = b;
    return x->level != y->level ? SL_ORDER(x->level, y->level) : SL_ORDER(x->row, y->row);
}

static double early_level(const sl_fleet *fleet, const sl_fleet_row *row, bool is_peak) {
    double room[SL_SERIES_MAX];
    size_t cnt = 0, wanted = sl_min_size(sl_max_size(fleet->bin_cnt / 8, 3), SL_SERIES_MAX);
    for (uint64_t b = fleet->bin_cnt > 4 * WARM_UP_BINS ? WARM_UP_BINS : 0;
         b < fleet->bin_cnt && cnt < wanted; b++) {
        const sl_rank_bin *bin = sl__row_bin(fleet, row, b);
        if (bin && (!is_peak || bin->peak != SL_BIN_NONE))
            room[cnt++] = (double)(is_peak ? bin->peak : bin->bytes);
    }
    return cnt ? sl_stat_median(room, cnt) : (double)NAN;
}

static bool is_apart(double below, double above) {
    double gap = above - below;
    return gap > LEVEL_GAP_BYTES && gap > LEVEL_GAP_SHARE * above;
}

static sl_status add_group(sl_fleet *fleet, const leveled *at, size_t cnt, sl_error *err) {
    sl_fleet_group group = {.level_bytes = (int64_t)at[cnt / 2].level};
    if (!sl_vec_push(&fleet->groups, group))
        return sl_fail_no_memory(err, "the groups of ranks");
    for (size_t i = 0; i < cnt; i++)
        fleet->rows.at[at[i].row].group = (uint32_t)fleet->groups.cnt - 1;
    return SL_OK;
}

/* Ranges [from, to) of alike levels; those that are too small join the neighbour with the nearer level, if there is one
 * that is large enough. */
static sl_status split(sl_fleet *fleet, const leveled *at, size_t cnt, sl_error *err) {
    for (size_t from = 0, to; from < cnt; from = to) {
        for (to = from + 1; to < cnt && !is_apart(at[to - 1].level, at[to].level);)
            to++;
        SL_TRY(add_group(fleet, at + from, to - from, err));
    }
    return SL_OK;
}

static void count_members(const sl_fleet *fleet, size_t *members) {
    memset(members, 0, fleet->groups.cnt * sizeof *members);
    for (size_t i = 0; i < fleet->rows.cnt; i++)
        if (fleet->rows.at[i].group != SL_IDX_NONE)
            members[fleet->rows.at[i].group]++;
}

/* The large group with the nearest level; itself when there is none. */
static uint32_t nearest(const sl_fleet *fleet, const size_t *members, uint32_t small) {
    uint32_t best = small;
    int64_t distance = INT64_MAX;
    for (uint32_t g = 0; g < fleet->groups.cnt; g++) {
        int64_t gap = fleet->groups.at[g].level_bytes - fleet->groups.at[small].level_bytes;
        gap = gap < 0 ? -gap : gap;
        if (members[g] >= GROUP_MIN && gap < distance)
            distance = gap, best = g;
    }
    return best;
}

static bool join_small(sl_fleet *fleet) {
    size_t *members = malloc((fleet->groups.cnt + 1) * sizeof *members);
    uint32_t *to = malloc((fleet->groups.cnt + 1) * sizeof *to);
    size_t kept = 0;
    bool has_large = false;
    if (members && to) {
        count_members(fleet, members);
        for (uint32_t g = 0; g < fleet->groups.cnt; g++)
            has_large = has_large || members[g] >= GROUP_MIN;
        /* Few ranks, and each is different: they are compared by how they change. */
        for (uint32_t g = 0; g < fleet->groups.cnt; g++)
            to[g] = !has_large ? 0 : members[g] < GROUP_MIN ? nearest(fleet, members, g) : g;
        /* Numbers without gaps, in order of the level. */
        for (uint32_t g = 0; g < fleet->groups.cnt; g++)
            if (to[g] == g)
                fleet->groups.at[kept] = fleet->groups.at[g], members[g] = kept++;
        for (size_t i = 0; i < fleet->rows.cnt; i++)
            if (fleet->rows.at[i].group != SL_IDX_NONE)
                fleet->rows.at[i].group = (uint32_t)members[to[fleet->rows.at[i].group]];
        fleet->groups.cnt = kept;
    }
    bool has_room = members && to;
    free(members);
    free(to);
    return has_room;
}

/* ---- what a group is like ---- */

double sl__fleet_typical(double *room, size_t cnt) {
    if (cnt > FEW_RANKS)
        return sl_stat_median(room, cnt);
    /* Of few ranks the lower middle one: what stands out is what holds more, and two of four may. */
    sl_stat_sort(room, cnt);
    return room[(cnt - 1) / 2];
}

static void set_slope(const sl_fleet *fleet, sl_fleet_group *group) {
    double thin[SL_SERIES_MAX];
    size_t cnt = 0;
    uint64_t every = fleet->bin_cnt / SL_SERIES_MAX + 1;
    for (uint64_t b = fleet->bin_cnt / 4; b < fleet->bin_cnt && cnt < SL_SERIES_MAX; b += every)
        if (group->medians[b] != SL_BIN_NONE)
            thin[cnt++] = (double)group->medians[b];
    if (cnt < 4)
        return;
    sl_trend trend = sl_trend_of(thin, cnt);
    if (trend.p < 0.01 && trend.tau > 0.5)
        group->slope = trend.slope / (double)every / (double)(UINT64_C(1) << fleet->shift);
}

static bool set_medians(const sl_fleet *fleet, sl_fleet_group *group, double *room) {
    group->medians = malloc(fleet->bin_cnt * sizeof *group->medians);
    group->peaks = malloc(fleet->bin_cnt * sizeof *group->peaks);
    if (!group->medians || !group->peaks)
        return false;
    for (uint64_t b = 0; b < fleet->bin_cnt; b++) {
        size_t cnt = 0, peak_cnt = 0;
        double *peaks = room + fleet->rows.cnt;
        for (size_t i = 0; i < group->members.cnt; i++) {
            const sl_fleet_row *row = &fleet->rows.at[group->members.at[i]];
            const sl_rank_bin *bin = sl__row_bin(fleet, row, b);
            if (bin)
                room[cnt++] = (double)(bin->bytes - row->base_bytes);
            if (bin && bin->peak != SL_BIN_NONE)
                peaks[peak_cnt++] = (double)(bin->peak - row->base_peak);
        }
        group->medians[b] = cnt ? (int64_t)sl__fleet_typical(room, cnt) : SL_BIN_NONE;
        group->peaks[b] = peak_cnt ? (int64_t)sl__fleet_typical(peaks, peak_cnt) : SL_BIN_NONE;
    }
    set_slope(fleet, group);
    return true;
}

static bool set_members(sl_fleet *fleet, double *room) {
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_fleet_row *row = &fleet->rows.at[i];
        if (row->group == SL_IDX_NONE)
            continue;
        sl_fleet_group *group = &fleet->groups.at[row->group];
        if (!sl_vec_push(&group->members, (uint32_t)i) || !sl_vec_push(&group->ranks, row->rank))
            return false;
        if (!group->line && row->of->line_cnt)
            group->line = row->of->lines[0].text;
    }
    for (size_t g = 0; g < fleet->groups.cnt; g++) {
        size_t cnt = 0;
        sl_fleet_group *group = &fleet->groups.at[g];
        for (size_t i = 0; i < group->members.cnt; i++)
            room[cnt++] = (double)fleet->rows.at[group->members.at[i]].of->peak_bytes.value;
        group->peak_bytes = cnt ? (int64_t)sl_stat_median(room, cnt) : 0;
    }
    return true;
}

static sl_status describe(sl_fleet *fleet, sl_error *err) {
    double *room = malloc((2 * fleet->rows.cnt + 1) * sizeof *room);
    bool has_room = room && set_members(fleet, room);
    double least = INFINITY;
    for (size_t g = 0; has_room && g < fleet->groups.cnt; g++) {
        has_room = set_medians(fleet, &fleet->groups.at[g], room);
        least = fmin(least, fleet->groups.at[g].slope);
    }
    free(room);
    fleet->common_slope = fleet->groups.cnt && isfinite(least) ? least : 0;
    return has_room ? SL_OK : sl_fail_no_memory(err, "the groups of ranks");
}

sl_status sl__fleet_find_groups(sl_fleet *fleet, sl_error *err) {
    if (!fleet->bin_cnt)
        return SL_OK;
    leveled *at = malloc(fleet->rows.cnt * sizeof *at);
    size_t cnt = 0;
    if (!at)
        return sl_fail_no_memory(err, "the groups of ranks");
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        sl_fleet_row *row = &fleet->rows.at[i];
        double level = early_level(fleet, row, false), peak = early_level(fleet, row, true);
        if (isnan(level))
            continue;
        row->base_bytes = (int64_t)level;
        row->base_peak = isnan(peak) ? 0 : (int64_t)peak;
        at[cnt++] = (leveled){(uint32_t)i, level};
    }
    if (cnt > 1)
        qsort(at, cnt, sizeof *at, compare_levels);
    sl_status status = cnt ? split(fleet, at, cnt, err) : SL_OK;
    free(at);
    if (status == SL_OK && !join_small(fleet))
        status = sl_fail_no_memory(err, "the groups of ranks");
    return status == SL_OK ? describe(fleet, err) : status;
}
