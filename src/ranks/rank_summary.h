/* SPDX-License-Identifier: MIT */
/* What is kept of one rank: who it is, its memory by step, the lines that held most, what failed and how it
 * ended. A few KiB, whatever the size of its recording. Of a recording it is made from what comes before the
 * raw events (totals by line, steps, curves); the events are not read. */
#ifndef SL_RANK_SUMMARY_H
#define SL_RANK_SUMMARY_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "model/trace.h"
#include "ranks/rank_curve.h"

/* The lines that are kept, largest peak first. */
#define SL_RANK_LINES    24u
#define SL_RANK_FAILURES 8u

typedef struct sl_rank_line {
    const char *text; /* in the arena: "train.py:42 (step)" */
    uint64_t peak_bytes, live_bytes, alloc_cnt;
} sl_rank_line;

/* A request for memory that failed. */
typedef struct sl_rank_failure {
    int64_t time_ns; /* since 1970, own clock */
    uint64_t step;   /* that was under way */
    uint64_t requested_bytes;
    const char *line; /* NULL = not known */
} sl_rank_failure;

typedef struct sl_rank_summary {
    sl_arena arena;
    const char *path;
    const char *host, *job; /* "" = not known */
    sl_source_kind source;
    uint32_t pid, parent_pid; /* 0 = not known */
    sl_maybe_i32 rank, local_rank, world_size;
    size_t named_from;    /* where the part of the path begins that may name a rank */
    bool is_rank_guessed; /* from the name of the file, or its place in the list */
    bool is_cut;          /* the file ends before it should */
    bool is_left_out;     /* another file is the one that counts for this rank */
    bool has_steps;       /* bins are steps; else seconds since its own first reading */
    bool has_ended;       /* known to be over */
    sl_process_end end;
    sl_maybe_i32 exit_status;
    int64_t start_ns, end_ns; /* since 1970; the end is the last sign of life */
    int64_t last_step_ns;     /* SL_BIN_NONE = no step */
    uint64_t first_step, last_step, step_cnt;
    uint64_t event_cnt;
    sl_maybe_u64 peak_bytes, last_bytes, capacity_bytes;
    sl_rank_curve curve;
    sl_rank_line lines[SL_RANK_LINES];
    size_t line_cnt;
    sl_rank_line
        nccl[SL_RANK_LINES]; /* what NCCL has from the driver, by the line that had it made */
    size_t nccl_cnt;
    sl_rank_failure failures[SL_RANK_FAILURES];
    size_t failure_cnt, failure_total;
} sl_rank_summary;

/* Of a recording. err says what is wrong with the file, without its name. */
sl_status sl_rank_summary_slog(sl_rank_summary *summary, const char *path, sl_error *err);

/* Of anything else that is no telemetry: a snapshot, a bundle, a trace. */
sl_status sl_rank_summary_trace(sl_rank_summary *summary, const char *path, sl_error *err);

struct sl_telemetry;
/* Of the samples of one rank, all of which must be in order of time; a bin is unit_ns long. */
sl_status sl_rank_summary_samples(sl_rank_summary *summary, const struct sl_telemetry *set,
                                  const uint32_t *records, size_t cnt, int64_t unit_ns,
                                  sl_error *err);

void sl_rank_summary_fini(sl_rank_summary *summary);

/* The rank that a path names, as the Python tool reads it: "rank3", "rank_3", "rank-3" in the file's name or
 * the nearest folder; false when there is none. */
bool sl_rank_of_path(const char *path, int32_t *rank);

/* Who was summarized, as its process says. */
void sl__rank_take_process(sl_rank_summary *out, const sl_process *p);

/* A copy in the summary's arena; "" for NULL, or without memory. */
const char *sl__rank_keep(sl_rank_summary *out, const char *text);

/* Adds a line's bytes to the list, or to the entry with the same text; the smallest peak gives way. */
void sl__rank_add_line(sl_arena *arena, sl_rank_line *lines, size_t *cnt, const sl_rank_line *line);

#endif
