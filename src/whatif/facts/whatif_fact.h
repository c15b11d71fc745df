/* SPDX-License-Identifier: MIT */
/* What other allocator settings would have done, as a fact of the run: computed for a device on
 * first use, and then the same for findings, page, pictures and Python. `stormlog whatif` asks
 * the same question with options of its own.
 *
 * (F1) It is the answer to the default question: the sweep, under the limit that the trace met,
 *      without smallest cards.
 * (F2) It must not delay other work. Of a run at most SL_WHATIF_EVENTS_MAX events are replayed,
 *      device by device in the order of use; the others are SL_WHATIF_TOO_LONG.
 * (F3) The run's effort setting may switch it off, or remove the limit of (F2). */
#ifndef SL_WHATIF_FACT_H
#define SL_WHATIF_FACT_H

#include "whatif/whatif.h"

/* 1.0 s on one core for 100,000 events with 16 placements, 1.4 s for 490,000 with 4 (15
 * settings, random sizes). */
#define SL_WHATIF_EVENTS_MAX 500000u

typedef enum sl_whatif_state {
    SL_WHATIF_ANSWERED,
    SL_WHATIF_REFUSED,    /* less than 95 % of the addresses (W1); `answer` is set, without rows */
    SL_WHATIF_IMPOSSIBLE, /* nothing to replay, or another allocator */
    SL_WHATIF_TOO_LONG,   /* (F2) */
    SL_WHATIF_OFF,        /* (F3) */
} sl_whatif_state;

typedef struct sl_whatif_fact {
    sl_whatif_state state;
    sl_whatif *answer;       /* owned; NULL unless ANSWERED or REFUSED */
    char why[SL_WHATIF_WHY]; /* a clause without a full stop; "" if ANSWERED or OFF */
} sl_whatif_fact;

/* *out is valid as long as the run. SL_E_NOMEM. */
sl_status sl_whatif_of(const sl_run_device *device, const sl_whatif_fact **out, sl_error *err);

#endif
