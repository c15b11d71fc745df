/* SPDX-License-Identifier: MIT */
#include "analyze/samples/an_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/samples/rank_cause.h"
#include "base/stats/sample_stats.h"

/* Samples that take part, as indexes into the set. */
typedef struct picked {
    const sl_telemetry *set;
    SL_VEC(uint32_t) at;
    bool saw_others;
} picked;

static bool is_sample(const sl_telemetry *set, const sl_tm_record *r) {
    sl_str type = sl_tm_text(set, r->event_type);
    return type.len == 6 && strncasecmp(type.ptr, "sample", 6) == 0;
}

static sl_status pick_samples(const sl_telemetry *set, picked *p, sl_error *err) {
    *p = (picked){.set = set};
    if (set->records.cnt >= UINT32_MAX)
        return sl_fail(err, SL_E_LIMIT, "more than %u records", UINT32_MAX);
    for (size_t i = 0; i < set->records.cnt; i++) {
        if (!is_sample(set, &set->records.at[i]))
            p->saw_others = true;
        else if (!sl_vec_push(&p->at, (uint32_t)i))
            return sl_fail_no_memory(err, "the timelines of the ranks");
    }
    return SL_OK;
}

/* The job most samples belong to, the first seen among equals; SL_TM_NO_TEXT when none is named.
 * *is_mixed when there are several. */
static sl_status common_job(const picked *p, uint32_t *job, bool *is_mixed, sl_error *err) {
    size_t id_cnt = p->set->strings.strings.cnt + 1;
    uint32_t *counts = calloc(id_cnt, sizeof *counts);
    if (!counts)
        return sl_fail_no_memory(err, "the timelines of the ranks");
    uint32_t best = 0;
    *job = SL_TM_NO_TEXT;
    *is_mixed = false;
    for (size_t i = 0; i < p->at.cnt; i++) {
        uint32_t id = p->set->records.at[p->at.at[i]].job_id;
        if (id != SL_TM_NO_TEXT)
            counts[id]++;
    }
    for (size_t i = 0; i < p->at.cnt; i++) {
        uint32_t id = p->set->records.at[p->at.at[i]].job_id;
        if (id == SL_TM_NO_TEXT)
            continue;
        *is_mixed = *is_mixed || (*job != SL_TM_NO_TEXT && id != *job);
        if (counts[id] > best)
            best = counts[id], *job = id;
    }
    free(counts);
    return SL_OK;
}

static void keep_job(picked *p, uint32_t job) {
    size_t kept = 0;
    for (size_t i = 0; i < p->at.cnt; i++)
        if (p->set->records.at[p->at.at[i]].job_id == job)
            p->at.at[kept++] = p->at.at[i];
    p->at.cnt = kept;
}

static int compare_records(const void *a, const void *b, void *context) {
    const sl_telemetry *set = context;
    const sl_tm_record *x = &set->records.at[*(const uint32_t *)a];
    const sl_tm_record *y = &set->records.at[*(const uint32_t *)b];
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->timestamp_ns != y->timestamp_ns)
        return x->timestamp_ns < y->timestamp_ns ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    int order = strcmp(sl_tm_text(set, x->host).ptr, sl_tm_text(set, y->host).ptr);
    if (order)
        return order;
    return x < y ? -1 : x > y; /* stable */
}

/* A run of equal claims of the world's size. */
typedef struct claim {
    int32_t size;
    uint32_t first;
    uint32_t cnt;
} claim;

static int compare_claims(const void *a, const void *b) {
    const claim *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* The size above 1 that most samples claim, the first seen among equals; 1 when there is none. */
static int32_t most_claimed(claim *claims, size_t cnt) {
    claim best = {1, UINT32_MAX, 0};
    if (cnt)
        qsort(claims, cnt, sizeof *claims, compare_claims);
    for (size_t i = 0; i < cnt;) {
        claim sum = claims[i];
        for (i++; i < cnt && claims[i].size == sum.size; i++)
            sum.cnt += claims[i].cnt;
        if (sum.cnt > best.cnt || (sum.cnt == best.cnt && sum.first < best.first))
            best = sum;
    }
    return best.size;
}

static sl_status claimed_world(const picked *p, int32_t *size, sl_error *err) {
    SL_VEC(claim) claims = {0};
    bool is_good = true;
    for (size_t i = 0; is_good && i < p->at.cnt; i++) {
        int32_t value = p->set->records.at[p->at.at[i]].world_size;
        if (value <= 1)
            continue;
        if (claims.cnt && claims.at[claims.cnt - 1].size == value)
            claims.at[claims.cnt - 1].cnt++;
        else
            is_good = sl_vec_push(&claims, ((claim){value, (uint32_t)i, 1}));
    }
    *size = is_good ? most_claimed(claims.at, claims.cnt) : 1;
    sl_vec_free(&claims);
    return is_good ? SL_OK : sl_fail_no_memory(err, "the timelines of the ranks");
}

/* The points of each rank one after another, and a row for each rank. */
static bool add_point(sl_ranks *ranks, const sl_tm_record *r) {
    sl_rank_row *row = ranks->rows.cnt ? &ranks->rows.at[ranks->rows.cnt - 1] : NULL;
    if (!row || row->rank != r->rank) {
        sl_rank_row fresh = {.rank = r->rank, .first_used_bytes = r->used_bytes};
        /* Kept here until the anchor is known. */
        fresh.offset_ns = r->timestamp_ns;
        if (!sl_vec_push(&ranks->rows, fresh))
            return false;
        row = &ranks->rows.at[ranks->rows.cnt - 1];
    }
    row->sample_cnt++;
    row->last_used_bytes = r->used_bytes;
    if (r->used_bytes > row->peak_used_bytes)
        row->peak_used_bytes = r->used_bytes;
    sl_rank_point point = {r->rank,           r->timestamp_ns,    r->timestamp_ns, r->used_bytes,
                           r->reserved_bytes, r->allocated_bytes, r->change_bytes};
    return sl_vec_push(&ranks->points, point);
}

/* Median of the positive distances between a rank's samples, of all ranks together; the recorded
 * interval where there are none. */
static sl_status median_interval(const sl_ranks *ranks, const picked *p, double *median,
                                 sl_error *err) {
    double *room = malloc((ranks->points.cnt + 1) * sizeof *room);
    size_t cnt = 0;
    if (!room)
        return sl_fail_no_memory(err, "the timelines of the ranks");
    for (size_t i = 1; i < ranks->points.cnt; i++) {
        const sl_rank_point *a = &ranks->points.at[i - 1], *b = &ranks->points.at[i];
        if (a->rank == b->rank && b->timestamp_ns > a->timestamp_ns)
            room[cnt++] = (double)(b->timestamp_ns - a->timestamp_ns);
    }
    if (!cnt)
        for (size_t i = 0; i < p->at.cnt; i++)
            room[cnt++] = (double)p->set->records.at[p->at.at[i]].sampling_interval_ms * 1000000.0;
    *median = cnt ? sl_stat_median(room, cnt) : 0;
    free(room);
    return SL_OK;
}

/* Times may be as large as an int64 allows, so a shift may leave its range. */
static void shift(sl_rank_point *point, int64_t offset_ns) {
    if (__builtin_sub_overflow(point->timestamp_ns, offset_ns, &point->aligned_ns))
        point->aligned_ns = offset_ns < 0 ? INT64_MAX : INT64_MIN;
}

static void align(sl_ranks *ranks, double interval_ns) {
    int64_t anchor = ranks->rows.at[0].offset_ns;
    size_t point = 0;
    for (size_t i = 0; i < ranks->rows.cnt; i++) {
        sl_rank_row *row = &ranks->rows.at[i];
        row->offset_ns -= anchor;
        for (; point < ranks->points.cnt && ranks->points.at[point].rank == row->rank; point++)
            shift(&ranks->points.at[point], row->offset_ns);
        double distance = (double)(row->offset_ns < 0 ? -row->offset_ns : row->offset_ns);
        if (distance > 5 * interval_ns)
            sl__ranks_note(
                ranks,
                "Rank %d begins %" PRId64
                " ns from the anchor rank; aligning by the first sample may be approximate.",
                row->rank, row->offset_ns);
    }
}

static sl_status list_missing(sl_ranks *ranks, sl_error *err) {
    size_t row = 0;
    char *list = NULL;
    for (int rank = 0; rank < ranks->world_size; rank++) {
        if (row < ranks->rows.cnt && ranks->rows.at[row].rank == rank)
            row++;
        else if (!sl_vec_push(&ranks->missing, rank))
            return sl_fail_no_memory(err, "the timelines of the ranks");
    }
    if (!ranks->missing.cnt)
        return SL_OK;
    list = sl__ranks_list(&ranks->arena, ranks->missing.at, ranks->missing.cnt);
    if (!list)
        return sl_fail_no_memory(err, "the timelines of the ranks");
    sl__ranks_note(ranks, "No samples of these ranks: %s.", list);
    return SL_OK;
}

static int compare_points(const void *a, const void *b) {
    const sl_rank_point *x = a, *y = b;
    if (x->aligned_ns != y->aligned_ns)
        return x->aligned_ns < y->aligned_ns ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->timestamp_ns > y->timestamp_ns) - (x->timestamp_ns < y->timestamp_ns);
}

static sl_status filter_job(sl_ranks *ranks, picked *p, sl_error *err) {
    uint32_t job = SL_TM_NO_TEXT;
    bool is_mixed = false;
    SL_TRY(common_job(p, &job, &is_mixed, err));
    if (is_mixed) {
        keep_job(p, job);
        sl__ranks_note(ranks, "Multiple job_id values were observed; filtering to the most common "
                              "value.");
    }
    if (job != SL_TM_NO_TEXT) {
        sl_str text = sl_tm_text(p->set, job);
        ranks->job_id = sl_arena_copy(&ranks->arena, text.ptr, text.len);
        if (!ranks->job_id)
            return sl_fail_no_memory(err, "the timelines of the ranks");
    }
    return SL_OK;
}

static sl_status find_world(sl_ranks *ranks, const picked *p, sl_error *err) {
    int32_t claimed = 1;
    SL_TRY(claimed_world(p, &claimed, err));
    int highest = ranks->rows.at[ranks->rows.cnt - 1].rank;
    if (highest >= SL_RANKS_WORLD_MAX || claimed > SL_RANKS_WORLD_MAX)
        return sl_fail(err, SL_E_LIMIT, "a world of %d ranks: at most %d are compared",
                       highest >= claimed ? highest : claimed, SL_RANKS_WORLD_MAX);
    ranks->world_size = claimed > highest + 1 ? claimed : highest + 1;
    return SL_OK;
}

static sl_status build(sl_ranks *ranks, picked *p, sl_error *err) {
    double interval_ns = 0;
    SL_TRY(filter_job(ranks, p, err));
    qsort_r(p->at.at, p->at.cnt, sizeof *p->at.at, compare_records, (void *)(uintptr_t)p->set);
    for (size_t i = 0; i < p->at.cnt; i++)
        if (!add_point(ranks, &p->set->records.at[p->at.at[i]]))
            return sl_fail_no_memory(err, "the timelines of the ranks");
    SL_TRY(find_world(ranks, p, err));
    SL_TRY(list_missing(ranks, err));
    SL_TRY(median_interval(ranks, p, &interval_ns, err));
    align(ranks, interval_ns);
    ranks->merge_note_cnt = ranks->notes.cnt;
    SL_TRY(sl__rank_cause(ranks, interval_ns, err));
    qsort(ranks->points.at, ranks->points.cnt, sizeof *ranks->points.at, compare_points);
    return SL_OK;
}

sl_status sl_ranks_new(const sl_telemetry *set, sl_ranks **out, sl_error *err) {
    sl_ranks *ranks = calloc(1, sizeof *ranks);
    picked p = {0};
    sl_status status =
        ranks ? pick_samples(set, &p, err) : sl_fail_no_memory(err, "the timelines of the ranks");
    if (status == SL_OK && !set->records.cnt)
        sl__ranks_note(ranks, "There were no telemetry events.");
    if (status == SL_OK && p.saw_others)
        sl__ranks_note(ranks, "Ignored non-sample events during cross-rank analysis.");
    if (status == SL_OK && p.at.cnt) {
        status = build(ranks, &p, err);
    } else if (status == SL_OK) {
        sl__ranks_note(ranks, "There were no sample events to compare ranks by.");
        ranks->merge_note_cnt = ranks->notes.cnt;
    }
    sl_vec_free(&p.at);
    if (status == SL_OK)
        *out = ranks;
    else
        sl_ranks_free(ranks);
    return status;
}

void sl_ranks_free(sl_ranks *ranks) {
    if (!ranks)
        return;
    sl_vec_free(&ranks->rows);
    sl_vec_free(&ranks->missing);
    sl_vec_free(&ranks->points);
    sl_vec_free(&ranks->notes);
    sl_vec_free(&ranks->suspects);
    sl_arena_fini(&ranks->arena);
    free(ranks);
}

bool sl_ranks_are_several(const sl_telemetry *set) {
    for (size_t i = 1; i < set->records.cnt; i++)
        if (set->records.at[i].rank != set->records.at[0].rank)
            return true;
    return false;
}

const char *sl_rank_confidence_name(sl_rank_confidence confidence) {
    static const char *const names[] = {"low", "medium", "high"};
    return names[confidence];
}
