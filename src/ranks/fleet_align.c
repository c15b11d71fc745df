/* SPDX-License-Identifier: MIT */
/* One axis for all ranks: bins of the same steps, and a common clock that is the median of theirs. */
#include <math.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "base/stats/series.h"
#include "ranks/fleet_impl.h"

/* Bins of the whole axis; ranks that are on entirely different steps are left out of it. */
#define AXIS_BINS (2 * SL_RANK_BINS)

static uint64_t first_bin_of(const sl_fleet_row *row, uint32_t shift) {
    const sl_rank_curve *c = &row->of->curve;
    return c->first >> (shift - c->shift);
}

static uint64_t last_bin_of(const sl_fleet_row *row, uint32_t shift) {
    const sl_rank_curve *c = &row->of->curve;
    return (c->first + c->cnt - 1) >> (shift - c->shift);
}

/* The axis is that of the rank with most bins; others widen it as far as they overlap it. */
static void find_axis(sl_fleet *fleet) {
    const sl_fleet_row *most = NULL;
    size_t apart = 0;
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_fleet_row *row = &fleet->rows.at[i];
        if (!sl__row_has_curve(fleet, row))
            continue;
        fleet->shift = row->of->curve.shift > fleet->shift ? row->of->curve.shift : fleet->shift;
        if (!most || row->of->curve.cnt > most->of->curve.cnt)
            most = row;
    }
    if (!most)
        return;
    uint64_t from = first_bin_of(most, fleet->shift), to = last_bin_of(most, fleet->shift);
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_fleet_row *row = &fleet->rows.at[i];
        if (!sl__row_has_curve(fleet, row))
            continue;
        uint64_t a = first_bin_of(row, fleet->shift), b = last_bin_of(row, fleet->shift);
        bool is_apart = a > to + 1 || b + 1 < from;
        apart += is_apart;
        if (!is_apart && sl_max_u64(b, to) - sl_min_u64(a, from) < AXIS_BINS)
            from = sl_min_u64(a, from), to = sl_max_u64(b, to);
    }
    fleet->first_bin = from;
    fleet->bin_cnt = to - from + 1;
    if (apart)
        sl_fleet_note(fleet,
                      "%zu rank%s on other steps than the rest; their curves are not compared",
                      apart, apart == 1 ? " is" : "s are");
}

static void choose_axis(sl_fleet *fleet) {
    size_t with = 0, without = 0;
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_rank_summary *s = fleet->rows.at[i].of;
        with += s->curve.cnt && s->has_steps;
        without += s->curve.cnt && !s->has_steps;
    }
    fleet->is_by_step = with > 0 && with >= without;
    size_t others = fleet->is_by_step ? without : with;
    if (others)
        sl_fleet_note(fleet, "%zu rank%s; the rest %s; their curves are not compared", others,
                      fleet->is_by_step ? others == 1 ? " has no steps" : "s have no steps"
                      : others == 1     ? " has steps"
                                        : "s have steps",
                      fleet->is_by_step ? "has" : "has none");
    if (!fleet->is_by_step && without)
        sl_fleet_note(fleet, "there are no steps: ranks are aligned by their first readings");
}

/* ---- the common clock ---- */

/* Medians of what is there; NaN when there is nothing. */
static double median_of(double *room, size_t cnt) {
    return cnt ? sl_stat_median(room, cnt) : (double)NAN;
}

/* The time of bin b on the common clock: the median of the ranks'. Relative to base_ns, so that doubles are exact. */
static double bin_time(const sl_fleet *fleet, uint64_t b, int64_t base_ns, double *room) {
    size_t cnt = 0;
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        const sl_rank_bin *bin = sl__row_bin(fleet, &fleet->rows.at[i], b);
        if (bin)
            room[cnt++] = (double)(sl__row_time(&fleet->rows.at[i], bin->time_ns) - base_ns);
    }
    return median_of(room, cnt);
}

static void set_offset(const sl_fleet *fleet, sl_fleet_row *row, const double *times,
                       int64_t base_ns, double *room) {
    size_t cnt = 0;
    for (uint64_t b = 0; b < fleet->bin_cnt; b++) {
        const sl_rank_bin *bin = sl__row_bin(fleet, row, b);
        if (bin && !isnan(times[b]))
            room[cnt++] = (double)(bin->time_ns - base_ns) - times[b];
    }
    if (!cnt)
        return;
    row->offset_ns = (int64_t)median_of(room, cnt);
    row->has_offset = true;
}

/* How far its steps are from the common clock after that: drift and spread. */
static void set_drift(const sl_fleet *fleet, sl_fleet_row *row, const double *times,
                      int64_t base_ns, double *room) {
    double rest[SL_SERIES_MAX], first = NAN, last = NAN;
    size_t cnt = 0;
    uint64_t every = fleet->bin_cnt / SL_SERIES_MAX + 1;
    for (uint64_t b = 0; b < fleet->bin_cnt; b += every) {
        const sl_rank_bin *bin = sl__row_bin(fleet, row, b);
        if (!bin || isnan(times[b]) || cnt == SL_SERIES_MAX)
            continue;
        first = cnt ? first : times[b];
        last = times[b];
        rest[cnt++] = (double)(sl__row_time(row, bin->time_ns) - base_ns) - times[b];
    }
    if (cnt < 3 || !(last > first))
        return;
    row->drift_ppm = sl_theil_sen(rest, cnt) * (double)(cnt - 1) / (last - first) * 1e6;
    for (size_t i = 0; i < cnt; i++)
        room[i] = fabs(rest[i]);
    row->spread_ns = (int64_t)sl_stat_median(room, cnt);
}

static void set_step_time(const sl_fleet *fleet, sl_fleet_row *row, double *room) {
    size_t cnt = 0;
    const sl_rank_bin *before = NULL;
    for (uint64_t b = 0; b < fleet->bin_cnt; b++) {
        const sl_rank_bin *bin = sl__row_bin(fleet, row, b);
        if (bin && before && bin->time_ns > before->time_ns)
            room[cnt++] = (double)(bin->time_ns - before->time_ns) / (double)(1u << fleet->shift);
        before = bin;
    }
    row->step_ns = cnt ? sl_stat_median(room, cnt) : 0;
}

static void find_clock(sl_fleet *fleet, double *times, double *room) {
    int64_t base_ns = fleet->base_ns = fleet->rows.at[0].of->start_ns;
    size_t cnt = 0;
    /* The first round takes the clocks as they are; what one that is off did to a median is gone in the second. */
    for (int round = 0; round < 2; round++) {
        for (uint64_t b = 0; b < fleet->bin_cnt; b++)
            times[b] = bin_time(fleet, b, base_ns, room);
        for (size_t i = 0; i < fleet->rows.cnt; i++)
            set_offset(fleet, &fleet->rows.at[i], times, base_ns, room);
    }
    for (size_t i = 0; i < fleet->rows.cnt; i++) {
        set_drift(fleet, &fleet->rows.at[i], times, base_ns, room);
        set_step_time(fleet, &fleet->rows.at[i], room);
    }
    for (size_t i = 0; i < fleet->rows.cnt; i++)
        if (fleet->rows.at[i].step_ns > 0)
            room[cnt++] = fleet->rows.at[i].step_ns;
    fleet->step_ns = cnt ? sl_stat_median(room, cnt) : 0;
    cnt = 0;
    for (size_t i = 0; i < fleet->rows.cnt; i++)
        if (fleet->rows.at[i].of->has_steps)
            room[cnt++] = (double)fleet->rows.at[i].of->last_step;
    fleet->last_step = cnt ? (uint64_t)sl_stat_median(room, cnt) : 0;
}

sl_status sl__fleet_align(sl_fleet *fleet, sl_error *err) {
    choose_axis(fleet);
    find_axis(fleet);
    if (!fleet->bin_cnt)
        return SL_OK;
    for (size_t i = 0; i < fleet->rows.cnt; i++)
        if (sl__row_has_curve(fleet, &fleet->rows.at[i]))
            sl_rank_curve_coarsen((sl_rank_curve *)(uintptr_t)&fleet->rows.at[i].of->curve,
                                  fleet->shift);
    size_t most = fleet->bin_cnt > fleet->rows.cnt ? fleet->bin_cnt : fleet->rows.cnt;
    double *times = malloc(fleet->bin_cnt * sizeof *times),
           *room = malloc((most + 1) * sizeof *room);
    if (times && room)
        find_clock(fleet, times, room);
    bool has_room = times && room;
    fleet->bin_times = times;
    free(room);
    return has_room ? SL_OK : sl_fail_no_memory(err, "the clocks of the ranks");
}
