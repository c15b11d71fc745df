/* SPDX-License-Identifier: MIT */
#include "analyze/leak_scan.h"

#include <math.h>

#include "base/core/order.h"

/* Distinct sizes of allocations without a stack that are told apart; the rest shares one unit. */
#define SIZE_UNIT_MAX 65536u

/* ---- the window ---- */

/* Event after the last allocation of the window: frees that follow are the program's end. */
static uint32_t behind_last_alloc(const sl_an *an) {
    uint32_t at = an->to;
    while (at > an->from && an->device->events.kind[at - 1] != SL_EV_ALLOC)
        at--;
    return at;
}

/* Whether more than the last step follows its beginning: a trace of one long step, say, in which
 * layers recur, or training that is followed by something else. */
static bool has_tail(const sl_an *an, uint32_t end) {
    const uint32_t *borders = an->steps->borders.at;
    size_t cnt = an->steps->borders.cnt;
    double mean = (double)(borders[cnt - 1] - borders[0]) / (double)(cnt - 1);
    return (double)(end - borders[cnt - 1]) > SL_T_LEAK_TAIL_STEPS * mean;
}

static bool edges_by_steps(sl_leak_window *window, const sl_an *an, uint32_t oom) {
    const sl_steps *steps = an->steps;
    uint32_t end = oom != SL_IDX_NONE ? oom : behind_last_alloc(an);
    size_t cnt = 0;
    while (cnt < steps->borders.cnt && steps->borders.at[cnt] < end)
        cnt++;
    window->has_tail = oom == SL_IDX_NONE && cnt > 1 && has_tail(an, end);
    bool takes_end = oom != SL_IDX_NONE || window->has_tail;
    size_t warm =
        sl_max_size(SL_T_LEAK_WARM_STEPS, (size_t)ceil(SL_T_LEAK_WARM_SHARE * (double)cnt));
    if (cnt < warm + SL_T_LEAK_MIN_STEPS + !takes_end)
        return true;
    for (size_t i = warm; i < cnt; i++)
        if (!sl_vec_push(&window->edges, steps->borders.at[i]))
            return false;
    if (takes_end && !sl_vec_push(&window->edges, end))
        return false;
    window->first = steps->borders.at[0];
    window->has_steps = true;
    return true;
}

static bool edges_by_events(sl_leak_window *window, const sl_an *an, uint32_t oom) {
    uint32_t end = oom != SL_IDX_NONE ? oom : behind_last_alloc(an);
    uint32_t from = an->steps->work_from;
    uint64_t span = end > from ? end - from : 0;
    if (span < 4 * SL_T_LEAK_EVENT_BINS)
        return true;
    for (uint64_t i = SL_T_LEAK_EVENT_WARM_BINS; i <= SL_T_LEAK_EVENT_BINS; i++)
        if (!sl_vec_push(&window->edges, from + (uint32_t)(span * i / SL_T_LEAK_EVENT_BINS)))
            return false;
    window->first = from;
    return true;
}

static bool make_window(sl_leak_window *window, const sl_an *an) {
    bool ok = an->steps->borders.cnt ? edges_by_steps(window, an, an->last_oom)
                                     : edges_by_events(window, an, an->last_oom);
    if (!ok || window->edges.cnt < 2)
        return ok;
    window->part_cnt = window->edges.cnt - 1;
    window->end = window->edges.at[window->part_cnt];
    window->bin_cnt = (uint32_t)sl_min_size(SL_T_LEAK_BINS, window->part_cnt);
    size_t valleys = sl_max_size(window->part_cnt / 2, SL_T_VALLEY_MIN_BINS);
    window->valley_cnt =
        (uint32_t)sl_min_size(sl_min_size(valleys, window->part_cnt), SL_T_VALLEY_MAX_BINS);
    return true;
}

size_t sl_leak_part_at(const sl_leak_window *window, uint32_t event) {
    size_t lo = 0, hi = window->edges.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (window->edges.at[mid] <= event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? sl_min_size(lo - 1, window->part_cnt - 1) : 0;
}

/* ---- survivors ---- */

uint32_t sl_leak_unit_of(const sl_leak_scan *scan, const sl_life *life) {
    if (life->stack_id != SL_STACK_EMPTY)
        return life->stack_id;
    uint32_t idx = sl_addr_map_find(&scan->unit_of_size, life->requested_bytes);
    return idx == SL_ADDR_NONE ? SL_IDX_NONE : idx;
}

static bool make_units(sl_leak_scan *scan, const sl_an *an) {
    scan->stack_cnt = an->trace->stacks.spans.cnt;
    if (!sl_vec_reserve(&scan->units, scan->stack_cnt + 1))
        return false;
    for (uint32_t i = 0; i < scan->stack_cnt; i++)
        scan->units.at[scan->units.cnt++] = (sl_leak_unit){.stack_id = i,
                                                           .site_idx = an->sites->site_of_stack[i],
                                                           .roles = an->sites->classes[i].roles};
    return true;
}

/* The unit of a life, made for a new size; SL_IDX_NONE when memory ran out. */
static uint32_t unit_for(sl_leak_scan *scan, const sl_life *life) {
    uint32_t idx = sl_leak_unit_of(scan, life);
    if (idx != SL_IDX_NONE)
        return idx;
    if (scan->units.cnt - scan->stack_cnt >= SIZE_UNIT_MAX)
        return SL_STACK_EMPTY;
    sl_leak_unit unit = scan->units.at[SL_STACK_EMPTY];
    unit = (sl_leak_unit){.stack_id = SL_STACK_EMPTY, .site_idx = unit.site_idx};
    idx = (uint32_t)scan->units.cnt;
    if (!sl_vec_push(&scan->units, unit) ||
        !sl_addr_map_put(&scan->unit_of_size, life->requested_bytes, idx))
        return SL_IDX_NONE;
    return idx;
}

static void add_life(sl_leak_sum *sum, const sl_life *life) {
    sum->bytes += life->requested_bytes;
    sum->blocks++;
}

static void note_survivor(const sl_leak_window *window, sl_leak_unit *unit, const sl_life *life,
                          size_t part) {
    add_life(&unit->kept, life);
    add_life(&unit->window, life);
    if (part + 1 == window->part_cnt)
        add_life(&unit->kept_last, life);
    unit->largest_kept = sl_max_u64(life->requested_bytes, unit->largest_kept);
    unit->bin_mask |= 1u << (part * window->bin_cnt / window->part_cnt);
    if (unit->last_part_plus_1 == part + 1)
        return;
    double gap = (double)(part + 1) - (double)unit->last_part_plus_1;
    if (unit->occasions++)
        unit->gap_squares += gap * gap;
    else
        unit->first_part = (uint32_t)part;
    unit->last_part_plus_1 = (uint32_t)part + 1;
}

/* Whether a freed block had seen several parts come and go. */
static bool was_old(const sl_leak_window *window, const sl_life *life, size_t part) {
    size_t old_part = part + SL_T_LEAK_OLD_STEPS;
    return old_part <= window->part_cnt && life->end_event >= window->edges.at[old_part];
}

/* An operation that keeps several blocks of different sizes makes them one after the other: the
 * mark of what autograd saves, as against an output that somebody keeps. before may be NULL. */
static bool is_twin(const sl_leak_window *window, const sl_life *life, const sl_life *before) {
    return before && before->stack_id == life->stack_id && before->end_event >= window->end &&
           before->requested_bytes != life->requested_bytes &&
           before->begin_event != SL_EVENT_BEFORE;
}

static void note_life(sl_leak_scan *scan, sl_leak_unit *unit, const sl_life *life,
                      const sl_life *before, size_t part) {
    const sl_leak_window *window = &scan->window;
    bool is_kept = life->end_event >= window->end;
    if (is_kept)
        note_survivor(window, unit, life, part);
    else if (was_old(window, life, part))
        unit->evicted_bytes += life->requested_bytes;
    unit->twins += is_kept && is_twin(window, life, before);
}

static void note_late(const sl_an *an, const sl_leak_window *window, sl_leak_unit *unit,
                      const sl_life *life) {
    if (life->end_event < an->to)
        return;
    /* The newest step is the one after the window, or its last part where it reaches to the end. */
    uint32_t newest = window->end < an->to || window->part_cnt == 0
                          ? window->end
                          : window->edges.at[window->part_cnt - 1];
    add_life(&unit->late, life);
    if (life->begin_event >= newest)
        add_life(&unit->late_last, life);
}

static sl_leak_sum without_in_flight(const sl_leak_unit *unit, const sl_leak_window *window,
                                     sl_leak_sum all, sl_leak_sum newest) {
    uint64_t parts = window->part_cnt > 1 ? window->part_cnt - 1 : 1;
    uint64_t a_part = (unit->window.blocks - unit->kept_last.blocks + parts / 2) / parts;
    if (newest.blocks <= a_part)
        return all;
    uint64_t in_flight = newest.blocks - a_part;
    double share = (double)in_flight / (double)newest.blocks;
    return (sl_leak_sum){all.bytes - (uint64_t)((double)newest.bytes * share),
                         all.blocks - in_flight};
}

sl_leak_sum sl_leak_unit_kept(const sl_leak_unit *unit, const sl_leak_window *window) {
    return without_in_flight(unit, window, unit->kept, unit->kept_last);
}

sl_leak_sum sl_leak_unit_late(const sl_leak_unit *unit, const sl_leak_window *window) {
    return without_in_flight(unit, window, unit->late, unit->late_last);
}

static bool scan_lives(sl_leak_scan *scan, const sl_an *an) {
    const sl_leak_window *window = &scan->window;
    const sl_replay *replay = an->replay;
    size_t part = 0;
    for (size_t i = sl_replay_first_life(replay, window->edges.at[0]); i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= an->to)
            break;
        uint32_t idx = unit_for(scan, life);
        if (idx == SL_IDX_NONE)
            return false;
        note_late(an, window, &scan->units.at[idx], life);
        if (life->begin_event >= window->end)
            continue;
        while (part + 1 < window->part_cnt && life->begin_event >= window->edges.at[part + 1])
            part++;
        note_life(scan, &scan->units.at[idx], life, i > 0 ? life - 1 : NULL, part);
    }
    return true;
}

/* Survivors of the warm-up steps belong to a leak that later steps prove, unless they are larger
 * than all of its own: those are workspaces that a library took in the first call. */
static void scan_warm_up(sl_leak_scan *scan, const sl_an *an) {
    const sl_leak_window *window = &scan->window;
    const sl_replay *replay = an->replay;
    for (size_t i = sl_replay_first_life(replay, window->first); i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= window->edges.at[0])
            break;
        uint32_t idx = sl_leak_unit_of(scan, life);
        if (idx == SL_IDX_NONE || life->requested_bytes > scan->units.at[idx].largest_kept)
            continue;
        if (life->end_event >= window->end)
            add_life(&scan->units.at[idx].kept, life);
        note_late(an, window, &scan->units.at[idx], life);
    }
}

/* ---- valleys ---- */

/* Sites that hold more at the end than at the start get a valley series. */
static bool pick_growing(sl_leak_scan *scan, const sl_an *an, uint32_t *valley_of_site) {
    size_t site_cnt = an->sites->sites.cnt;
    uint64_t *sums = calloc(site_cnt * 4, sizeof *sums);
    if (!sums)
        return false;
    uint64_t *start = sums, *end = sums + site_cnt, *mid_blocks = sums + 2 * site_cnt,
             *end_blocks = sums + 3 * site_cnt;
    const sl_leak_window *window = &scan->window;
    uint32_t mid = window->edges.at[window->part_cnt / 2];
    bool ok = sl_sites_bytes_at(an->sites, an->replay, mid - 1, start, mid_blocks) &&
              sl_sites_bytes_at(an->sites, an->replay, window->edges.at[0] - 1, start, NULL) &&
              sl_sites_bytes_at(an->sites, an->replay, window->end - 1, end, end_blocks);
    for (uint32_t i = 0; ok && i < site_cnt; i++) {
        valley_of_site[i] = SL_IDX_NONE;
        if (end[i] <= start[i])
            continue;
        sl_valley valley = {i, start[i], end[i], mid_blocks[i], end_blocks[i], {0}};
        valley_of_site[i] = (uint32_t)scan->valleys.cnt;
        ok = sl_vec_push(&scan->valleys, valley);
    }
    free(sums);
    return ok;
}

/* Live bytes now: of each growing site and of the device. */
typedef struct valley_state {
    double *live; /* by valley index */
    double total;
} valley_state;

static void begin_bin(sl_leak_scan *scan, const valley_state *state, size_t bin) {
    scan->total[bin] = state->total;
    for (size_t i = 0; i < scan->valleys.cnt; i++)
        scan->valleys.at[i].y[bin] = state->live[i];
}

/* Applies one event; true when something was freed, so that a minimum may be new. */
static double delta_of(const sl_life *life, uint32_t event) {
    double bytes = (double)life->requested_bytes;
    return (life->begin_event == event ? bytes : 0) - (life->end_event == event ? bytes : 0);
}

static void run_bin(sl_leak_scan *scan, const sl_an *an, const uint32_t *valley_of_site,
                    valley_state *state, size_t bin) {
    const sl_leak_window *window = &scan->window;
    uint32_t from = window->edges.at[bin * window->part_cnt / window->valley_cnt];
    uint32_t to = window->edges.at[(bin + 1) * window->part_cnt / window->valley_cnt];
    begin_bin(scan, state, bin);
    for (uint32_t e = from; e < to; e++) {
        uint32_t idx = an->replay->life_of_event[e];
        if (idx == SL_IDX_NONE)
            continue;
        const sl_life *life = &an->replay->lives.at[idx];
        double delta = delta_of(life, e);
        state->total += delta;
        scan->total[bin] = fmin(scan->total[bin], state->total);
        uint32_t v = valley_of_site[sl_sites_of(an->sites, life)];
        if (v == SL_IDX_NONE)
            continue;
        state->live[v] += delta;
        scan->valleys.at[v].y[bin] = fmin(scan->valleys.at[v].y[bin], state->live[v]);
    }
}

static bool scan_valleys(sl_leak_scan *scan, const sl_an *an) {
    uint32_t *valley_of_site = malloc((an->sites->sites.cnt + 1) * sizeof *valley_of_site);
    sl_replay_totals start;
    bool ok = valley_of_site && pick_growing(scan, an, valley_of_site) &&
              sl_replay_totals_at(an->replay, scan->window.edges.at[0] - 1, &start);
    valley_state state = {ok ? malloc((scan->valleys.cnt + 1) * sizeof(double)) : NULL, 0};
    ok = ok && state.live;
    if (ok) {
        state.total = (double)start.requested_bytes;
        for (size_t i = 0; i < scan->valleys.cnt; i++)
            state.live[i] = (double)scan->valleys.at[i].start_bytes;
        for (size_t bin = 0; bin < scan->window.valley_cnt; bin++)
            run_bin(scan, an, valley_of_site, &state, bin);
    }
    free(state.live);
    free(valley_of_site);
    return ok;
}

bool sl_leak_scan_run(sl_leak_scan *scan, const sl_an *an) {
    *scan = (sl_leak_scan){0};
    if (!make_window(&scan->window, an))
        return false;
    if (!scan->window.part_cnt)
        return true;
    if (!make_units(scan, an) || !scan_lives(scan, an))
        return false;
    scan_warm_up(scan, an);
    scan->stretch = sl_stretch_count(an->replay, an->sites->classes, scan->window.edges.at[0],
                                     scan->window.end);
    return scan_valleys(scan, an);
}

void sl_leak_scan_fini(sl_leak_scan *scan) {
    sl_vec_free(&scan->window.edges);
    sl_vec_free(&scan->units);
    sl_vec_free(&scan->valleys);
    sl_addr_map_fini(&scan->unit_of_size);
}
