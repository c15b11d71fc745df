/* SPDX-License-Identifier: MIT */
#include "run/lines/site_bands.h"

#include <string.h>

typedef struct site_rank {
    uint64_t bytes;
    uint32_t site;
} site_rank;

static int compare_ranks(const void *a, const void *b) {
    const site_rank *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

static void number_sites(const sl_site_bands *bands, site_rank *ranks) {
    for (uint32_t i = 0; i < bands->grouped->sites.cnt; i++)
        ranks[i].site = i;
}

static bool sum_at_peak(const sl_site_bands *bands, site_rank *ranks) {
    sl_life_ids ids = {0};
    bool is_done = sl_replay_live_at(bands->replay, bands->replay->peak_requested.event, &ids);
    number_sites(bands, ranks);
    for (size_t i = 0; is_done && i < ids.cnt; i++) {
        const sl_life *life = &bands->replay->lives.at[ids.at[i]];
        ranks[sl_sites_of(bands->grouped, life)].bytes += life->requested_bytes;
    }
    sl_vec_free(&ids);
    return is_done;
}

/* Adds a block to its site and keeps the site's highest. */
static void lift(const sl_site_bands *bands, const sl_life *life, uint64_t *live,
                 site_rank *ranks) {
    uint32_t site = sl_sites_of(bands->grouped, life);
    live[site] += life->requested_bytes;
    if (live[site] > ranks[site].bytes)
        ranks[site].bytes = live[site];
}

/* Lives that ended without a free are left out of the sinking: this is only an order. */
static bool find_highest(const sl_site_bands *bands, site_rank *ranks) {
    const sl_replay *replay = bands->replay;
    uint64_t *live = calloc(bands->grouped->sites.cnt + 1, sizeof *live);
    if (!live)
        return false;
    number_sites(bands, ranks);
    for (size_t i = 0; i < replay->base_cnt; i++)
        lift(bands, &replay->lives.at[i], live, ranks);
    for (uint32_t event = 0; event < replay->event_cnt; event++) {
        if (replay->life_of_event[event] == SL_IDX_NONE)
            continue;
        const sl_life *life = &replay->lives.at[replay->life_of_event[event]];
        if (life->begin_event == event)
            lift(bands, life, live, ranks);
        else if (life->end_event == event)
            live[sl_sites_of(bands->grouped, life)] -= life->requested_bytes;
    }
    free(live);
    return true;
}

/* How many of the ranked sites have a band: a rest of too many bytes at the peak gives some to more. */
static size_t count_bands(const sl_site_bands *bands, const site_rank *ranks,
                          const site_rank *at_peak, size_t least, size_t most) {
    size_t held = 0, cnt = least;
    while (held < bands->grouped->sites.cnt && ranks[held].bytes > 0)
        held++;
    uint64_t total = 0, rest = 0;
    for (size_t i = 0; i < held; i++) {
        total += at_peak[ranks[i].site].bytes;
        rest += i < least ? 0 : at_peak[ranks[i].site].bytes;
    }
    for (; cnt < most && cnt < held && sl_sites_rest_is_large(rest, total); cnt++)
        rest -= at_peak[ranks[cnt].site].bytes;
    return cnt < held ? cnt : held;
}

static void name_bands(sl_site_bands *bands, const site_rank *ranks, size_t cnt) {
    bands->cnt = cnt;
    for (size_t i = 0; i < cnt; i++)
        bands->sites[i] = bands->grouped->sites.at[ranks[i].site].site;
    memset(bands->band_of_site, (int)cnt, bands->grouped->sites.cnt);
    for (size_t i = 0; i < cnt; i++)
        bands->band_of_site[ranks[i].site] = (uint8_t)i;
    for (size_t i = cnt; i < bands->grouped->sites.cnt && ranks[i].bytes > 0; i++)
        bands->rest_cnt++;
    bands->rest_largest_bytes = bands->rest_cnt > 0 ? ranks[cnt].bytes : 0;
}

/* ranks and at_peak have room for all sites. */
static bool rank_and_name(sl_site_bands *bands, site_rank *ranks, site_rank *at_peak,
                          sl_bands_by by, size_t least, size_t most) {
    size_t cnt = bands->grouped->sites.cnt;
    if (!sum_at_peak(bands, at_peak))
        return false;
    if (by == SL_BANDS_BY_PEAK)
        memcpy(ranks, at_peak, cnt * sizeof *ranks);
    else if (!find_highest(bands, ranks))
        return false;
    qsort(ranks, cnt, sizeof *ranks, compare_ranks);
    name_bands(bands, ranks, count_bands(bands, ranks, at_peak, least, most));
    return true;
}

bool sl_site_bands_init_most(sl_site_bands *bands, const sl_sites *grouped, const sl_replay *replay,
                             sl_bands_by by, size_t least, size_t most) {
    *bands = (sl_site_bands){.grouped = grouped, .replay = replay};
    site_rank *ranks = calloc(grouped->sites.cnt + 1, sizeof *ranks);
    site_rank *at_peak = calloc(grouped->sites.cnt + 1, sizeof *at_peak);
    bands->band_of_site = calloc(grouped->sites.cnt + 1, 1);
    bool is_done =
        ranks && at_peak && bands->band_of_site &&
        rank_and_name(bands, ranks, at_peak, by, least < SL_BANDS_MAX ? least : SL_BANDS_MAX,
                      most < SL_BANDS_MAX ? most : SL_BANDS_MAX);
    free(ranks);
    free(at_peak);
    return is_done;
}

bool sl_site_bands_init(sl_site_bands *bands, const sl_sites *grouped, const sl_replay *replay,
                        sl_bands_by by, size_t top) {
    return sl_site_bands_init_most(bands, grouped, replay, by, top, top);
}

void sl_site_bands_fini(sl_site_bands *bands) {
    free(bands->band_of_site);
    bands->band_of_site = NULL;
}

static uint64_t *band_of(sl_band_walk *walk, const sl_life *life) {
    return &walk->live[walk->bands->band_of_site[sl_sites_of(walk->bands->grouped, life)]];
}

void sl_band_walk_init(sl_band_walk *walk, const sl_site_bands *bands) {
    *walk = (sl_band_walk){.bands = bands, .changes = {.replay = bands->replay}};
    sl_replay_walk_init(&walk->totals, bands->replay);
    for (size_t i = 0; i < bands->replay->base_cnt; i++)
        *band_of(walk, &bands->replay->lives.at[i]) += bands->replay->lives.at[i].requested_bytes;
}

bool sl_band_walk_next(sl_band_walk *walk) {
    bool begins;
    sl_life_changes_at(&walk->changes, walk->totals.next);
    if (!sl_replay_walk_next(&walk->totals))
        return false;
    for (const sl_life *life; (life = sl_life_changes_next(&walk->changes, &begins)) != NULL;)
        if (begins)
            *band_of(walk, life) += life->requested_bytes;
        else
            *band_of(walk, life) -= life->requested_bytes;
    return true;
}
