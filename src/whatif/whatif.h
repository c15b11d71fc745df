/* SPDX-License-Identifier: MIT */
/* Which allocator setting would have helped: the answer for one device, as plain data.
 *
 * (W1) The proof: the trace is replayed as recorded. The share of equal addresses decides: from
 *      SL_WHATIF_EXACT on the answer is exact except for (W3); from SL_WHATIF_GOOD on it has an
 *      error bar, the error of the reserved peak in that replay; below that there is no answer,
 *      and `refusal` says why.
 * (W2) Every row is one replay of the same calls under other settings and the same limit. The
 *      best row has the lowest reserved peak among those that a user can set and that do not
 *      fail; it must save more than the errors.
 * (W3) It is not known where the driver puts new segments, nor when a free that waits for
 *      another stream completes: a row's low and high are the extremes of random placements and
 *      of both ends of that interval.
 * (W4) The floor is the largest sum of requests that were in use at once, each rounded to 512
 *      bytes and counted until its free is requested; no setting can reserve less.
 * (W5) With a changed program (`without`, `freed`, …) the proof is of the whole trace,
 *      and everything else the calls that the changed program would have made.
 * (W6) Lines whose repair (whatif_repair.h) lowers the reserved peak: the candidates that hold
 *      most at the peak, as many as the length of the trace allows, are replayed one by one,
 *      under the recorded settings and without a limit, so that the figures can be compared; and
 *      also under the limit if the recorded settings fail.
 *
 * Pure except for threads; owns what it points to, borrows the run. */
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
    const char
        *freed; /* likewise: their overdue blocks are free at the end of their step (L2); NULL */
    bool frees_late;        /* the same for late frees of all lines (L3) */
    bool no_record_stream;  /* no free waits for another stream */
    bool is_one_stream;     /* all work is on one stream */
    unsigned thread_cnt;    /* at least 1 */
    unsigned placement_cnt; /* of (W3); 0 = depends on the length of the trace */
    bool wants_cards;       /* the smallest card for each row */
    bool wants_lines;       /* (W6) */
} sl_whatif_options;

/* (W5): how the program differs from the recorded one. */
typedef struct sl_whatif_program {
    bool is_changed;
    const char *freed; /* borrowed from the options; NULL */
    bool frees_late, no_record_stream, is_one_stream;
    uint64_t freed_cnt; /* blocks that are free earlier, by `freed` and frees_late */
} sl_whatif_program;

typedef enum sl_whatif_kind {
    SL_WHATIF_RECORDED, /* the settings of the trace */
    SL_WHATIF_SETTING,  /* that a user can set */
    SL_WHATIF_BOUND,    /* what is possible at another cost: no caching, one stream */
} sl_whatif_kind;

typedef struct sl_whatif_row {
    sl_alloc_settings settings;
    sl_whatif_kind kind;
    sl_pass pass;                 /* the likely placement, frees as recorded */
    uint64_t peak_low, peak_high; /* (W3) */
    uint64_t place_range;         /* of the peaks, due to the placement of segments alone */
    uint32_t failed_cnt;          /* of the passes of (W3) */
    uint32_t pass_cnt;
    bool may_fit;            /* fails, but not under the highest limit that the trace allows (C5) */
    sl_maybe_u64 card_bytes; /* the smallest that fits, in whole MiB */
} sl_whatif_row;

typedef struct sl_whatif_proof {
    sl_pass pass;
    double share;           /* of equal addresses */
    bool is_exact, is_good; /* (W1) */
    bool has_same_curve;    /* of the reserved bytes */
    bool has_same_peak;     /* of them; the only check for a recording, whose curve is coarse */
    double error;           /* of the reserved peak; the error bar unless is_exact */
    bool is_guessed;        /* the settings were not recorded but found by trial */
} sl_whatif_proof;

/* The last request of the trace that failed. */
typedef struct sl_whatif_failure {
    bool is_known;
    uint32_t event, call;
    uint64_t bytes;
    uint64_t active_bytes;    /* in use then (W4) */
    uint64_t missing_bytes;   /* must be freed, at least, to fit under any setting; 0 = nothing */
    sl_maybe_f64 step_growth; /* bytes in use, per step */
    sl_holdings holdings;     /* who held most, at most 5 rows */
} sl_whatif_failure;

typedef enum sl_repair_kind {
    SL_REPAIR_LEAK,  /* the line's blocks accumulate until the end: each ends with its step */
    SL_REPAIR_EARLY, /* they outlive their step for a while: each ends with its step */
    SL_REPAIR_RECORD_STREAM, /* no free of the line waits for another stream */
    SL_REPAIR_STREAM,        /* the line's blocks are on the first stream of their pool */
} sl_repair_kind;

/* One line and its repair (W6); or all lines. */
typedef struct sl_whatif_line {
    sl_repair_kind kind;
    sl_site site; /* unknown for all lines */
    uint64_t bytes,
        blocks; /* in use at the peak, but free by then, or elsewhere, in the repaired program */
    double step_mean;     /* LEAK and EARLY: mean number of steps that a byte outlives its own */
    uint64_t peak, saves; /* reserved, without a limit; how much less than without the repair */
    bool fits;            /* under the limit, where the recorded settings fail */
} sl_whatif_line;

#define SL_WHATIF_LINES 10

typedef struct sl_whatif_lines {
    bool is_known;
    bool has_limit;            /* `fits` of the lines is meaningful */
    uint64_t peak;             /* reserved without a limit and without a repair */
    SL_VEC(sl_whatif_line) at; /* those that save most, at most SL_WHATIF_LINES */
    SL_VEC(sl_whatif_line)
    all;                             /* all lines at once, one for each kind that the trace has */
    size_t candidate_cnt, tried_cnt; /* pairs of line and repair; those that were replayed */
} sl_whatif_lines;

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
    sl_whatif_program program;
    sl_whatif_lines lines; /* (W6) */
    sl_whatif_failure failure;
} sl_whatif;

/* SL_E_USAGE when the input has no events to replay, SL_E_NOMEM, SL_E_LIMIT. A refusal is an
 * answer: SL_OK. */
sl_status sl_whatif_new(const sl_run_device *device, const sl_whatif_options *options,
                        sl_whatif **out, sl_error *err);
void sl_whatif_free(sl_whatif *whatif); /* NULL is fine */

/* The options of one pass of a row under the answer's limit. */
sl_pass_options sl_whatif_pass(const sl_whatif *whatif, const sl_alloc_settings *settings);

#endif
