/* SPDX-License-Identifier: MIT */
/* Growth that does not stop: whether the floor of a sampled quantity still rises at the end of the
 * recording. A sample holds until the next one, so files with changes only work too. The floor of
 * time bins is used, which breathing (batches, temporaries) does not move; the last part alone
 * decides, so that a warm-up followed by a plateau is not growth. Linear in the samples. */
#ifndef SL_GROWTH_H
#define SL_GROWTH_H

#include "base/core/status.h"

typedef struct sl_growth_point {
    int64_t time_ns; /* ascending */
    int64_t bytes;
} sl_growth_point;

typedef struct sl_growth {
    bool is_found;
    double bytes_per_second;
    double r_squared;             /* of the floor against time, in the window */
    int64_t first_ns, last_ns;    /* the window in which it grows */
    int64_t from_bytes, to_bytes; /* the floor at its ends */
    double trend_z;               /* Mann-Kendall, of the last part */
    int64_t noise_bytes;          /* of the floor around its line */
} sl_growth;

/* SL_E_NOMEM never; the bins are on the stack. */
void sl_growth_find(const sl_growth_point *points, size_t cnt, sl_growth *out);

#endif
