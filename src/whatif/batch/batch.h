/* SPDX-License-Identifier: MIT */
/* How much memory another batch size (or sequence length, or image side: one number that the
 * user gives) would need, from two or more recordings of the same program with different sizes.
 * As plain data.
 *
 * (B1) Every recording is first verified by itself (W1 in whatif.h), and their allocations are
 *      aligned (batch_align.h). There is no answer when less than SL_BATCH_ALIGNED of their
 *      bytes or SL_BATCH_ALIGNED_CNT of them are the same: the sites differ, or the program
 *      loops over the size.
 * (B2) Each recording's calls are replayed with the bytes that the laws give for the other size
 *      (batch_fit.h): the order of requests and frees is the recording's, only bytes change. The
 *      nearest recording gives the peak.
 * (B3) Low and high are the extremes over the calls of all recordings, over the low and high
 *      bytes of each allocation, and over random placements (W3). They are then widened by
 *      SL_BATCH_DOUBT times the difference of low and high bytes, as a share of all bytes: how
 *      blocks of other sizes would split the memory is not known either. A size has no answer
 *      when its high is more than SL_BATCH_SPREAD of the peak away: the fit is poor. The low
 *      bytes of a brief allocation (batch_align.h) are never more than recorded.
 * (B4) The check: each recording's peak is predicted from the calls of every other one. It shows
 *      how much the program behaves differently at another size; (B3) covers that, because the
 *      calls of all recordings are replayed.
 * (B5) A size fits when its high fits; it does not fit when its low does not and the replay
 *      under the limit fails; otherwise it may fit. The largest size that fits is searched up to
 *      SL_BATCH_REACH times the largest recorded one.
 *
 * Pure; owns what it points to, borrows the run. */
#ifndef SL_BATCH_H
#define SL_BATCH_H

#include "whatif/batch/batch_align.h"
#include "whatif/batch/batch_fit.h"
#include "whatif/whatif.h"

#define SL_BATCH_ALIGNED     0.8 /* of the bytes */
#define SL_BATCH_ALIGNED_CNT 0.6 /* of the requests */
#define SL_BATCH_SPREAD      0.25
#define SL_BATCH_DOUBT       0.5
#define SL_BATCH_REACH       8

typedef struct sl_batch_input {
    const sl_run_device *device; /* borrowed */
    uint64_t size;               /* at least 1 */
} sl_batch_input;

typedef struct sl_batch_options {
    const sl_batch_input *inputs; /* borrowed; different sizes, 2 to SL_BATCH_RECORDINGS_MAX */
    size_t input_cnt;
    const uint64_t *sizes; /* borrowed; the sizes to answer */
    size_t size_cnt;
    const sl_alloc_settings *settings; /* borrowed; instead of the recorded ones */
    size_t setting_cnt;
    sl_maybe_u64 card_bytes;
    unsigned placement_cnt; /* 0 = depends on the length of the traces */
} sl_batch_options;

typedef enum sl_batch_verdict {
    SL_BATCH_NO_CARD,
    SL_BATCH_FITS,
    SL_BATCH_MAY_FIT,
    SL_BATCH_FAILS,
} sl_batch_verdict;

typedef struct sl_batch_row {
    uint64_t size;
    sl_alloc_settings settings;
    uint64_t peak, low, high; /* reserved (B2), (B3) */
    uint64_t active_peak;
    sl_batch_verdict verdict; /* (B5) */
    bool is_poor;             /* no answer (B3) */
} sl_batch_row;

/* The largest size that fits under one of the settings. */
typedef struct sl_batch_largest {
    sl_alloc_settings settings;
    uint64_t size;  /* 0 = none */
    bool is_capped; /* larger ones were not tried (B5) */
    uint64_t peak, low, high;
} sl_batch_largest;

typedef struct sl_batch_recording {
    uint64_t size;
    sl_whatif *whatif; /* owned; proof and calls */
    sl_batch_side side;
    uint32_t
        *match[SL_BATCH_RECORDINGS_MAX]; /* owned; by recording, to its requests; NULL for itself */
    sl_calls *scaled;                    /* owned; its calls, with bytes of another size */
    uint32_t *
        scaled_call; /* owned; number of a request -> its call in `scaled`, SL_BATCH_NONE = cut off */
    uint64_t recorded_peak; /* reserved */
    uint64_t check_peak;    /* the worst of (B4) */
} sl_batch_recording;

typedef struct sl_batch {
    sl_arena arena;
    sl_batch_recording recordings[SL_BATCH_RECORDINGS_MAX]; /* by ascending size */
    size_t recording_cnt;
    char refusal[SL_WHATIF_WHY]; /* "" = there is an answer */
    uint64_t request_cnt;        /* of the largest recording */
    uint64_t aligned_cnt;        /* those that all others have too */
    uint64_t law_cnt[SL_BATCH_LAW_CNT];
    uint64_t law_bytes[SL_BATCH_LAW_CNT]; /* sum, as the largest recording requested them */
    double growth;                        /* power by which most tensors grow, 1 to 2 */
    double check_error;                   /* (B4), as a share of the peak */
    sl_maybe_u64 card_bytes;
    unsigned placement_cnt;
    SL_VEC(sl_batch_row) rows;
    SL_VEC(sl_batch_largest) largest; /* with a card: one per setting */
} sl_batch;

/* SL_E_USAGE when an input has nothing to replay or a size cannot be answered, SL_E_NOMEM,
 * SL_E_LIMIT. A refusal is an answer: SL_OK. */
sl_status sl_batch_new(const sl_batch_options *options, sl_batch **out, sl_error *err);
void sl_batch_free(sl_batch *batch); /* NULL is fine */

/* Shared by the files of this module only. */

/* batch_rescale.c: copies the calls of a recording, so that they can be given other bytes; then
 * sets the bytes. */
typedef enum sl_batch_bytes { SL_BATCH_LIKELY, SL_BATCH_LOW, SL_BATCH_HIGH } sl_batch_bytes;

bool sl__batch_copy_calls(sl_batch_recording *recording, size_t used_cnt);
sl_batch_estimate sl__batch_estimate(const sl_batch *batch, size_t base, size_t request,
                                     uint64_t size);
/* Returns the sum of all bytes. */
double sl__batch_rescale(sl_batch *batch, size_t base, uint64_t size, sl_batch_bytes which);

/* batch_refuse.c: fills `refusal` when the recordings cannot be compared (B1). */
sl_status sl__batch_compare(sl_batch *batch, sl_error *err);

#endif
