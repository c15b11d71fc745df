/* SPDX-License-Identifier: MIT */
/* What each site held and allocated in each step of a device. Every figure adds up: over the sites of a
 * step to the device's own, so sums over any of them are right. Pure; one part of the run at a time. */
#ifndef SL_STEP_SITES_H
#define SL_STEP_SITES_H

#include "run/run.h"

/* enumerator, outside name: which part of the run. */
#define SL_STEP_PART_MAP(X) \
    X(BEFORE, "before")     \
    X(STEP, "step")         \
    X(AFTER, "after")       \
    X(RUN, "run")

typedef enum sl_step_part_kind {
#define SL_STEP_PART_ENUM(name, text) SL_STEP_PART_##name,
    SL_STEP_PART_MAP(SL_STEP_PART_ENUM)
#undef SL_STEP_PART_ENUM
} sl_step_part_kind;

const char *sl_step_part_name(sl_step_part_kind kind);

/* Requested bytes and blocks of one site. */
typedef struct sl_step_site {
    uint64_t peak_bytes, peak_blocks; /* at the moment of the part when the device held most */
    uint64_t live_bytes, live_blocks; /* when the part ended */
    uint64_t allocated_bytes, allocations;
} sl_step_site;

/* One step, or what lies before and after the steps; the whole work (RUN) where there are no steps. */
typedef struct sl_step_part {
    sl_step_part_kind kind;
    uint64_t step;     /* of a STEP: counted from 0, also where the first ones left the ring */
    uint32_t from, to; /* events [from, to) */
    int64_t start_us, end_us;
    bool has_history;          /* false: the input is a state, and only what is live is known */
    const sl_step_site *sites; /* by site index */
    size_t site_cnt;
} sl_step_part;

typedef sl_status (*sl_step_part_fn)(void *self, const sl_step_part *part, sl_error *err);

/* Hands over the parts in their order; together they are the whole work. Parts without any event are
 * left out, unless they are steps of a trace without losses. A failure of `take` ends it. */
sl_status sl_step_sites_walk(const sl_run_device *device, const sl_sites *sites,
                             sl_step_part_fn take, void *self, sl_error *err);

#endif
