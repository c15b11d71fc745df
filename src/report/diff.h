/* SPDX-License-Identifier: MIT */
/* The result of comparing two instants, by site. Drawn by the exporters, made by the analyses.
 * Sites point into the traces (borrowed): free a diff before them. */
#ifndef SL_DIFF_H
#define SL_DIFF_H

#include "report/report.h"

typedef enum sl_change {
    SL_CHANGE_APPEARED, /* nothing before */
    SL_CHANGE_GONE,     /* nothing after */
    SL_CHANGE_GROWN,
    SL_CHANGE_SHRUNK,
    SL_CHANGE_SAME,
} sl_change;

typedef struct sl_diff_row {
    sl_site site; /* of the after side where there is one */
    sl_change change;
    uint64_t before_bytes, after_bytes; /* requested */
    uint64_t before_blocks, after_blocks;
} sl_diff_row;

typedef struct sl_diff_side {
    const sl_trace *trace; /* borrowed */
    int device;
    int64_t time_us;
    uint64_t live_bytes, blocks; /* requested bytes; of the sites that pass the filter */
    sl_maybe_u64 reserved_bytes;
    sl_split by_tag, by_phase;
} sl_diff_side;

typedef struct sl_diff {
    sl_diff_side before, after;
    SL_VEC(sl_diff_row) rows; /* largest absolute change first; unchanged sites are left out */
    uint64_t same_bytes, same_sites;
    uint64_t change_cnt[SL_CHANGE_SAME + 1]; /* sites by sl_change, also those beyond `top` */
    uint64_t appeared_bytes, gone_bytes, grown_bytes, shrunk_bytes;
    uint32_t prefix_frames; /* > 0: rows are prefixes of this many outermost frames */
} sl_diff;

void sl_diff_free(sl_diff *diff); /* NULL is fine */

/* "appeared", "gone", "grown", "shrunk", "same". */
const char *sl_change_name(sl_change change);

#endif
