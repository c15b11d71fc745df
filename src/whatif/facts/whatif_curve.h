/* SPDX-License-Identifier: MIT */
/* What the settings of an answer reserve over the trace, for pictures: each row is replayed once
 * more, in bins with the same number of events. A bin keeps its highest value, so no peak is
 * lost. Settings with the same result share a curve.
 *
 * Pure; owns its curves, borrows the answer. */
#ifndef SL_WHATIF_CURVE_H
#define SL_WHATIF_CURVE_H

#include "whatif/whatif.h"

#define SL_WHATIF_ENDED UINT64_MAX /* value of a bin after a request failed */

typedef struct sl_whatif_curve {
    size_t row;            /* of the answer: the first one with this curve */
    size_t also_cnt;       /* number of further settings with this curve */
    const uint64_t *bytes; /* highest reserved in each bin; SL_WHATIF_ENDED */
    uint64_t peak_bytes;
} sl_whatif_curve;

typedef struct sl_whatif_curves {
    const sl_whatif *whatif;
    uint32_t bin_cnt;
    SL_VEC(sl_whatif_curve)
    list; /* as recorded, the best one if it differs, then by ascending peak; failing ones last */
    uint32_t
        *curve_of_row; /* owned; position in the list; SL_IDX_NONE for a bound: it has no curve */
    uint64_t *bytes;   /* owned */
} sl_whatif_curves;

/* For an answer that was not refused; at most bin_max bins. SL_E_NOMEM. */
sl_status sl_whatif_curves_new(const sl_whatif *whatif, uint32_t bin_max, sl_whatif_curves **out,
                               sl_error *err);
void sl_whatif_curves_free(sl_whatif_curves *curves); /* NULL is fine */

/* The first event of a bin. */
uint32_t sl_whatif_curve_event(const sl_whatif_curves *curves, uint32_t bin);

#endif
