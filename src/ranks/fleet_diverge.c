/* SPDX-License-Identifier: MIT */
/* Which ranks leave their group, from which step on: by memory at the end of steps, by peaks, by time. */
#include <math.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "ranks/change_point.h"
#include "ranks/fleet_impl.h"

/* Less than this is not worth a name, whatever the noise: bytes, and a share of the group's peak. */
#define GROWTH_BYTES_MIN (1 << 20)
#define GROWTH_SHARE_MIN 0.001
#define PEAK_BYTES_MIN   (16 << 20)
#define PEAK_SHARE_MIN   0.03
/* Of a step's length, by which each step of a straggler is longer; and how far behind it must be in all. */
#define SLOWER_SHARE_MIN 0.02
#define BEHIND_STEPS_MIN 3.0
#define BEHIND_NS_MIN    1e9
/* From so many ranks on their own spread says what is usual. */
#define SPREAD_RANKS_MIN 8u
#define SPREAD_SIGMAS    8.0
#define MAD_TO_SIGMA     1.4826

typedef enum series_kind { OF_BYTES, OF_PEAKS, OF_TIME } series_kind;

typedef struct scratch {
    double *y, *room; /* a value per bin */
    uint32_t *bins;   /* which bin each value is of */
    double *excess;   /* a value per rank */
    size_t cnt;       /* values in y */
} scratch;

/* Distances of a rank from its group, or of its steps from the common clock. */
static void take_series(const sl_fleet *fleet, const sl_fleet_row *row, series_kind kind,
                        scratch *s) {
    const sl_fleet_group *group = &fleet->groups.at[row->group];
    s->cnt = 0;
    for (uint64_t b = 0; b < fleet->bin_cnt; b++) {
        const sl_rank_bin *bin = sl__row_bin(fleet, row, b);
        const int64_t *usual = kind == OF_PEAKS ? group->peaks : group->medians;
        int64_t own = !bin ? SL_BIN_NONE : kind == OF_PEAKS ? bin->peak : bin->bytes;
        int64_t base = kind == OF_PEAKS ? row->base_peak : row->base_bytes;
        if (own == SL_BIN_NONE || usual[b] == SL_BIN_NONE ||
            (kind == OF_TIME && isnan(fleet->bin_times[b])))
            continue;
        s->bins[s->cnt] = (uint32_t)b;
        s->y[s->cnt++] =
            kind == OF_TIME
                ? (double)(sl__row_time(row, bin->time_ns) - fleet->base_ns) - fleet->bin_times[b]
                : (double)(own - base - usual[b]);
    }
}

/* How different the ranks of a group are without any fault; 0 where they are too few to tell. */
static double usual_spread(const sl_fleet *fleet, const sl_fleet_group *group, series_kind kind,
                           scratch *s) {
    size_t cnt = 0;
    for (size_t i = 0; i < group->members.cnt; i++) {
        take_series(fleet, &fleet->rows.at[group->members.at[i]], kind, s);
        double excess = sl_change_excess(s->y, s->cnt, s->room);
        if (!isnan(excess))
            s->excess[cnt++] = fabs(excess);
    }
    return cnt < SPREAD_RANKS_MIN ? 0 : MAD_TO_SIGMA * sl_stat_median(s->excess, cnt);
}

static double least_of(const sl_fleet *fleet, const sl_fleet_group *group, series_kind kind,
                       double spread) {
    double peak = (double)group->peak_bytes;
    double least = kind == OF_BYTES   ? fmax(GROWTH_BYTES_MIN, GROWTH_SHARE_MIN * peak)
                   : kind == OF_PEAKS ? fmax(PEAK_BYTES_MIN, PEAK_SHARE_MIN * peak)
                                      : fmax(BEHIND_NS_MIN, BEHIND_STEPS_MIN * fleet->step_ns);
    return fmax(least, SPREAD_SIGMAS * spread);
}

static double confidence_of(const sl_fleet *fleet, const sl_fleet_group *group,
                            const sl_change *change) {
    double above = fmin(1, (change->excess / change->threshold - 1) / 3);
    double sure = 0.5 + 0.3 * above + 0.19 * change->fit;
    if (group->members.cnt < 3)
        sure *= 0.8;
    return fleet->missing.cnt ? sure * 0.95 : sure;
}

static sl_rank_fault fault_of(series_kind kind, const sl_change *change) {
    return kind == OF_TIME    ? SL_RANK_FAULT_STRAGGLER
           : kind == OF_PEAKS ? SL_RANK_FAULT_PEAK
           : change->is_slope ? SL_RANK_FAULT_LEAK
                              : SL_RANK_FAULT_SHIFT;
}

static sl_status add_change(sl_fleet *fleet, sl_fleet_row *row, series_kind kind,
                            const sl_change *change, const scratch *s, sl_error *err) {
    uint32_t onset = s->bins[change->onset];
    double per_step = change->slope / (double)(UINT64_C(1) << fleet->shift);
    uint64_t step = (fleet->first_bin + onset) << fleet->shift;
    bool is_time = kind == OF_TIME;
    if (is_time && (!change->is_slope || per_step < SLOWER_SHARE_MIN * fleet->step_ns))
        return SL_OK;
    sl_fleet_event event = {
        .fault = fault_of(kind, change),
        .rank = row->rank,
        .idx = (int32_t)(row - fleet->rows.at),
        .has_time = !isnan(fleet->bin_times[onset]),
        .has_step = fleet->is_by_step,
        .step = step,
        .step_to = step + (UINT64_C(1) << fleet->shift) - 1,
        .bytes = is_time ? 0 : (int64_t)change->excess,
        .per_step = is_time ? per_step / 1e9 : per_step,
        .confidence = confidence_of(fleet, &fleet->groups.at[row->group], change),
    };
    if (event.has_time)
        event.time_ns = fleet->base_ns + (int64_t)fleet->bin_times[onset];
    if (kind == OF_BYTES)
        row->slope = per_step;
    return sl__fleet_add_event(fleet, &event) ? SL_OK : sl_fail_no_memory(err, "what diverged");
}

/* One finding per rank of memory: peaks only where the level at the end of steps says nothing. */
static sl_status look_at(sl_fleet *fleet, sl_fleet_row *row, const double spreads[3], scratch *s,
                         sl_error *err) {
    static const series_kind kinds[] = {OF_BYTES, OF_PEAKS, OF_TIME};
    const sl_fleet_group *group = &fleet->groups.at[row->group];
    bool has_memory = false;
    for (size_t k = 0; k < SL_COUNT_OF(kinds); k++) {
        sl_change change;
        if (kinds[k] == OF_PEAKS && has_memory)
            continue;
        take_series(fleet, row, kinds[k], s);
        if (!sl_change_find(s->y, s->cnt, least_of(fleet, group, kinds[k], spreads[k]), s->room,
                            &change))
            continue;
        has_memory = has_memory || kinds[k] == OF_BYTES;
        SL_TRY(add_change(fleet, row, kinds[k], &change, s, err));
    }
    return SL_OK;
}

static sl_status look_at_all(sl_fleet *fleet, scratch *s, sl_error *err) {
    for (size_t g = 0; g < fleet->groups.cnt; g++) {
        const sl_fleet_group *group = &fleet->groups.at[g];
        if (group->members.cnt < 2)
            continue;
        double spreads[3] = {usual_spread(fleet, group, OF_BYTES, s),
                             usual_spread(fleet, group, OF_PEAKS, s),
                             usual_spread(fleet, group, OF_TIME, s)};
        for (size_t i = 0; i < group->members.cnt; i++)
            SL_TRY(look_at(fleet, &fleet->rows.at[group->members.at[i]], spreads, s, err));
    }
    return SL_OK;
}

sl_status sl__fleet_find_divergence(sl_fleet *fleet, sl_error *err) {
    if (!fleet->bin_cnt)
        return SL_OK;
    scratch s = {.y = malloc(fleet->bin_cnt * sizeof *s.y),
                 .room = malloc(fleet->bin_cnt * sizeof *s.room),
                 .bins = malloc(fleet->bin_cnt * sizeof *s.bins),
                 .excess = malloc((fleet->rows.cnt + 1) * sizeof *s.excess)};
    sl_status status = s.y && s.room && s.bins && s.excess
                           ? look_at_all(fleet, &s, err)
                           : sl_fail_no_memory(err, "what diverged");
    free(s.y);
    free(s.room);
    free(s.bins);
    free(s.excess);
    return status;
}
