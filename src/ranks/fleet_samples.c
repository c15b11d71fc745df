/* SPDX-License-Identifier: MIT */
/* Telemetry as ranks, and ranks as telemetry: the cross-rank figures of the Python tool are computed for every
 * input, from its samples or from bins of the curves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "ranks/fleet_impl.h"
#include "read/core/source_bundle.h"
#include "telemetry/telemetry_read.h"

/* Bins of a rank that become samples, and of all ranks together; more would only cost memory. */
#define FIGURE_SAMPLES     128u
#define FIGURE_SAMPLES_MIN 16u
#define FIGURE_SAMPLES_ALL (1u << 18)
#define UNIT_NS_MIN        INT64_C(1000000)
#define UNIT_NS_MAX        INT64_C(3600000000000)
/* Above it a rank is not noted as taken; no job is as large. */
#define RANK_MAX           (1 << 22)

/* A bundle's events are inside it. */
static sl_status load_path(const char *path, sl_telemetry *set, bool skips_bad, sl_error *err) {
    sl_tm_load_options options = {.skips_bad = skips_bad};
    char events[2048];
    if (!sl_bundle_is(path))
        return sl_telemetry_load(path, &options, set, err);
    options.convert.reads_bundle_names = true;
    snprintf(events, sizeof events, "%s/events.json", path);
    return sl_telemetry_load(events, &options, set, err);
}

/* ---- ranks of files that name none ---- */

/* Records of one file whose rank neither they nor the path tell. */
typedef struct unnamed {
    size_t first, cnt;
    const char *path; /* borrowed */
} unnamed;

typedef struct namer {
    SL_VEC(unnamed) files;
    SL_VEC(bool) is_taken; /* of each rank */
} namer;

static bool take_rank(namer *names, int32_t rank) {
    while (rank >= 0 && rank < RANK_MAX && names->is_taken.cnt <= (size_t)rank)
        if (!sl_vec_push(&names->is_taken, false))
            return false;
    if (rank >= 0 && rank < RANK_MAX)
        names->is_taken.at[rank] = true;
    return true;
}

static void set_rank(sl_telemetry *set, size_t first, size_t cnt, int32_t rank) {
    for (size_t i = first; i < first + cnt; i++) {
        sl_tm_record *record = &set->records.at[i];
        record->rank = record->local_rank = rank;
        record->world_size = (int32_t)sl_max_i64(record->world_size, rank + 1);
    }
}

static bool note_ranks(namer *names, sl_telemetry *set, size_t first, bool is_unranked,
                       const sl_fleet_path *file) {
    size_t cnt = set->records.cnt - first;
    int32_t rank;
    if (is_unranked && !sl_rank_of_path(file->path + file->named_from, &rank))
        return sl_vec_push(&names->files, ((unnamed){first, cnt, file->path}));
    if (is_unranked)
        set_rank(set, first, cnt, rank);
    for (size_t i = first; i < set->records.cnt; i++)
        if (!take_rank(names, set->records.at[i].rank))
            return false;
    return true;
}

/* Ranks of what was read already: recordings, snapshots. */
static bool take_ranks_of_files(const sl_fleet *fleet, namer *names) {
    int32_t rank;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        const sl_rank_summary *s = fleet->files.at[i];
        bool has_rank = s->rank.known || sl_rank_of_path(s->path + s->named_from, &rank);
        if (has_rank && !take_rank(names, s->rank.known ? s->rank.value : rank))
            return false;
    }
    return true;
}

/* When all files are read: the lowest ranks that nobody has, in the order of the paths. */
static bool name_rest(sl_fleet *fleet, namer *names, sl_telemetry *set) {
    int32_t rank = 0;
    if (names->files.cnt && !take_ranks_of_files(fleet, names))
        return false;
    for (size_t i = 0; i < names->files.cnt; i++) {
        while ((size_t)rank < names->is_taken.cnt && names->is_taken.at[rank])
            rank++;
        set_rank(set, names->files.at[i].first, names->files.at[i].cnt, rank);
        sl_fleet_note(fleet, "'%.200s' names no rank: taken as rank %d", names->files.at[i].path,
                      (int)rank);
        if (!take_rank(names, rank))
            return false;
    }
    return true;
}

/* ---- telemetry as ranks ---- */

static int compare_records(const void *a, const void *b, void *context) {
    const sl_telemetry *set = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const sl_tm_record *x = &set->records.at[i], *y = &set->records.at[k];
    if (x->job_id != y->job_id)
        return SL_ORDER(x->job_id, y->job_id);
    if (x->rank != y->rank)
        return SL_ORDER(x->rank, y->rank);
    return x->timestamp_ns != y->timestamp_ns ? SL_ORDER(x->timestamp_ns, y->timestamp_ns)
                                              : SL_ORDER(i, k);
}

static bool is_same_rank(const sl_tm_record *a, const sl_tm_record *b) {
    return a->job_id == b->job_id && a->rank == b->rank;
}

/* The median distance of two samples: what a bin is where there are no steps. */
static int64_t find_unit(const sl_telemetry *set, const uint32_t *order, size_t cnt) {
    double *gaps = malloc((cnt + 1) * sizeof *gaps);
    size_t gap_cnt = 0;
    for (size_t i = 1; gaps && i < cnt; i++) {
        const sl_tm_record *a = &set->records.at[order[i - 1]], *b = &set->records.at[order[i]];
        if (is_same_rank(a, b) && b->timestamp_ns > a->timestamp_ns)
            gaps[gap_cnt++] = (double)(b->timestamp_ns - a->timestamp_ns);
    }
    double unit = gap_cnt ? sl_stat_median(gaps, gap_cnt) : 1e9;
    free(gaps);
    return unit < (double)UNIT_NS_MIN   ? UNIT_NS_MIN
           : unit > (double)UNIT_NS_MAX ? UNIT_NS_MAX
                                        : (int64_t)unit;
}

static sl_status add_rank(sl_fleet *fleet, const sl_telemetry *set, const uint32_t *records,
                          size_t cnt, int64_t unit_ns, sl_error *err) {
    sl_rank_summary *summary = calloc(1, sizeof *summary);
    if (!summary || !sl_vec_push(&fleet->files, summary)) {
        free(summary);
        return sl_fail_no_memory(err, "the ranks");
    }
    summary->path = "(telemetry)";
    summary->host = summary->job = "";
    return sl_rank_summary_samples(summary, set, records, cnt, unit_ns, err);
}

/* Trackers that only note changes give no samples; their states are samples for our purpose. */
static void take_states_as_samples(sl_telemetry *set) {
    uint32_t sample = sl_strtab_intern(&set->strings, "sample", 6);
    for (size_t i = 0; i < set->records.cnt; i++)
        if (sl_tm_is_sample(sl_tm_text(set, set->records.at[i].event_type)))
            return;
    for (size_t i = 0; sample != SL_STR_NONE && i < set->records.cnt; i++)
        set->records.at[i].event_type = sample;
}

static sl_status add_ranks(sl_fleet *fleet, const sl_telemetry *set, sl_error *err) {
    SL_VEC(uint32_t) order = {0};
    sl_status status = SL_OK;
    for (size_t i = 0; i < set->records.cnt && status == SL_OK; i++)
        if (sl_tm_is_sample(sl_tm_text(set, set->records.at[i].event_type)) &&
            !sl_vec_push(&order, (uint32_t)i))
            status = sl_fail_no_memory(err, "the samples");
    if (status == SL_OK && order.cnt)
        qsort_r(order.at, order.cnt, sizeof *order.at, compare_records, (void *)(uintptr_t)set);
    int64_t unit_ns = find_unit(set, order.at, order.cnt);
    for (size_t i = 0, end; i < order.cnt && status == SL_OK; i = end) {
        const sl_tm_record *first = &set->records.at[order.at[i]];
        for (end = i + 1; end < order.cnt && is_same_rank(first, &set->records.at[order.at[end]]);)
            end++;
        status = add_rank(fleet, set, order.at + i, end - i, unit_ns, err);
    }
    sl_vec_free(&order);
    return status;
}

static sl_status load_all(sl_fleet *fleet, const sl_fleet_paths *paths, sl_telemetry *set,
                          namer *names, bool skips_bad, sl_error *err) {
    for (size_t i = 0; i < paths->telemetry.cnt; i++) {
        const sl_fleet_path *file = &paths->telemetry.at[i];
        size_t first = set->records.cnt;
        uint64_t unranked = set->unranked_cnt;
        if (load_path(file->path, set, skips_bad, err) == SL_OK) {
            if (!note_ranks(names, set, first, set->unranked_cnt > unranked, file))
                return sl_fail_no_memory(err, "the ranks");
            continue;
        }
        if (file->is_given || err->code == SL_E_NOMEM)
            return err->code;
        fleet->unreadable_cnt++;
        sl_fleet_note(fleet, "'%.200s' is left out: %.300s", file->path,
                      sl__fleet_reason(err->text, file->path));
    }
    return name_rest(fleet, names, set) ? SL_OK : sl_fail_no_memory(err, "the ranks");
}

sl_status sl__fleet_add_telemetry(sl_fleet *fleet, sl_fleet_paths *paths, sl_telemetry *set,
                                  const sl_fleet_options *options, sl_error *err) {
    namer names = {0};
    sl_status status = load_all(fleet, paths, set, &names, options->skips_bad, err);
    sl_vec_free(&names.files);
    sl_vec_free(&names.is_taken);
    SL_TRY(status);
    if (set->records.cnt >= UINT32_MAX)
        return sl_fail(err, SL_E_LIMIT, "more than %u records", UINT32_MAX);
    take_states_as_samples(set);
    return add_ranks(fleet, set, err);
}

/* ---- the Python tool's figures ---- */

static bool add_sample(sl_telemetry *set, const sl_fleet *fleet, const sl_fleet_row *row,
                       const sl_rank_bin *bin, uint32_t sample, uint32_t job) {
    sl_tm_record record = {.timestamp_ns = bin->time_ns,
                           .event_type = sample,
                           .job_id = job,
                           .pid = (int32_t)row->of->pid,
                           .rank = row->rank,
                           .world_size = fleet->world_size,
                           .allocated_bytes = bin->bytes,
                           .reserved_bytes = bin->bytes,
                           .used_bytes = bin->bytes,
                           .active_bytes = SL_TM_NULL,
                           .inactive_bytes = SL_TM_NULL,
                           .free_bytes = SL_TM_NULL,
                           .total_bytes = SL_TM_NULL};
    return sl_vec_push(&set->records, record);
}

static bool add_bins(sl_telemetry *set, const sl_fleet *fleet, const sl_fleet_row *row,
                     uint32_t sample, uint32_t job) {
    const sl_rank_curve *curve = &row->of->curve;
    size_t most = sl_min_size(
        FIGURE_SAMPLES, sl_max_size(FIGURE_SAMPLES_MIN, FIGURE_SAMPLES_ALL / fleet->rows.cnt));
    uint32_t every = curve->cnt / (uint32_t)most + 1;
    for (uint32_t i = 0; i < curve->cnt; i++)
        if (curve->at[i].bytes != SL_BIN_NONE && (i % every == 0 || i + 1 == curve->cnt) &&
            !add_sample(set, fleet, row, &curve->at[i], sample, job))
            return false;
    return true;
}

static const sl_fleet_row *row_of_rank(const sl_fleet *fleet, int32_t rank) {
    size_t from = 0, to = fleet->rows.cnt;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (fleet->rows.at[mid].rank == rank)
            return &fleet->rows.at[mid];
        if (fleet->rows.at[mid].rank < rank)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

/* Samples of other jobs, and of ranks that have a recording, are not compared: the figures are those of the table. */
static void keep_samples_of_rows(const sl_fleet *fleet, sl_telemetry *set, uint32_t job) {
    size_t kept = 0;
    for (size_t i = 0; i < set->records.cnt; i++) {
        sl_tm_record *record = &set->records.at[i];
        const sl_fleet_row *row = row_of_rank(fleet, record->rank);
        const char *own = sl_tm_text(set, record->job_id).ptr;
        if (!row || row->of->source != SL_SOURCE_TELEMETRY || strcmp(row->of->job, own ? own : ""))
            continue;
        record->job_id = job;
        set->records.at[kept++] = *record;
    }
    set->records.cnt = kept;
}

sl_status sl__fleet_find_figures(sl_fleet *fleet, sl_telemetry *set, sl_error *err) {
    uint32_t sample = sl_strtab_intern(&set->strings, "sample", 6), job = SL_TM_NO_TEXT;
    bool has_room = sample != SL_STR_NONE;
    if (has_room && fleet->job[0])
        SL_TRY(sl_tm_intern(set, fleet->job, &job, err));
    keep_samples_of_rows(fleet, set, job);
    for (size_t i = 0; has_room && i < fleet->rows.cnt; i++)
        if (fleet->rows.at[i].of->source != SL_SOURCE_TELEMETRY)
            has_room = add_bins(set, fleet, &fleet->rows.at[i], sample, job);
    if (!has_room)
        return sl_fail_no_memory(err, "the samples");
    return sl_ranks_new(set, &fleet->by_samples, err);
}
