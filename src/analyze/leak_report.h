/* SPDX-License-Identifier: MIT */
/* A leak as the leak analysis decided it, and its words. Internal to src/analyze. */
#ifndef SL_LEAK_REPORT_H
#define SL_LEAK_REPORT_H

#include "analyze/leak_scan.h"

typedef enum sl_leak_kind {
    SL_LEAK_TENSOR, /* tensors kept */
    SL_LEAK_GRAPH,  /* an output kept with its autograd graph */
    SL_LEAK_BUFFER, /* one block replaced by a larger one again and again */
    SL_LEAK_PARAM,  /* parameters or optimizer state kept */
} sl_leak_kind;

typedef struct sl_leak {
    uint32_t site_idx;
    uint32_t stack_id; /* of the site's stacks, the one that holds most of it */
    sl_leak_kind kind;
    bool by_survivors; /* decided by survivors; else by valleys */
    bool is_hoard;     /* nothing is freed at all in the window */
    bool is_bare;      /* found steps in which no layer runs */
    uint64_t bytes, blocks;
    uint64_t growth_bytes; /* within the window */
    uint64_t evicted_bytes;
    uint32_t hits;        /* bins with survivors */
    uint32_t occasions;   /* parts with survivors */
    uint32_t calls;       /* distinct growing calls */
    uint32_t layer_calls; /* of them, inside torch.nn and not parameters */
    uint32_t twin_calls;  /* of them, those that keep several blocks at once */
    uint32_t sites;       /* lines put together into this leak */
    uint32_t merged_into; /* index of another leak, or SL_IDX_NONE */
    uint8_t roles;        /* of all growing calls */
    sl_trend trend;       /* of the series the slope comes from, per part */
} sl_leak;

typedef SL_VEC(sl_leak) sl_leaks;

/* Adds the finding. False when memory ran out. */
bool sl_leak_report(sl_an *an, const sl_leak_scan *scan, const sl_leak *leak);

#endif
