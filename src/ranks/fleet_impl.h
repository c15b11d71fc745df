/* SPDX-License-Identifier: MIT */
/* What the files of the merge share. */
#ifndef SL_FLEET_IMPL_H
#define SL_FLEET_IMPL_H

#include "base/text/human.h"
#include "ranks/fleet.h"

/* ---- fleet_files.c: paths -> summaries ---- */

/* A path to read, and what became of it. */
typedef struct sl_fleet_path {
    char *path;    /* owned */
    bool is_given; /* by the caller, not found in a folder */
    bool is_recording;
    size_t named_from;        /* where the part of the path begins that may name a rank */
    sl_rank_summary *summary; /* owned until it is in the fleet; NULL = it could not be read */
    sl_error err;
} sl_fleet_path;

typedef struct sl_fleet_paths {
    SL_VEC(sl_fleet_path) files;     /* recordings, snapshots, bundles */
    SL_VEC(sl_fleet_path) telemetry; /* files of samples */
} sl_fleet_paths;

sl_status sl__fleet_paths_find(sl_fleet_paths *paths, const char *const *given, size_t cnt,
                               sl_error *err);
void sl__fleet_paths_fini(sl_fleet_paths *paths);
/* Reads all files by several threads. What cannot be read has its err set. */
sl_status sl__fleet_paths_read(sl_fleet_paths *paths, unsigned thread_cnt, sl_error *err);

/* ---- fleet_samples.c: telemetry -> summaries, summaries -> the Python tool's figures ---- */

sl_status sl__fleet_add_telemetry(sl_fleet *fleet, sl_fleet_paths *paths, sl_telemetry *set,
                                  const sl_fleet_options *options, sl_error *err);
sl_status sl__fleet_find_figures(sl_fleet *fleet, sl_telemetry *set, sl_error *err);

/* ---- the steps of the merge, in this order ---- */

sl_status sl__fleet_choose(sl_fleet *fleet, const sl_fleet_options *options, sl_error *err);
sl_status sl__fleet_align(sl_fleet *fleet, sl_error *err);
sl_status sl__fleet_find_groups(sl_fleet *fleet, sl_error *err);
sl_status sl__fleet_find_divergence(sl_fleet *fleet, sl_error *err);
sl_status sl__fleet_find_failures(sl_fleet *fleet, sl_error *err);
sl_status sl__fleet_find_cause(sl_fleet *fleet, const sl_fleet_options *options, sl_error *err);
sl_status sl__fleet_find_nccl(sl_fleet *fleet, sl_error *err);

/* ---- small things ---- */

/* The error of a reader without the name that some of them put in front: the note has it. */
const char *sl__fleet_reason(const char *error, const char *path);

static inline bool sl__row_has_curve(const sl_fleet *fleet, const sl_fleet_row *row) {
    return row->of->curve.cnt > 0 && row->of->has_steps == fleet->is_by_step;
}

/* Bin b of the fleet; NULL when the rank was not there then. */
static inline const sl_rank_bin *sl__row_bin(const sl_fleet *fleet, const sl_fleet_row *row,
                                             uint64_t b) {
    return sl__row_has_curve(fleet, row) ? sl_rank_curve_bin(&row->of->curve, fleet->first_bin + b)
                                         : NULL;
}

/* On the common clock. */
static inline int64_t sl__row_time(const sl_fleet_row *row, int64_t time_ns) {
    return time_ns - (row->has_offset ? row->offset_ns : 0);
}

/* What it held at the end of its last step, without steps at its last reading. The last value of its counter is
 * another: by then the program may have freed everything. */
static inline sl_maybe_u64 sl__rank_last_step_bytes(const sl_rank_summary *s) {
    int64_t bytes = s->curve.cnt ? s->curve.at[s->curve.cnt - 1].bytes : SL_BIN_NONE;
    return (sl_maybe_u64){bytes == SL_BIN_NONE ? 0 : (uint64_t)bytes, bytes != SL_BIN_NONE};
}

/* fleet_failures.c: whether it ended with a status other than 0. */
bool sl__rank_has_failed(const sl_rank_summary *s);

/* fleet_text.c: the cells of a rank's row, the same in every form; "-" is not known. */
typedef struct sl_fleet_row_texts {
    char rank[16], host[24], steps[24], peak[SL_HUMAN_CAP], last[SL_HUMAN_CAP];
    char clock[32], status[24];
} sl_fleet_row_texts;

sl_fleet_row_texts sl__fleet_row_texts(const sl_fleet *fleet, const sl_fleet_row *row);

/* What is usual among these values, which it reorders; cnt > 0. */
double sl__fleet_typical(double *room, size_t cnt);

/* NULL is no room: SL_E_NOMEM. */
sl_fleet_event *sl__fleet_add_event(sl_fleet *fleet, const sl_fleet_event *event);

#endif
