/* SPDX-License-Identifier: MIT */
/* "If it failed now": which request of a running program would be the first that finds no room, and why. From the
 * tables of a recording that is still written; analyze/find_oom.c answers the same for a request that has failed, with
 * the same causes in the same order. */
#ifndef SL_LIVE_FAILURE_H
#define SL_LIVE_FAILURE_H

#include "api/live/live_forecast.h"

/* enumerator, outside name, why a request fails, what bounds the room of one that does not yet. */
#define SL_FAILURE_CAUSE_MAP(X)                                                               \
    X(OTHERS, "other-process", "other processes hold the card", "beside the other processes") \
    X(FRAGMENTATION, "fragmentation", "free memory is in pieces", "in one piece")             \
    X(LIMIT, "process-limit", "the process may not reserve more",                             \
      "within the limit of the process")                                                      \
    X(CARD, "card-full", "the card is full", "before the card is full")                       \
    X(HOST, "host-full", "the host's memory is full", "before the host's memory is full")

typedef enum sl_failure_cause {
#define SL_FAILURE_CAUSE_ENUM(id, name, why, room) SL_FAILURE_##id,
    SL_FAILURE_CAUSE_MAP(SL_FAILURE_CAUSE_ENUM)
#undef SL_FAILURE_CAUSE_ENUM
        SL_FAILURE_CAUSE_CNT
} sl_failure_cause;

typedef struct sl_live_failure {
    bool is_known; /* what the device has left is known, and a request that recurs */
    sl_failure_cause cause;
    char line
        [SL_LIVE_PLACE_CAP]; /* of the largest request that recurs; empty = its line is not known */
    uint64_t request_bytes;  /* that request: the mean of its kind */
    uint64_t largest_bytes;  /* the largest request that would be served now */
    uint64_t free_bytes;     /* that nobody has */
    sl_maybe_u64 cached_bytes; /* in the allocator's segments, but in no tensor */
    sl_maybe_u64 piece_bytes;  /* the largest piece of that */
    sl_maybe_u64 others_bytes; /* other processes */
} sl_live_failure;

/* Whether that request would fail at this moment. */
static inline bool sl_live_failure_is_near(const sl_live_failure *failure) {
    return failure->is_known && failure->request_bytes > failure->largest_bytes;
}

/* The names of the log are loaded. SL_E_NOMEM. */
sl_status sl_live_failure_find(sl_log_reader *reader, const sl_log_counters *counters,
                               const sl_log_tables *tables, int device, sl_live_failure *out,
                               sl_error *err);

const char *sl_failure_cause_name(sl_failure_cause cause);

#define SL_FAILURE_TEXT_CAP 400
/* "if it failed now: train.py:41: the card is full; it asks for 1.20 GiB, 300 MiB fits"; while it fits, "largest request: train.py:41
 * asks for 1.20 GiB, 90.0 GiB fits before the card is full". Returns buf; empty when nothing is known. */
const char *sl_live_failure_text(char buf[SL_FAILURE_TEXT_CAP], const sl_live_failure *failure);

#endif
