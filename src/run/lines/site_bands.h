/* SPDX-License-Identifier: MIT */
/* A device's live bytes split into the few sites that hold the most, and all others, followed event
 * by event. Curves stacked by site and counters by site are made of this. */
#ifndef SL_SITE_BANDS_H
#define SL_SITE_BANDS_H

#include "run/lines/sites.h"

#define SL_BANDS_MAX 24u

/* What "the most" means. */
typedef enum sl_bands_by {
    SL_BANDS_BY_HIGHEST, /* each site's own highest live bytes, whenever that was: for curves */
    SL_BANDS_BY_PEAK,    /* what it held at the peak of the device: for instants */
} sl_bands_by;

typedef struct sl_site_bands {
    const sl_sites *grouped;     /* borrowed */
    const sl_replay *replay;     /* borrowed */
    uint8_t *band_of_site;       /* owned */
    sl_site sites[SL_BANDS_MAX]; /* largest first */
    size_t cnt;                  /* named bands; band number cnt is everything else */
    size_t rest_cnt;             /* sites of that band that ever held anything */
    uint64_t rest_largest_bytes; /* of the largest of them, by what the order is by */
} sl_site_bands;

/* top is cut to SL_BANDS_MAX. False when memory ran out; fini in either case. */
bool sl_site_bands_init(sl_site_bands *bands, const sl_sites *grouped, const sl_replay *replay,
                        sl_bands_by by, size_t top);
/* At least `least`, and up to `most` where everything else would hide too much of what is live at the
 * peak (sl_sites_rest_is_large). */
bool sl_site_bands_init_most(sl_site_bands *bands, const sl_sites *grouped, const sl_replay *replay,
                             sl_bands_by by, size_t least, size_t most);
void sl_site_bands_fini(sl_site_bands *bands);

/* The totals and the bands after event totals.next - 1; the bands add up to requested_bytes. */
typedef struct sl_band_walk {
    const sl_site_bands *bands;
    sl_replay_walk totals;
    sl_life_changes changes;
    uint64_t live[SL_BANDS_MAX + 1];
} sl_band_walk;

void sl_band_walk_init(sl_band_walk *walk, const sl_site_bands *bands);
/* Applies one event; false at the end. */
bool sl_band_walk_next(sl_band_walk *walk);

#endif
