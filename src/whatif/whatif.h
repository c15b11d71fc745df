/* SPDX-License-Identifier: MIT */
/* Which allocator setting would have helped: the answer for one device, as plain data.
 *
 * (W1) First the trace is replayed as recorded. Its share of equal addresses decides: from SL_WHATIF_EXACT on the answer is
 *      exact but for (W3); from SL_WHATIF_GOOD on it has an error bar, the error of the reserved peak in that replay; below
 *      there is no answer, and `refusal` says why.
 * (W2) Every row is one replay of the same calls under other settings and the same limit. The best row has the lowest
 *      reserved peak among those that a user can set and that do not fail; it must save more than the errors.
 * (W3) Where the driver puts new segments is not known, and neither is when a free that waits for another stream completes:
 *      a row's low and high are the extremes of random placements and of both ends of that interval.
 * (W4) The floor is the largest sum of requests that were in use at once, each rounded to 512 bytes; no setting can
 *      reserve less.
 * (W5) With `without`, the proof is of the whole trace, and everything else of what is left of it. The rows are what the
 *      program would have reserved had it not kept or made these blocks.
 *
 * Pure but for threads; owns what it points to, borrows the run. */
#ifndef SL_WHATIF_H
#define SL_WHATIF_H

#include "base/core/arena.h"
#include "whatif/whatif_replay.h"

#define SL_WHATIF_EXACT 0.999
#define SL_WHATIF_GOOD  0.95
#define SL_WHATIF_WHY   320

typedef struct sl_whatif_options {
    const sl_alloc_settings
        *settings;      /* borrowed; rows to compute besides that of the recorded settings */
    size_t setting_cnt; /* 0 = the sweep */
    sl_maybe_u64
        card_bytes; /* what PyTorch could reserve; not known = as the trace shows, or no limit */
    const char *
        without; /* regular expression; borrowed: the blocks of these lines never exist (W5); NULL */
    unsigned thread_cnt;    /* at least 1 */
    unsigned placement_cnt; /* of (W3); 0 = by the length of the trace */
    bool wants_cards;       /* the smallest card for each row */
} sl_whatif_options;

typedef enum sl_whatif_kind {
    SL_WHATIF_RECORDED, /* the settings of the trace */
    SL_WHATIF_SETTING,  /* that a user can set */
    SL_WHATIF_BOUND,    /* shows what is possible at another price: no caching, one stream */
} sl_whatif_kind;

typedef struct sl_whatif_row {
    sl_alloc_settings settings;
    sl_whatif_kind kind;
    sl_pass pass;                 /* the likely placement, frees as recorded */
    uint64_t peak_low, peak_high; /* (W3) */
    uint32_t failed_cnt;          /* of the passes of (W3) */
    uint32_t pass_cnt;
    bool may_fit;            /* fails, but not under the highest limit the trace allows (C5) */
    sl_maybe_u64 card_bytes; /* the smallest that fits, in whole MiB */
} sl_whatif_row;

typedef struct sl_whatif_proof {
    sl_pass pass;
    double share;           /* of equal addresses */
    bool is_exact, is_good; /* (W1) */
    bool has_same_curve;    /* of the reserved bytes */
    bool has_same_peak; /* of them; all that can be said of a recording, whose curve is coarse */
    double error;       /* of the reserved peak; the error bar unless is_exact */
    bool is_guessed;    /* the settings were not recorded, but found by trying */
} sl_whatif_proof;

/* The last request of the trace that failed. */
typedef struct sl_whatif_failure {
    bool is_known;
    uint32_t event, call;
    uint64_t bytes;
    uint64_t active_bytes;    /* in use then (W4) */
    uint64_t missing_bytes;   /* must go, at least, for it to fit under any setting; 0 = nothing */
    sl_maybe_f64 step_growth; /* bytes in use, per step */
    sl_holdings holdings;     /* who held most, at most 5 rows */
} sl_whatif_failure;

typedef struct sl_whatif {
    sl_arena arena;
    sl_calls *calls; /* owned */
    sl_whatif_proof proof;
    char refusal[SL_WHATIF_WHY]; /* "" = there is an answer */
    SL_VEC(sl_whatif_row) rows;  /* the first is as recorded; none when refused */
    size_t best;                 /* row; 0 = nothing is better */
    uint64_t floor_bytes;        /* (W4) */
    uint32_t floor_event;
    uint64_t limit_bytes; /* SL_ALLOC_NO_LIMIT */
    bool
        limit_is_given; /* by the options; else it is what a failure or a flush of the trace shows */
    unsigned placement_cnt;
    const char *without;      /* borrowed from the options; NULL */
    sl_calls_removed removed; /* (W5) */
    sl_whatif_failure failure;
} sl_whatif;

/* SL_E_USAGE when the input has no events to replay, SL_E_NOMEM, SL_E_LIMIT. A refusal is an answer: SL_OK. */
sl_status sl_whatif_new(const sl_run_device *device, const sl_whatif_options *options,
                        sl_whatif **out, sl_error *err);
void sl_whatif_free(sl_whatif *whatif); /* NULL is fine */

/* Options of one pass of a row under the answer's limit. */
sl_pass_options sl_whatif_pass(const sl_whatif *whatif, const sl_alloc_settings *settings);

/* What only the files of this module share. */

/* whatif_rows.c: adds the rows without computing them; computes all of them, in threads. */
sl_status sl__whatif_add_rows(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err);
sl_status sl__whatif_run_rows(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err);
sl_status sl__whatif_find_best_card(sl_whatif *whatif, sl_error *err);
/* whatif_failure.c. */
sl_status sl__whatif_find_failure(sl_whatif *whatif, sl_error *err);

#endif
