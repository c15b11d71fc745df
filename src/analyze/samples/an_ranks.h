/* SPDX-License-Identifier: MIT */
/* Several ranks on one time axis, and which of them grew first. Samples alone count. Alignment,
 * thresholds and words of confidence are those of the Python tool. */
#ifndef SL_AN_RANKS_H
#define SL_AN_RANKS_H

#include "base/core/arena.h"
#include "base/text/notes.h"
#include "telemetry/telemetry.h"

/* Ranks beyond this are refused: the list of the missing ones would outgrow any use. */
#define SL_RANKS_WORLD_MAX (1 << 20)

typedef struct sl_rank_point {
    int rank;
    int64_t timestamp_ns, aligned_ns;
    int64_t used_bytes, reserved_bytes, allocated_bytes, change_bytes;
} sl_rank_point;

typedef struct sl_rank_row {
    int rank;
    size_t sample_cnt;
    int64_t offset_ns; /* its first sample less the anchor's */
    int64_t peak_used_bytes;
    int64_t first_used_bytes, last_used_bytes;
} sl_rank_row;

typedef enum sl_rank_confidence { SL_RANK_LOW, SL_RANK_MEDIUM, SL_RANK_HIGH } sl_rank_confidence;

typedef struct sl_rank_suspect {
    int rank;
    int64_t first_spike_ns, aligned_first_spike_ns;
    int64_t peak_delta_bytes;
    size_t spike_window_samples;
    int64_t lead_ns;
    sl_rank_confidence confidence;
    size_t supporting_ranks; /* with a spike at or before the onset */
} sl_rank_suspect;

typedef struct sl_ranks {
    sl_arena arena;
    const char *job_id;           /* NULL = none; in the arena */
    int world_size;               /* 0 = there were no samples */
    SL_VEC(sl_rank_row) rows;     /* ascending rank */
    SL_VEC(int) missing;          /* ascending */
    SL_VEC(sl_rank_point) points; /* by aligned time, then rank, then own time */
    sl_notes notes;
    size_t merge_note_cnt; /* the first of them; those after are about the first cause */
    bool has_onset;
    int64_t onset_ns;                 /* aligned */
    SL_VEC(sl_rank_suspect) suspects; /* most likely first */
} sl_ranks;

/* SL_E_NOMEM, SL_E_LIMIT. The result does not point into the set. */
sl_status sl_ranks_new(const sl_telemetry *set, sl_ranks **out, sl_error *err);
void sl_ranks_free(sl_ranks *ranks); /* NULL is fine */

const char *sl_rank_confidence_name(sl_rank_confidence confidence);

/* True when the records name more than one rank. */
bool sl_ranks_are_several(const sl_telemetry *set);

#endif
