/* SPDX-License-Identifier: MIT */
/* Sites of one trace: stacks put together by the user's line (or function, file, stack), the
 * filter applied once per site, and lists of who holds how much at an instant. All per-event work
 * is indexing of dense arrays. */
#ifndef SL_SITES_H
#define SL_SITES_H

#include "run/blocks/replay.h"
#include "run/lines/user_line.h"

typedef struct sl_site_info {
    sl_site site;  /* of the first stack met */
    bool is_shown; /* passes the filter */
    uint32_t stack_cnt;
} sl_site_info;

typedef struct sl_sites {
    const sl_trace *trace;   /* borrowed */
    sl_stack_class *classes; /* owned; by stack id */
    uint32_t *site_of_stack; /* owned */
    SL_VEC(sl_site_info) sites;
    uint32_t before_site; /* blocks from before the trace that have no stack */
} sl_sites;

/* SL_E_USAGE when the filter is not a regular expression, SL_E_NOMEM. */
sl_status sl_sites_init(sl_sites *sites, const sl_trace *trace, sl_group_by group_by,
                        const char *filter, sl_error *err);
void sl_sites_fini(sl_sites *sites);

/* The site of a block. */
static inline uint32_t sl_sites_of(const sl_sites *sites, const sl_life *life) {
    if ((life->flags & SL_LIFE_BASE) && life->stack_id == SL_STACK_EMPTY)
        return sites->before_site;
    return sites->site_of_stack[life->stack_id];
}

/* The site as it is shown for one of its stacks. */
sl_site sl_sites_show(const sl_sites *sites, uint32_t site_idx, uint32_t stack_id);

/* The site of a stack as it is shown. */
static inline sl_site sl_sites_of_stack(const sl_sites *sites, uint32_t stack_id) {
    return sl_sites_show(sites, sites->site_of_stack[stack_id], stack_id);
}

/* As many rows as it takes to name three quarters of the bytes, 10 to 40: a list whose last row is
 * "everything else, 60 %" explains nothing. */
#define SL_SITES_MOST     (SIZE_MAX - 1)
#define SL_SITES_MOST_MIN 10u
#define SL_SITES_MOST_MAX 40u

/* Whether the rest of a list hides too much of what the whole list holds. */
static inline bool sl_sites_rest_is_large(uint64_t rest_bytes, uint64_t total_bytes) {
    return rest_bytes > total_bytes / 4;
}

/* Who holds what after the event, largest first, at most `top` rows (the rest is summed up), only
 * sites that pass the filter; memory from the arena. False when memory ran out. */
bool sl_sites_holdings(const sl_sites *sites, const sl_replay *replay, uint32_t event, size_t top,
                       sl_arena *arena, sl_holdings *out);

/* Requested bytes and blocks of each site after the event; arrays by site index, owned by the
 * caller. blocks may be NULL. */
bool sl_sites_bytes_at(const sl_sites *sites, const sl_replay *replay, uint32_t event,
                       uint64_t *bytes, uint64_t *blocks);

/* What a filter is matched with: "file:line function", or the label of a site without a line. */
#define SL_FILTER_TEXT_CAP 2048
void sl_site_filter_text(sl_site site, char text[SL_FILTER_TEXT_CAP]);

/* Whether any of the sites that a stack of the trace belongs to passes the filter. */
bool sl_sites_has_shown(const sl_sites *sites);

/* "train.py:42 (step)" or the label of a site without a line; path shortened to its end. */
const char *sl_site_text(sl_site site, sl_arena *arena);

#endif
