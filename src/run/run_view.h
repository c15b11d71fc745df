/* SPDX-License-Identifier: MIT */
/* What the analyses know about one trace that pictures and exports show besides its events: which
 * site a stack belongs to, and where the steps begin. Plain data, borrowed by everybody who draws;
 * the command line makes it. Read-only, so it may be shared between threads. */
#ifndef SL_RUN_VIEW_H
#define SL_RUN_VIEW_H

#include "run/blocks/replay.h"
#include "run/lines/site.h"

typedef struct sl_view_steps {
    int device;
    const uint32_t *borders; /* first event of each step, ascending */
    size_t cnt;
    bool is_marked; /* by the program, not found in the pattern */
} sl_view_steps;

typedef struct sl_run_view {
    const sl_trace *trace;
    const sl_site *sites;
    uint32_t site_cnt;
    const uint32_t *site_of_stack; /* by stack id */
    uint32_t before_site;          /* of blocks from before the trace without a stack */
    const sl_view_steps *steps;    /* one for each device of the trace, in its order */
} sl_run_view;

/* The site of a block; below site_cnt. */
static inline uint32_t sl_view_site_of(const sl_run_view *view, const sl_life *life) {
    if ((life->flags & SL_LIFE_BASE) && life->stack_id == SL_STACK_EMPTY)
        return view->before_site;
    return view->site_of_stack[life->stack_id];
}

#endif
