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

static void name_bands(sl_site_bands *bands, const site_rank *ranks, size_t top) {
    for (; bands->cnt < top && bands->cnt < bands->grouped->sites.cnt; bands->cnt++) {
        if (ranks[bands->cnt].bytes == 0)
            break;
        bands->sites[bands->cnt] = bands->grouped->sites.at[ranks[bands->cnt].site].site;
    }
    memset(bands->band_of_site, (int)bands->cnt, bands->grouped->sites.cnt);
    for (size_t i = 0; i < bands->cnt; i++)
        bands->band_of_site[ranks[i].site] = (uint8_t)i;
}

bool sl_site_bands_init(sl_site_bands *bands, const sl_sites *grouped, const sl_replay *replay,
                        sl_bands_by by, size_t top) {
    *bands = (sl_site_bands){.grouped = grouped, .replay = replay};
    site_rank *ranks = calloc(grouped->sites.cnt + 1, sizeof *ranks);
    bands->band_of_site = calloc(grouped->sites.cnt + 1, 1);
    bool is_done = ranks && bands->band_of_site;
    if (is_done)
        is_done = by == SL_BANDS_BY_PEAK ? sum_at_peak(bands, ranks) : find_highest(bands, ranks);
    if (is_done) {
        qsort(ranks, grouped->sites.cnt, sizeof *ranks, compare_ranks);
        name_bands(bands, ranks, top < SL_BANDS_MAX ? top : SL_BANDS_MAX);
    }
    free(ranks);
    return is_done;
}

void sl_site_bands_fini(sl_site_bands *bands) {
    free(bands->band_of_site);
    bands->band_of_site = NULL;
}

static uint64_t *band_of(sl_band_walk *walk, const sl_life *life) {
    return &walk->live[walk->bands->band_of_site[sl_sites_of(walk->bands->grouped, life)]];
}

void sl_band_walk_init(sl_band_walk *walk, const sl_site_bands *bands) {
    *walk = (sl_band_walk){.bands = bands};
    sl_replay_walk_init(&walk->totals, bands->replay);
    for (size_t i = 0; i < bands->replay->base_cnt; i++)
        *band_of(walk, &bands->replay->lives.at[i]) += bands->replay->lives.at[i].requested_bytes;
}

/* Lives that ended without a free of their own, as the totals count them. */
static void end_lost(sl_band_walk *walk, uint32_t event) {
    const sl_replay *replay = walk->bands->replay;
    for (; walk->next_lost < replay->lost.cnt; walk->next_lost++) {
        const sl_life *life = &replay->lives.at[replay->lost.at[walk->next_lost]];
        if (life->end_event != event)
            return;
        *band_of(walk, life) -= life->requested_bytes;
    }
}

bool sl_band_walk_next(sl_band_walk *walk) {
    const sl_replay *replay = walk->bands->replay;
    uint32_t event = walk->totals.next;
    if (!sl_replay_walk_next(&walk->totals))
        return false;
    end_lost(walk, event);
    if (replay->life_of_event[event] == SL_IDX_NONE)
        return true;
    const sl_life *life = &replay->lives.at[replay->life_of_event[event]];
    if (life->begin_event == event)
        *band_of(walk, life) += life->requested_bytes;
    else if (life->end_event == event)
        *band_of(walk, life) -= life->requested_bytes;
    return true;
}
