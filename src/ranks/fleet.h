/* SPDX-License-Identifier: MIT */
/* The ranks of one job put together: which is on which step, whose clock is off, which behave alike, which of them
 * diverged, failed or fell silent first, and at which line. Plain data; text, JSON, Markdown, the page and the
 * full-screen program are drawn from it alone.
 *
 * Files are read by several threads, one file at a time each, and only summaries are kept, so memory and
 * descriptors do not grow with the recordings. Ranks are aligned by step number; clocks only order what has no
 * step, after their offsets have been taken out. */
#ifndef SL_FLEET_H
#define SL_FLEET_H

#include "analyze/samples/an_ranks.h"
#include "ranks/rank_summary.h"

#define SL_RANKS_SCHEMA "stormlog.ranks/1"

/* What can be wrong with a rank. enumerator, outside name, words. */
#define SL_RANK_FAULT_MAP(X)                                                 \
    X(NONE, "none", "nothing")                                               \
    X(LEAK, "leak", "memory keeps growing away from the other ranks'")       \
    X(SHIFT, "shift", "memory rose to another level than the other ranks'")  \
    X(PEAK, "peak", "peaks rose above the other ranks'")                     \
    X(OOM, "oom", "a request for memory failed")                             \
    X(KILLED, "killed", "the process ended without closing its recording")   \
    X(FAILED, "failed", "the process exited with an error")                  \
    X(SILENT, "silent", "made no further step while the others went on")     \
    X(MISSING, "missing", "there is no recording of it")                     \
    X(STRAGGLER, "straggler", "its steps take longer than the other ranks'") \
    X(LATE, "late", "began after the others")

typedef enum sl_rank_fault {
#define SL_RANK_FAULT_ENUM(name, text, words) SL_RANK_FAULT_##name,
    SL_RANK_FAULT_MAP(SL_RANK_FAULT_ENUM)
#undef SL_RANK_FAULT_ENUM
        SL_RANK_FAULT_LIMIT
} sl_rank_fault;

/* Something that happened to a rank. Times are on the common clock: that of the ranks' median. */
typedef struct sl_fleet_event {
    sl_rank_fault fault;
    int32_t rank;
    int32_t idx; /* of its row; -1 = it has no recording */
    int64_t time_ns;
    bool has_time;
    bool has_step;
    uint64_t step, step_to; /* in [step, step_to]: bins of a long run are several steps */
    int64_t bytes;          /* by which it grew, or that were requested; 0 = not known */
    double per_step; /* bytes per step of a leak, seconds per step of a straggler; 0 = not known */
    double confidence; /* 0..1 */
    const char *line;  /* in the arena; NULL = not known */
    double line_share; /* of the growth that the line explains; 0 = not known */
} sl_fleet_event;

/* One rank; rows are in ascending order of rank. */
typedef struct sl_fleet_row {
    int32_t rank;
    const sl_rank_summary *of;     /* in the fleet */
    uint32_t group;                /* into groups; SL_IDX_NONE = it has no curve */
    int64_t base_bytes, base_peak; /* medians of its early steps: what it is compared from */
    bool has_offset;
    int64_t offset_ns; /* of its clock from the common one, by the steps that both have */
    double drift_ppm;
    int64_t spread_ns; /* of its steps around that, median */
    double step_ns;    /* median length of its steps; 0 = not known */
    double slope;      /* bytes per step by which it leaves its group */
} sl_fleet_row;

/* Ranks that hold about the same: a pipeline stage, the holders of an expert, everybody. */
typedef struct sl_fleet_group {
    SL_VEC(int32_t) ranks;    /* ascending */
    int64_t level_bytes;      /* median at the end of early steps */
    int64_t peak_bytes;       /* median of the peaks */
    double slope;             /* bytes per step by which its median grows */
    const char *line;         /* that holds most in it; NULL = not known */
    SL_VEC(uint32_t) members; /* their rows */
    int64_t *medians, *peaks; /* owned; of each bin, above the ranks' bases; SL_BIN_NONE */
} sl_fleet_group;

/* NCCL's memory, by the line of the program that made it create a communicator or buffers. */
typedef struct sl_fleet_nccl {
    const char *line;
    size_t rank_cnt;
    uint64_t least_bytes, most_bytes, total_bytes; /* per rank, and in all */
} sl_fleet_nccl;

typedef struct sl_fleet {
    sl_arena arena;
    SL_VEC(sl_rank_summary *) files; /* owned; every file that was read */
    SL_VEC(sl_fleet_row) rows;
    SL_VEC(int32_t) missing;
    SL_VEC(sl_fleet_group) groups;
    SL_VEC(sl_fleet_event) events; /* the chain: in order of time */
    SL_VEC(sl_fleet_nccl) nccl;
    sl_notes notes;
    const char *job; /* "" = not known */
    int32_t world_size;
    bool is_by_step; /* else by the seconds since each rank's first reading */
    uint64_t first_bin, bin_cnt;
    uint32_t shift;    /* a bin is 2^shift steps */
    double *bin_times; /* owned; when each bin ended on the common clock, less base_ns; NaN */
    int64_t base_ns;
    double step_ns;     /* median length of a step; 0 = not known */
    uint64_t last_step; /* of the median rank */
    bool has_cause;
    sl_fleet_event cause;
    double common_slope;  /* bytes per step by which all ranks grow alike; 0 = they do not */
    size_t followers;     /* ranks that made no further step after the cause, and ended later */
    int64_t follow_ns;    /* how long after it the first of them ended */
    sl_ranks *by_samples; /* owned; the figures of the Python tool */
    size_t unreadable_cnt;
    uint64_t event_cnt; /* of all ranks */
} sl_fleet;

typedef struct sl_fleet_options {
    const char *job;     /* of several in one folder this one; NULL = the one with most ranks */
    bool skips_bad;      /* bad telemetry records are skipped */
    bool no_lines;       /* do not read the events of the first cause to name its line */
    unsigned thread_cnt; /* 0 = as many as there are processors */
} sl_fleet_options;

/* Files, bundles, run folders, folders of these (two levels). options may be NULL. A file of a folder that cannot
 * be read is a note; a path that was given and cannot be read is an error. */
sl_status sl_fleet_read(const char *const *paths, size_t cnt, const sl_fleet_options *options,
                        sl_fleet **out, sl_error *err);
void sl_fleet_free(sl_fleet *fleet); /* NULL is fine */

const char *sl_rank_fault_name(sl_rank_fault fault);
const char *sl_rank_fault_words(sl_rank_fault fault);

/* "0-127, 130"; at most `most` ranges, then how many more. In the arena; never NULL. */
const char *sl_fleet_ranges(sl_arena *arena, const int32_t *ranks, size_t cnt, size_t most);

/* The first cause in one sentence; in the arena. */
const char *sl_fleet_sentence(sl_fleet *fleet);
/* Something that happened, in one sentence without the rank. */
const char *sl_fleet_event_text(sl_arena *arena, const sl_fleet *fleet,
                                const sl_fleet_event *event);

#define sl_fleet_note(fleet, ...) sl_notes_add(&(fleet)->notes, &(fleet)->arena, __VA_ARGS__)

#endif
