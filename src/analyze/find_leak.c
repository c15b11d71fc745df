/* SPDX-License-Identifier: MIT */
/* Leaks. Two tests, either is enough; both are checked against the device's total:
 *
 * (A) Survivors: a call's blocks of nearly every part of the run, or of few but regular moments,
 *     are still alive at its end, and old blocks of that call are not given back. Finds 512 bytes
 *     a step under any amount of noise, because noise is freed. Bounded caches evict, warm-up
 *     leaves survivors in one part.
 * (B) Valleys: the least live bytes of a site rise from bin to bin, to the end, without falling
 *     back. Finds buffers that are replaced by larger ones and queues that are filled faster than
 *     they are emptied, whose blocks all die some time. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/leak_report.h"
#include "base/stats/sample_stats.h"
#include "base/text/human.h"

/* What the units of one site add up to. */
typedef struct site_growth {
    uint32_t mask, best_hits, occasions, calls, layer_calls, twin_calls;
    uint64_t kept_bytes, kept_blocks, late_bytes, late_blocks, window_bytes, evicted_bytes;
    sl_leak_sum kept, late; /* without what is in flight */
    uint64_t best_bytes;
    uint32_t best_stack;
    bool is_regular; /* one of its calls leaves survivors at equal distances, to the end */
    uint8_t roles;
} site_growth;

static uint32_t hits_of(uint32_t mask) {
    return (uint32_t)__builtin_popcount(mask);
}

static bool is_evicting(const sl_leak_unit *unit) {
    return (double)unit->evicted_bytes > SL_T_LEAK_MAX_EVICTED * (double)unit->window.bytes;
}

static bool is_parameter(uint8_t roles) {
    return (roles & (SL_ROLE_PARAM | SL_ROLE_OPTIM)) != 0;
}

/* Rare leaking steps at equal distances up to the end, none of whose blocks is ever freed. */
static bool is_regular(const sl_leak_unit *unit, const sl_leak_window *window) {
    if (unit->occasions < SL_T_REGULAR_MIN_OCCASIONS || unit->evicted_bytes)
        return false;
    double span = (double)(unit->last_part_plus_1 - 1 - unit->first_part);
    double gaps = (double)(unit->occasions - 1), mean = span / gaps;
    double variation = sl_stat_gap_variation(span, gaps, unit->gap_squares);
    double silence = (double)(window->part_cnt - unit->last_part_plus_1);
    return window->has_steps && variation <= SL_T_REGULAR_MAX_CV &&
           span >= SL_T_REGULAR_MIN_SPAN * (double)window->part_cnt &&
           silence <= SL_T_REGULAR_MAX_SILENCE * mean;
}

static void add_unit(site_growth *growth, const sl_leak_unit *unit, const sl_leak_window *window) {
    uint32_t hits = hits_of(unit->bin_mask), bin_cnt = window->bin_cnt;
    bool is_steady = is_regular(unit, window);
    growth->is_regular |= is_steady;
    growth->mask |= unit->bin_mask;
    growth->best_hits = hits > growth->best_hits ? hits : growth->best_hits;
    growth->occasions = unit->occasions > growth->occasions ? unit->occasions : growth->occasions;
    sl_leak_sum kept = sl_leak_unit_kept(unit, window), late = sl_leak_unit_late(unit, window);
    growth->kept.bytes += kept.bytes;
    growth->kept.blocks += kept.blocks;
    growth->late.bytes += late.bytes;
    growth->late.blocks += late.blocks;
    growth->kept_bytes += unit->kept.bytes;
    growth->kept_blocks += unit->kept.blocks;
    growth->late_bytes += unit->late.bytes;
    growth->late_blocks += unit->late.blocks;
    growth->window_bytes += unit->window.bytes - (unit->kept.bytes - kept.bytes);
    growth->evicted_bytes += unit->evicted_bytes;
    if (unit->kept.bytes >= growth->best_bytes) {
        growth->best_bytes = unit->kept.bytes;
        growth->best_stack = unit->stack_id;
    }
    if (hits * 2 >= bin_cnt || is_steady) {
        growth->calls++;
        bool is_layer = (unit->roles & SL_ROLE_NN) && !is_parameter(unit->roles);
        growth->layer_calls += is_layer;
        growth->twin_calls += is_layer && unit->twins >= unit->occasions;
        growth->roles |= unit->roles;
    }
}

/* Sums by site; only of calls that do not evict when `steady_only`. */
static void sum_units(const sl_leak_scan *scan, bool steady_only, site_growth *by_site) {
    for (size_t i = 0; i < scan->units.cnt; i++) {
        const sl_leak_unit *unit = &scan->units.at[i];
        if (unit->kept.blocks && !(steady_only && is_evicting(unit)))
            add_unit(&by_site[unit->site_idx], unit, &scan->window);
    }
}

static sl_leak leak_from(uint32_t site_idx, const site_growth *growth) {
    bool has_more_late = growth->late.bytes >= growth->kept.bytes;
    return (sl_leak){.site_idx = site_idx,
                     .stack_id = growth->best_stack,
                     .kind = is_parameter(growth->roles) ? SL_LEAK_PARAM : SL_LEAK_TENSOR,
                     .bytes = has_more_late ? growth->late.bytes : growth->kept.bytes,
                     .blocks = has_more_late ? growth->late.blocks : growth->kept.blocks,
                     .growth_bytes = growth->window_bytes,
                     .evicted_bytes = growth->evicted_bytes,
                     .hits = hits_of(growth->mask),
                     .occasions = growth->occasions,
                     .calls = growth->calls,
                     .layer_calls = growth->layer_calls,
                     .twin_calls = growth->twin_calls,
                     .roles = growth->roles,
                     .sites = 1,
                     .merged_into = SL_IDX_NONE};
}

/* ---- what both tests are held against ---- */

/* Memory that only moved from one site to another does not show in the total. */
static bool is_moved(const sl_leak_scan *scan, const sl_trend *total, double growth) {
    double shown = total->slope * (double)(scan->window.valley_cnt - 1);
    return SL_T_MOVED_SHARE * growth > shown + SL_T_MOVED_NOISE * total->noise;
}

static bool is_hoarding(const sl_leak_scan *scan) {
    return sl_stretch_is_hoarding(&scan->stretch);
}

/* A loop whose recurring call allocates parameters is not a training loop. */
static bool is_building(const sl_an *an, const sl_leak_scan *scan) {
    uint32_t beat = an->steps->beat_stack;
    if (beat != SL_IDX_NONE && (an->sites->classes[beat].roles & SL_ROLE_PARAM))
        return true;
    if (!is_hoarding(scan))
        return false;
    uint64_t kept = 0, parameters = 0;
    for (size_t i = 0; i < scan->units.cnt; i++) {
        kept += scan->units.at[i].kept.bytes;
        parameters += is_parameter(scan->units.at[i].roles) ? scan->units.at[i].kept.bytes : 0;
    }
    return parameters * 2 > kept;
}

/* ---- the tests ---- */

typedef struct leak_search {
    sl_an *an;
    const sl_leak_scan *scan;
    sl_trend total;
    site_growth *steady; /* owned; by site, of calls that do not evict */
    site_growth *all;    /* owned; by site */
    sl_leaks leaks;
    uint64_t rejected_moved, rejected_bins, rejected_valley;
    uint64_t undecided; /* sites that leak in every step, or load data: too few steps to tell */
} leak_search;

/* Survivors in all of the last bins, without a gap. */
static uint32_t trailing_hits(uint32_t mask, uint32_t bin_cnt) {
    uint32_t cnt = 0;
    while (cnt < bin_cnt && (mask >> (bin_cnt - 1 - cnt) & 1))
        cnt++;
    return cnt;
}

static bool passes_survivors(const leak_search *search, const site_growth *growth) {
    uint32_t bins = search->scan->window.bin_cnt, late = trailing_hits(growth->mask, bins);
    if (growth->is_regular)
        return true;
    return late > 0 && growth->best_hits * 2 >= bins &&
           (late >= SL_T_LEAK_LATE_BINS || hits_of(growth->mask) + SL_T_LEAK_MISSED_BINS >= bins);
}

/* Nothing is freed: then only many leaking steps count, and only if the trace ends with them.
 * Otherwise the program loaded something and continued. */
static bool is_mere_loading(const leak_search *search, const site_growth *growth) {
    return is_hoarding(search->scan) &&
           (growth->occasions < SL_T_HOARD_MIN_OCCASIONS || search->scan->window.has_tail);
}

/* The same, but the trace ends with these steps: a few more of them would have been a leak. */
static bool is_undecided(const leak_search *search, const site_growth *growth) {
    const sl_leak_window *window = &search->scan->window;
    return window->has_steps && !window->has_tail && is_hoarding(search->scan) &&
           growth->occasions < SL_T_HOARD_MIN_OCCASIONS;
}

/* Without steps, one pass through a model looks like growth: its parameters, its gradients and its
 * optimizer's state all come one after the other. Only the user's own lines are considered then. */
static bool may_ask(const leak_search *search, uint32_t site_idx, uint8_t roles) {
    const sl_site_info *info = &search->an->sites->sites.at[site_idx];
    if (!info->is_shown)
        return false;
    return search->scan->window.has_steps ||
           (info->site.origin == SL_ORIGIN_LINE && !is_parameter(roles));
}

/* A loop that the program did not mark and in which no layer runs may be one that prepares data.
 * Without stacks that is unknown. */
static bool is_bare(const leak_search *search) {
    const sl_leak_scan *scan = search->scan;
    return search->an->trace->has_event_stacks && !search->an->steps->is_marked &&
           !sl_stretch_computes(&scan->stretch, scan->window.part_cnt);
}

static bool find_by_survivors(leak_search *search) {
    const sl_sites *sites = search->an->sites;
    bool is_hoard = is_hoarding(search->scan);
    for (uint32_t i = 0; i < sites->sites.cnt; i++) {
        const site_growth *growth = &search->steady[i];
        if (!growth->window_bytes || !may_ask(search, i, growth->roles))
            continue;
        if (!passes_survivors(search, growth) || is_mere_loading(search, growth)) {
            bool is_open = passes_survivors(search, growth) && is_undecided(search, growth);
            search->rejected_bins += !is_open;
            search->undecided += is_open;
            continue;
        }
        if (is_moved(search->scan, &search->total, (double)growth->window_bytes)) {
            search->rejected_moved++;
            continue;
        }
        sl_leak leak = leak_from(i, growth);
        leak.by_survivors = true;
        leak.is_bare = is_bare(search);
        leak.is_hoard = is_hoard;
        if (!sl_vec_push(&search->leaks, leak))
            return false;
    }
    return true;
}

static bool is_known(const leak_search *search, uint32_t site_idx) {
    for (size_t i = 0; i < search->leaks.cnt; i++)
        if (search->leaks.at[i].site_idx == site_idx)
            return true;
    return false;
}

/* Whether growth goes on through all three thirds. */
static bool grows_throughout(const double *y, size_t cnt) {
    double growth = y[cnt - 1] - y[0], least = SL_T_VALLEY_MIN_THIRD * growth;
    double a = y[cnt / 3], b = y[2 * cnt / 3];
    return growth > 0 && a - y[0] >= least && b - a >= least && y[cnt - 1] - b >= least;
}

static bool passes_valley(const sl_trend *trend, const double *y, size_t cnt) {
    return cnt >= SL_T_VALLEY_MIN_BINS && trend->slope > 0 && trend->tau >= SL_T_VALLEY_MIN_TAU &&
           trend->p <= SL_T_VALLEY_MAX_P &&
           trend->largest_fall <= SL_T_VALLEY_MAX_FALL * (y[cnt - 1] - y[0]) &&
           grows_throughout(y, cnt);
}

static bool find_by_valleys(leak_search *search) {
    const sl_leak_scan *scan = search->scan;
    size_t cnt = scan->window.valley_cnt;
    bool is_hoard = is_hoarding(scan);
    for (size_t i = 0; i < scan->valleys.cnt; i++) {
        const sl_valley *valley = &scan->valleys.at[i];
        const site_growth *growth = &search->all[valley->site_idx];
        if (!growth->kept_blocks || !may_ask(search, valley->site_idx, growth->roles) ||
            is_known(search, valley->site_idx))
            continue;
        sl_trend trend = sl_trend_of(valley->y, cnt);
        if (is_hoard || !passes_valley(&trend, valley->y, cnt)) {
            search->rejected_valley++;
            continue;
        }
        double rise = valley->y[cnt - 1] - valley->y[0];
        if (is_moved(scan, &search->total, rise)) {
            search->rejected_moved++;
            continue;
        }
        sl_leak leak = leak_from(valley->site_idx, growth);
        /* A buffer that is made again each step is in flight all the time. */
        bool has_more_late = growth->late_bytes >= growth->kept_bytes;
        leak.bytes = has_more_late ? growth->late_bytes : growth->kept_bytes;
        leak.blocks = has_more_late ? growth->late_blocks : growth->kept_blocks;
        leak.is_bare = is_bare(search);
        leak.growth_bytes = (uint64_t)rise;
        leak.trend = trend;
        leak.trend.slope *= (double)cnt / (double)scan->window.part_cnt;
        if ((double)valley->end_blocks <=
            SL_T_BUFFER_MAX_BLOCK_GROWTH * (double)valley->mid_blocks + 1)
            leak.kind = SL_LEAK_BUFFER;
        if (!sl_vec_push(&search->leaks, leak))
            return false;
    }
    return true;
}

/* ---- graphs ---- */

/* Sites of forward code that left survivors as often as the largest of them. */
static bool is_in_step(const sl_leak *leak, const sl_leak *main) {
    double a = (double)leak->occasions, b = (double)main->occasions;
    return leak->by_survivors && leak->kind == SL_LEAK_TENSOR &&
           a >= SL_T_GRAPH_OCCASIONS_MIN * b && a <= SL_T_GRAPH_OCCASIONS_MAX * b;
}

static sl_leak *largest_forward(sl_leaks *leaks) {
    sl_leak *best = NULL;
    for (size_t i = 0; i < leaks->cnt; i++) {
        sl_leak *leak = &leaks->at[i];
        if (leak->by_survivors && leak->kind == SL_LEAK_TENSOR && leak->layer_calls &&
            (!best || leak->bytes > best->bytes))
            best = leak;
    }
    return best;
}

/* Whether what grows in step with the largest forward site is an autograd graph. */
static bool is_graph(const leak_search *search, const sl_leak *main) {
    uint32_t most = 0, layer_calls = 0, twin_calls = 0;
    bool has_backward = false;
    for (size_t i = 0; i < search->leaks.cnt; i++) {
        const sl_leak *leak = &search->leaks.at[i];
        if (!is_in_step(leak, main))
            continue;
        most = leak->layer_calls && leak->calls > most ? leak->calls : most;
        layer_calls += leak->layer_calls;
        twin_calls += leak->twin_calls;
        sl_origin origin = search->an->sites->sites.at[leak->site_idx].site.origin;
        has_backward |= origin == SL_ORIGIN_BACKWARD;
    }
    return most >= SL_T_GRAPH_CALLS_ONE_LINE || layer_calls >= SL_T_GRAPH_CALLS_ALL || twin_calls ||
           has_backward;
}

/* Many operations that grow in step are one kept graph: they become one leak. */
static void merge_graph(leak_search *search) {
    sl_leak *main = largest_forward(&search->leaks);
    if (!main || !is_graph(search, main))
        return;
    uint32_t main_idx = (uint32_t)(main - search->leaks.at);
    for (uint32_t i = 0; i < search->leaks.cnt; i++) {
        sl_leak *leak = &search->leaks.at[i];
        if (i == main_idx || !is_in_step(leak, main))
            continue;
        leak->merged_into = main_idx;
        main->bytes += leak->bytes;
        main->blocks += leak->blocks;
        main->growth_bytes += leak->growth_bytes;
        main->evicted_bytes += leak->evicted_bytes;
        main->calls += leak->calls;
        main->sites++;
    }
    main->kind = SL_LEAK_GRAPH;
}

/* ---- slopes ---- */

/* Surviving bytes against parts, at up to SL_SERIES_MAX moments, for the leaks of test (A). */
typedef struct survivor_series {
    size_t point_cnt;
    size_t stride; /* whole parts per point, so that the slope has no rounding error */
    double *y;     /* owned; leaks x points */
} survivor_series;

static uint32_t leak_of_site(const leak_search *search, uint32_t site_idx) {
    for (uint32_t i = 0; i < search->leaks.cnt; i++) {
        const sl_leak *leak = &search->leaks.at[i];
        if (leak->site_idx == site_idx && leak->by_survivors)
            return leak->merged_into == SL_IDX_NONE ? i : leak->merged_into;
    }
    return SL_IDX_NONE;
}

/* Which leak each unit feeds, so that the pass over the lives only indexes. */
static uint32_t *map_units(const leak_search *search) {
    const sl_leak_scan *scan = search->scan;
    uint32_t *leak_of_unit = malloc((scan->units.cnt + 1) * sizeof *leak_of_unit);
    for (size_t i = 0; leak_of_unit && i < scan->units.cnt; i++) {
        const sl_leak_unit *unit = &scan->units.at[i];
        bool is_fed = unit->kept.blocks && !is_evicting(unit);
        leak_of_unit[i] = is_fed ? leak_of_site(search, unit->site_idx) : SL_IDX_NONE;
    }
    return leak_of_unit;
}

static bool fill_series(const leak_search *search, survivor_series *series) {
    const sl_leak_window *window = &search->scan->window;
    const sl_replay *replay = search->an->replay;
    uint32_t *leak_of_unit = map_units(search);
    series->stride = (window->part_cnt + SL_SERIES_MAX - 1) / SL_SERIES_MAX;
    series->point_cnt = window->part_cnt / series->stride;
    series->y = calloc(search->leaks.cnt * series->point_cnt + 1, sizeof(double));
    if (!leak_of_unit || !series->y) {
        free(leak_of_unit);
        return false;
    }
    size_t part = 0;
    for (size_t i = replay->base_cnt; i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= window->end)
            break;
        if (life->begin_event < window->edges.at[0] || life->end_event < window->end)
            continue;
        while (part + 1 < window->part_cnt && life->begin_event >= window->edges.at[part + 1])
            part++;
        uint32_t unit = sl_leak_unit_of(search->scan, life);
        uint32_t leak = unit == SL_IDX_NONE ? SL_IDX_NONE : leak_of_unit[unit];
        size_t point = part / series->stride;
        if (leak != SL_IDX_NONE && point < series->point_cnt)
            series->y[leak * series->point_cnt + point] += (double)life->requested_bytes;
    }
    free(leak_of_unit);
    return true;
}

static bool measure_slopes(leak_search *search) {
    survivor_series series = {0};
    if (!fill_series(search, &series)) {
        free(series.y);
        return false;
    }
    for (size_t i = 0; i < search->leaks.cnt; i++) {
        sl_leak *leak = &search->leaks.at[i];
        if (!leak->by_survivors || leak->merged_into != SL_IDX_NONE)
            continue;
        double *y = series.y + i * series.point_cnt;
        for (size_t p = 1; p < series.point_cnt; p++)
            y[p] += y[p - 1];
        leak->trend = sl_trend_of(y, series.point_cnt);
        leak->trend.slope /= (double)series.stride;
    }
    free(series.y);
    return true;
}

/* ---- the analysis ---- */

static void leave_for_others(leak_search *search) {
    sl_an *an = search->an;
    uint64_t largest = 0;
    for (size_t i = 0; i < search->leaks.cnt; i++) {
        const sl_leak *leak = &search->leaks.at[i];
        if (leak->merged_into != SL_IDX_NONE)
            continue;
        an->leaked_bytes += leak->bytes;
        an->leak_bytes_per_step += leak->trend.slope;
        if (leak->bytes < largest)
            continue;
        largest = leak->bytes;
        an->leak_site = sl_sites_show(an->sites, leak->site_idx, leak->stack_id);
    }
}

static void explain_rejections(leak_search *search) {
    sl_an *an = search->an;
    const sl_leak_window *window = &search->scan->window;
    sl_an_reason(an,
                 "leak: device %d: checked %zu %s%s after warm-up (events %" PRIu32 " to %" PRIu32
                 "); %zu site%s leak%s",
                 an->device->device, window->part_cnt, window->has_steps ? "step" : "equal part",
                 sl_plural(window->part_cnt), window->edges.at[0], window->end, search->leaks.cnt,
                 sl_plural(search->leaks.cnt), search->leaks.cnt == 1 ? "s" : "");
    if (search->rejected_bins)
        sl_an_reason(an,
                     "leak: %" PRIu64
                     " site%s left blocks that were never freed, but in fewer than %" PRIu32
                     " of %" PRIu32
                     " parts of the run or not in the last one: warm-up, a one-time copy, or the "
                     "current step's data",
                     search->rejected_bins, sl_plural(search->rejected_bins),
                     window->bin_cnt - SL_T_LEAK_MISSED_BINS, window->bin_cnt);
    if (search->rejected_valley)
        sl_an_reason(an,
                     "leak: %" PRIu64 " site%s ended with more than at the start, but the "
                     "lowest live bytes do not rise steadily (tau >= %.1f, no fall above %.0f %%, "
                     "growth in each third)",
                     search->rejected_valley, sl_plural(search->rejected_valley),
                     SL_T_VALLEY_MIN_TAU, 100 * SL_T_VALLEY_MAX_FALL);
    if (search->rejected_moved)
        sl_an_reason(an,
                     "leak: %" PRIu64 " site%s grew by what other sites freed; the device's total "
                     "did not rise",
                     search->rejected_moved, sl_plural(search->rejected_moved));
}

static bool search_leaks(leak_search *search) {
    size_t site_cnt = search->an->sites->sites.cnt;
    search->steady = calloc(site_cnt + 1, sizeof *search->steady);
    search->all = calloc(site_cnt + 1, sizeof *search->all);
    if (!search->steady || !search->all)
        return false;
    sum_units(search->scan, true, search->steady);
    sum_units(search->scan, false, search->all);
    search->total = sl_trend_of(search->scan->total, search->scan->window.valley_cnt);
    if (!find_by_survivors(search) || !find_by_valleys(search))
        return false;
    merge_graph(search);
    return measure_slopes(search);
}

static bool report_leaks(leak_search *search) {
    leave_for_others(search);
    explain_rejections(search);
    for (size_t i = 0; i < search->leaks.cnt; i++)
        if (search->leaks.at[i].merged_into == SL_IDX_NONE &&
            !sl_leak_report(search->an, search->scan, &search->leaks.at[i]))
            return false;
    return true;
}

static void explain_no_window(sl_an *an) {
    sl_an_reason(an,
                 "leak: device %d: not checked; there are too few steps (%zu, at least %u after "
                 "warm-up are needed) and too few events (%" PRIu32 "%s)",
                 an->device->device, an->steps->borders.cnt, SL_T_LEAK_MIN_STEPS,
                 an->to - an->steps->work_from,
                 an->steps->rows.cnt ? " after the last build-up" : "");
}

/* Without steps the whole window may be a row: nothing recurs regularly, and nothing is freed. */
static sl_row row_of_window(const sl_an *an, const sl_leak_scan *scan) {
    const sl_leak_window *window = &scan->window;
    const sl_row row = {window->first, window->end, (uint32_t)window->part_cnt, false};
    bool is_row = !window->has_steps && is_hoarding(scan) &&
                  sl_row_judge(&row, an->replay, an->sites->classes, an->to) == SL_ROW_DONE;
    return is_row ? row : (sl_row){0};
}

/* Why there is nothing to decide; NULL where there is. */
static const char *why_unjudged(const sl_an *an) {
    if (an->is_building)
        return "the call that recurs allocates parameters, so the program is building its model";
    return an->last_row.cnt
               ? "nothing is freed and no layer runs: the program loads its data or fills a list"
               : NULL;
}

static bool judge(sl_an *an, const sl_leak_scan *scan) {
    an->is_building = is_building(an, scan);
    if (!an->is_building)
        an->last_row = row_of_window(an, scan);
    const char *why = why_unjudged(an);
    if (!why) {
        leak_search search = {.an = an, .scan = scan};
        bool ok = search_leaks(&search) && report_leaks(&search);
        sl_an_device(an)->leaks_judged = search.undecided == 0 || search.leaks.cnt > 0;
        free(search.steady);
        free(search.all);
        sl_vec_free(&search.leaks);
        if (search.undecided)
            sl_an_reason(an,
                         "leak: device %d: not decided for %" PRIu64
                         " site%s: nothing is freed, so that the growth may be data that is "
                         "loaded (growing steps that tell: %u)",
                         an->device->device, search.undecided, sl_plural(search.undecided),
                         SL_T_HOARD_MIN_OCCASIONS);
        return ok;
    }
    if (an->is_building)
        sl_an_device(an)->steps = (sl_maybe_u64){0};
    sl_an_reason(an, "leak: device %d: not checked; %s", an->device->device, why);
    return true;
}

bool sl_find_leak(sl_an *an) {
    sl_leak_scan scan;
    bool ok = sl_leak_scan_run(&scan, an);
    if (ok && scan.window.part_cnt)
        ok = judge(an, &scan);
    else if (ok)
        explain_no_window(an);
    sl_leak_scan_fini(&scan);
    return ok;
}
