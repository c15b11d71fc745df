/* SPDX-License-Identifier: MIT */
#include "analyze/samples/an_collective.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/samples/collective_marks.h"
#include "base/core/order.h"
#include "base/stats/sample_stats.h"

/* A sample as far as this analysis needs it. */
typedef struct sample {
    int64_t time_ns;
    int rank;
    int64_t gap_bytes;
    int64_t total_bytes;
} sample;

typedef struct mark {
    int64_t time_ns;
    int rank;
} mark;

typedef struct spike {
    int64_t time_ns;
    int rank;
    int64_t gap_bytes;
    sl_maybe_f64 ratio;
    double zscore;
    uint64_t marker_hits;
    int64_t first_mark_ns, last_mark_ns; /* when there are hits */
    uint64_t synchronized;
} spike;

/* Everything of one run; all vectors owned. */
typedef struct job {
    const sl_collective_config *config;
    SL_VEC(sample) samples; /* by rank, then time */
    SL_VEC(mark) marks;     /* by rank, then time */
    SL_VEC(spike) spikes;   /* by rank, then time */
    int64_t trace_start_ns;
    uint64_t world_size;
    size_t rank_cnt;
} job;

static const char *const reason_names[SL_COLLECTIVE_REASON_CNT] = {
#define SL_COLLECTIVE_NAME(name, text) text,
    SL_COLLECTIVE_REASON_MAP(SL_COLLECTIVE_NAME)
#undef SL_COLLECTIVE_NAME
};

const char *sl_collective_reason_name(sl_collective_reason reason) {
    return reason_names[reason];
}

const char *sl_collective_class_name(sl_collective_class class_id) {
    static const char *const names[] = {"collective_suspect", "collective_likely",
                                        "collective_confident"};
    return names[class_id];
}

static int compare_place(int rank_a, int64_t time_a, int rank_b, int64_t time_b) {
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    return (time_a > time_b) - (time_a < time_b);
}

static int compare_samples(const void *a, const void *b) {
    const sample *x = a, *y = b;
    return compare_place(x->rank, x->time_ns, y->rank, y->time_ns);
}

static int compare_marks(const void *a, const void *b) {
    const mark *x = a, *y = b;
    return compare_place(x->rank, x->time_ns, y->rank, y->time_ns);
}

static bool add_record(job *j, sl_collective_marks *marks, const sl_tm_record *r) {
    if (r->timestamp_ns < j->trace_start_ns)
        j->trace_start_ns = r->timestamp_ns;
    if ((uint64_t)r->world_size > j->world_size)
        j->world_size = (uint64_t)r->world_size;
    if (sl_collective_marks_has(marks, r) &&
        !sl_vec_push(&j->marks, ((mark){r->timestamp_ns, r->rank})))
        return false;
    if (!sl_tm_is_sample(sl_tm_text(marks->set, r->event_type)))
        return true;
    int64_t gap = r->used_bytes - r->reserved_bytes;
    sample s = {r->timestamp_ns, r->rank, gap > 0 ? gap : 0, r->total_bytes};
    return sl_vec_push(&j->samples, s);
}

static sl_status collect(job *j, const sl_telemetry *set, sl_error *err) {
    sl_collective_marks marks;
    sl_status status = sl_collective_marks_init(&marks, set, err);
    j->trace_start_ns = INT64_MAX;
    for (size_t i = 0; status == SL_OK && i < set->records.cnt; i++)
        if (!add_record(j, &marks, &set->records.at[i]))
            status = sl_fail_no_memory(err, "the collective attribution");
    sl_collective_marks_fini(&marks);
    if (status == SL_OK && j->samples.cnt)
        qsort(j->samples.at, j->samples.cnt, sizeof *j->samples.at, compare_samples);
    if (status == SL_OK && j->marks.cnt)
        qsort(j->marks.at, j->marks.cnt, sizeof *j->marks.at, compare_marks);
    return status;
}

/* What a rank's gaps usually are. */
typedef struct spread {
    double center, scale, factor; /* z = factor * (gap - center) / scale; scale 0: z is 0 */
} spread;

static spread measure(const sample *samples, size_t cnt, double *room) {
    for (size_t i = 0; i < cnt; i++)
        room[i] = (double)samples[i].gap_bytes;
    double mean = sl_stat_mean(room, cnt), stdev = sl_stat_stdev(room, cnt);
    double median = sl_stat_median(room, cnt);
    for (size_t i = 0; i < cnt; i++)
        room[i] = fabs((double)samples[i].gap_bytes - median);
    double mad = sl_stat_median(room, cnt);
    if (mad > 0)
        return (spread){median, mad, 0.6745};
    return (spread){mean, stdev, 1};
}

static double zscore(const spread *s, double gap) {
    return s->scale > 0 ? fmax(0, s->factor * (gap - s->center) / s->scale) : 0;
}

/* Times reach up to the last nanosecond an int64 can name. */
static int64_t add_clamped(int64_t time_ns, int64_t more_ns) {
    int64_t sum;
    return __builtin_add_overflow(time_ns, more_ns, &sum) ? INT64_MAX : sum;
}

/* Index of the first mark that is not before this place. */
static size_t first_mark(const job *j, int rank, int64_t time_ns) {
    size_t low = 0, high = j->marks.cnt;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const mark *m = &j->marks.at[mid];
        if (compare_place(m->rank, m->time_ns, rank, time_ns) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void attach_marks(const job *j, spike *s) {
    int64_t window = j->config->marker_window_ns;
    size_t from = first_mark(j, s->rank, s->time_ns - window);
    size_t to = first_mark(j, s->rank, add_clamped(s->time_ns, window + 1));
    s->marker_hits = to - from;
    if (to > from) {
        s->first_mark_ns = j->marks.at[from].time_ns;
        s->last_mark_ns = j->marks.at[to - 1].time_ns;
    }
}

static bool is_significant(const job *j, const spike *s) {
    return (s->ratio.known && s->ratio.value >= j->config->min_gap_ratio) ||
           s->gap_bytes >= j->config->min_gap_bytes;
}

/* The spikes of one rank. False when memory ran out. */
static bool find_spikes(job *j, const sample *samples, size_t cnt, double *room) {
    if ((int64_t)cnt < j->config->min_samples_per_rank)
        return true;
    spread usual = measure(samples, cnt, room);
    for (size_t i = 0; i < cnt; i++) {
        spike s = {.time_ns = samples[i].time_ns,
                   .rank = samples[i].rank,
                   .gap_bytes = samples[i].gap_bytes,
                   .zscore = zscore(&usual, (double)samples[i].gap_bytes)};
        if (samples[i].total_bytes > 0)
            s.ratio = sl_known_f64((double)s.gap_bytes / (double)samples[i].total_bytes);
        if (!is_significant(j, &s) || s.zscore < j->config->robust_zscore_threshold)
            continue;
        attach_marks(j, &s);
        if (!sl_vec_push(&j->spikes, s))
            return false;
    }
    return true;
}

static sl_status find_all_spikes(job *j, sl_error *err) {
    double *room = malloc((j->samples.cnt + 1) * sizeof *room);
    bool is_good = room != NULL;
    for (size_t from = 0; is_good && from < j->samples.cnt;) {
        size_t to = from;
        while (to < j->samples.cnt && j->samples.at[to].rank == j->samples.at[from].rank)
            to++;
        is_good = find_spikes(j, j->samples.at + from, to - from, room);
        j->rank_cnt++;
        from = to;
    }
    free(room);
    return is_good ? SL_OK : sl_fail_no_memory(err, "the collective attribution");
}

typedef struct dated {
    int64_t time_ns;
    uint32_t spike_idx;
    uint32_t rank_idx; /* dense */
} dated;

static int compare_dated(const void *a, const void *b) {
    const dated *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Counts for every spike the ranks that have one within the window: a window slides over all spikes
 * in time, with a counter for each rank. */
static void slide(job *j, dated *by_time, uint32_t *in_window) {
    size_t cnt = j->spikes.cnt, from = 0, to = 0;
    int64_t window = j->config->synchrony_window_ns;
    uint64_t ranks = 0;
    for (size_t i = 0; i < cnt; i++) {
        for (; to < cnt && by_time[to].time_ns - by_time[i].time_ns <= window; to++)
            ranks += in_window[by_time[to].rank_idx]++ == 0;
        for (; by_time[i].time_ns - by_time[from].time_ns > window; from++)
            ranks -= --in_window[by_time[from].rank_idx] == 0;
        j->spikes.at[by_time[i].spike_idx].synchronized = ranks;
    }
}

static sl_status synchronize(job *j, sl_error *err) {
    size_t cnt = j->spikes.cnt;
    dated *by_time = malloc((cnt + 1) * sizeof *by_time);
    uint32_t *in_window = calloc(j->rank_cnt + 1, sizeof *in_window);
    sl_status status =
        by_time && in_window ? SL_OK : sl_fail_no_memory(err, "the collective attribution");
    if (status == SL_OK) {
        uint32_t rank_idx = 0;
        for (size_t i = 0; i < cnt; i++) {
            rank_idx += i > 0 && j->spikes.at[i].rank != j->spikes.at[i - 1].rank;
            by_time[i] = (dated){j->spikes.at[i].time_ns, (uint32_t)i, rank_idx};
        }
        qsort(by_time, cnt, sizeof *by_time, compare_dated);
        slide(j, by_time, in_window);
    }
    free(by_time);
    free(in_window);
    return status;
}

/* How much of a limit a value reaches, at most 1; a limit of 0 is always reached. */
static double reached(double value, double limit) {
    return limit > 0 ? fmin(1, value / limit) : 1;
}

static double divergence(const job *j, const spike *s) {
    double by_bytes = reached((double)s->gap_bytes, (double)j->config->min_gap_bytes);
    double by_ratio = reached(s->ratio.known ? s->ratio.value : 0, j->config->min_gap_ratio);
    return fmax(by_bytes, by_ratio);
}

static double synchrony(const job *j, const spike *s) {
    if (j->world_size <= 1)
        return 0;
    return fmin(1, (double)(s->synchronized - 1) / (double)(j->world_size - 1));
}

static bool is_alone(const job *j, const spike *s) {
    return j->world_size <= 1 || s->synchronized <= 1;
}

static double confidence(const job *j, const spike *s) {
    double score = 0.34 * synchrony(j, s) +
                   0.16 * fmin(1, s->zscore / j->config->robust_zscore_threshold) +
                   0.16 * divergence(j, s);
    score += s->marker_hits ? 0.34 : -0.15;
    score -= is_alone(j, s) ? 0.15 : 0;
    score -= s->ratio.known ? 0 : 0.05;
    return fmax(0, fmin(1, score));
}

static uint32_t reasons_of(const job *j, const spike *s) {
    uint32_t reasons = 1u << SL_COLLECTIVE_OUTLIER;
    if (s->marker_hits)
        reasons |= 1u << SL_COLLECTIVE_TOKEN | 1u << SL_COLLECTIVE_OVERLAP;
    else
        reasons |= 1u << SL_COLLECTIVE_WEAK_MARKER;
    if (synchrony(j, s) >= j->config->min_synchrony_ratio)
        reasons |= 1u << SL_COLLECTIVE_SYNCHRONY;
    if (divergence(j, s) >= 0.5)
        reasons |= 1u << SL_COLLECTIVE_DIVERGENCE;
    if (is_alone(j, s))
        reasons |= 1u << SL_COLLECTIVE_SINGLE_RANK;
    return reasons;
}

static sl_collective_class class_of(double score) {
    if (score >= 0.8)
        return SL_COLLECTIVE_CONFIDENT;
    return score >= 0.6 ? SL_COLLECTIVE_LIKELY : SL_COLLECTIVE_SUSPECT;
}

static sl_collective_result describe(const job *j, const spike *s, double score) {
    bool has_marks = s->marker_hits > 0;
    int64_t first = has_marks ? sl_min_i64(s->first_mark_ns, s->time_ns) : s->time_ns;
    int64_t last = has_marks ? sl_max_i64(s->last_mark_ns, s->time_ns) : s->time_ns;
    sl_collective_result r = {
        .rank = s->rank,
        .interval_start_ns =
            sl_max_i64(sl_max_i64(first - j->config->interval_padding_ns, j->trace_start_ns), 0),
        .interval_end_ns = add_clamped(last, j->config->interval_padding_ns),
        .class_id = class_of(score),
        .confidence = sl_stat_round(score, 3),
        .reasons = reasons_of(j, s),
        .marker_hits = s->marker_hits,
        .synchronized_ranks = s->synchronized,
        .expected_world_size = j->world_size,
        .synchrony_ratio = sl_stat_round(synchrony(j, s), 4),
        .peak_gap_bytes = s->gap_bytes,
        .robust_zscore = sl_stat_round(s->zscore, 4),
    };
    if (s->ratio.known)
        r.peak_gap_ratio = sl_known_f64(sl_stat_round(s->ratio.value, 6));
    return r;
}

static void merge_into(sl_collective_result *a, const sl_collective_result *b) {
    a->interval_end_ns = sl_max_i64(a->interval_end_ns, b->interval_end_ns);
    if (b->interval_start_ns < a->interval_start_ns)
        a->interval_start_ns = b->interval_start_ns;
    a->class_id = b->class_id > a->class_id ? b->class_id : a->class_id;
    a->confidence = fmax(a->confidence, b->confidence);
    a->reasons |= b->reasons;
    if (b->marker_hits > a->marker_hits)
        a->marker_hits = b->marker_hits;
    if (b->synchronized_ranks > a->synchronized_ranks)
        a->synchronized_ranks = b->synchronized_ranks;
    a->synchrony_ratio = fmax(a->synchrony_ratio, b->synchrony_ratio);
    a->peak_gap_bytes = sl_max_i64(a->peak_gap_bytes, b->peak_gap_bytes);
    if (b->peak_gap_ratio.known &&
        (!a->peak_gap_ratio.known || b->peak_gap_ratio.value > a->peak_gap_ratio.value))
        a->peak_gap_ratio = b->peak_gap_ratio;
    a->robust_zscore = fmax(a->robust_zscore, b->robust_zscore);
}

static int compare_results(const void *a, const void *b) {
    const sl_collective_result *x = a, *y = b;
    return compare_place(x->rank, x->interval_start_ns, y->rank, y->interval_start_ns);
}

/* Joins overlapping intervals of a rank; results are by rank and start. */
static void merge_overlaps(sl_collective_results *out, size_t from) {
    size_t kept = from;
    if (out->cnt == from)
        return;
    qsort(out->at + from, out->cnt - from, sizeof *out->at, compare_results);
    for (size_t i = from + 1; i < out->cnt; i++) {
        sl_collective_result *last = &out->at[kept];
        const sl_collective_result *next = &out->at[i];
        if (next->rank == last->rank && next->interval_start_ns <= last->interval_end_ns)
            merge_into(last, next);
        else
            out->at[++kept] = *next;
    }
    out->cnt = kept + 1;
}

static sl_status report(const job *j, sl_collective_results *out, sl_error *err) {
    size_t from = out->cnt;
    for (size_t i = 0; i < j->spikes.cnt; i++) {
        double score = confidence(j, &j->spikes.at[i]);
        if (score <= 0 || score < j->config->min_confidence)
            continue;
        if (!sl_vec_push(out, describe(j, &j->spikes.at[i], score)))
            return sl_fail_no_memory(err, "the collective attribution");
    }
    merge_overlaps(out, from);
    return SL_OK;
}

sl_status sl_collective_attribute(const sl_telemetry *set, const sl_collective_config *config,
                                  sl_collective_results *out, sl_error *err) {
    sl_collective_config medium;
    SL_TRY(sl_collective_preset("medium", &medium, err));
    job j = {.config = config ? config : &medium};
    sl_status status = sl_collective_validate(j.config, err);
    if (status == SL_OK)
        status = collect(&j, set, err);
    if (status == SL_OK)
        status = find_all_spikes(&j, err);
    if (status == SL_OK)
        status = synchronize(&j, err);
    if (status == SL_OK)
        status = report(&j, out, err);
    sl_vec_free(&j.samples);
    sl_vec_free(&j.marks);
    sl_vec_free(&j.spikes);
    return status;
}
