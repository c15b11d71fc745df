/* SPDX-License-Identifier: MIT */
#include "analyze/samples/an_gap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stats/sample_stats.h"
#include "base/text/human.h"

#define MIB 1048576.0

const sl_gap_options sl_gap_defaults = {
    .ratio_threshold = 0.05,
    .spike_zscore = 2.0,
    .drift_r_squared = 0.6,
    .fragmentation_ratio = 0.3,
};

static const char *const class_names[SL_GAP_CLASS_CNT] = {
#define SL_GAP_NAME(name, text) text,
    SL_GAP_CLASS_MAP(SL_GAP_NAME)
#undef SL_GAP_NAME
};

const char *sl_gap_class_name(sl_gap_class class_id) {
    return class_names[class_id];
}

static const char *const advice[SL_GAP_CLASS_CNT][2][SL_GAP_ADVICE_CNT] = {
    [SL_GAP_SPIKE] = {{"look for memory outside the allocator during the spike: cuDNN workspaces, "
                       "NCCL buffers, other frameworks",
                       "take a memory snapshot around the spike",
                       "set torch.backends.cudnn.benchmark = False, so that workspaces stay small"},
                      {"look for XLA temporaries and library workspaces during the spike",
                       "call tf.config.experimental.get_memory_info around the spike",
                       "reuse tf.function traces, so that new graphs do not take new buffers"}},
    [SL_GAP_DRIFT] =
        {{"look for native CUDA allocations outside PyTorch (extensions, custom kernels)",
          "compare with the process list of nvidia-smi: another process may be growing",
          "a plateau after the warm-up is context overhead, not a leak"},
         {"look for native allocations outside TensorFlow (custom ops, other libraries)",
          "enable memory growth and compare get_memory_info with what the device reports",
          "a plateau after the warm-up is context overhead, not a leak"}},
    [SL_GAP_FRAGMENTED] =
        {{"call torch.cuda.empty_cache() between phases of different shapes",
          "allocate large buffers once and keep them, or pool them by size",
          "take a memory snapshot: stormlog whatif replays it and names the setting that helps"},
         {"enable memory growth, so that the allocator takes only what it needs",
          "keep batch shapes constant, so that tf.function and its buffers are reused",
          "set a logical device limit, so that the pool cannot outgrow its use"}},
};

const char *sl_gap_advice(sl_gap_class class_id, bool is_tensorflow, size_t idx) {
    return advice[class_id][is_tensorflow][idx];
}

/* The records that have a total, as columns. */
typedef struct series {
    size_t cnt;
    double *gap;     /* bytes, signed */
    double *time_ns; /* since the first */
    double max_ratio;
    size_t reserved_cnt; /* records with reserved > 0 */
    double ratio_sum, ratio_max;
} series;

static void add_ratio(series *s, const sl_tm_record *r) {
    /* Reserved and nothing allocated is an empty cache, which empty_cache() gives back whole. */
    if (r->reserved_bytes <= 0 || r->allocated_bytes == 0)
        return;
    double ratio = (double)(r->reserved_bytes - r->allocated_bytes) / (double)r->reserved_bytes;
    s->ratio_max = s->reserved_cnt ? fmax(s->ratio_max, ratio) : ratio;
    s->ratio_sum += ratio;
    s->reserved_cnt++;
}

static sl_status build(const sl_tm_record *records, size_t cnt, series *s, sl_error *err) {
    *s = (series){.gap = malloc((cnt + 1) * sizeof(double)),
                  .time_ns = malloc((cnt + 1) * sizeof(double))};
    if (!s->gap || !s->time_ns)
        return sl_fail_no_memory(err, "the gaps of %zu records", cnt);
    int64_t first_ns = 0;
    for (size_t i = 0; i < cnt; i++) {
        const sl_tm_record *r = &records[i];
        if (r->total_bytes <= 0)
            continue;
        if (!s->cnt)
            first_ns = r->timestamp_ns;
        double gap = (double)(r->used_bytes - r->reserved_bytes);
        s->gap[s->cnt] = gap;
        s->time_ns[s->cnt++] = (double)(r->timestamp_ns - first_ns);
        s->max_ratio = fmax(s->max_ratio, fabs(gap / (double)r->total_bytes));
        add_ratio(s, r);
    }
    return SL_OK;
}

static void add_number(sl_gap_finding *f, const char *name, double value, bool is_integer) {
    f->evidence[f->evidence_cnt++] = (sl_gap_number){name, value, is_integer};
}

static bool find_spike(const series *s, const sl_gap_options *o, sl_gap_finding *f) {
    sl_outliers spikes = sl_stat_outliers(s->gap, s->cnt, o->spike_zscore);
    double z = spikes.largest_z;
    if (!spikes.cnt)
        return false;
    f->severity = z > 2 * o->spike_zscore ? SL_SEV_CRITICAL : SL_SEV_WARNING;
    f->confidence = sl_stat_round(fmin(1, z / (3 * o->spike_zscore)), 3);
    add_number(f, "spike_count", (double)spikes.cnt, true);
    add_number(f, "max_gap_bytes", spikes.largest, true);
    add_number(f, "max_zscore", sl_stat_round(z, 3), false);
    add_number(f, "mean_gap_bytes", sl_stat_round(spikes.mean, 1), false);
    add_number(f, "std_gap_bytes", sl_stat_round(spikes.stdev, 1), false);
    snprintf(f->description, sizeof f->description,
             "%zu transient spike%s of hidden memory: up to %.2f MB outside the allocator "
             "(z-score %.2f)",
             spikes.cnt, sl_plural(spikes.cnt), spikes.largest / MIB, z);
    return true;
}

static bool find_drift(const series *s, const sl_gap_options *o, sl_gap_finding *f) {
    sl_fit fit;
    /* Records that share one time stamp have no slope; the Python tool raises here. */
    if (s->cnt < 5 || !sl_stat_fit(s->time_ns, s->gap, s->cnt, &fit))
        return false;
    double r2 = fit.r * fit.r;
    if (!(fit.slope > 0) || r2 < o->drift_r_squared)
        return false;
    f->severity = r2 > 0.85 ? SL_SEV_CRITICAL : SL_SEV_WARNING;
    f->confidence = sl_stat_round(fmin(1, r2), 3);
    add_number(f, "slope_bytes_per_sec", sl_stat_round(fit.slope * 1e9, 1), false);
    add_number(f, "r_squared", sl_stat_round(r2, 4), false);
    add_number(f, "p_value", sl_stat_round(fit.p_value, 6), false);
    add_number(f, "gap_start_bytes", sl_stat_round(s->gap[0], 1), false);
    add_number(f, "gap_end_bytes", sl_stat_round(s->gap[s->cnt - 1], 1), false);
    snprintf(f->description, sizeof f->description,
             "hidden memory grows by %.2f MB/s (R^2 %.3f): from %.2f MB to %.2f MB outside the "
             "allocator",
             fit.slope * 1e9 / MIB, r2, s->gap[0] / MIB, s->gap[s->cnt - 1] / MIB);
    return true;
}

static bool find_fragmentation(const series *s, const sl_gap_options *o, sl_gap_finding *f) {
    if (!s->reserved_cnt)
        return false;
    double mean = s->ratio_sum / (double)s->reserved_cnt;
    if (mean < o->fragmentation_ratio)
        return false;
    double mean_gap = sl_stat_mean(s->gap, s->cnt);
    f->severity = mean > 0.5 ? SL_SEV_CRITICAL : SL_SEV_WARNING;
    f->confidence = sl_stat_round(fmin(1, mean / 0.6), 3);
    add_number(f, "avg_fragmentation_ratio", sl_stat_round(mean, 4), false);
    add_number(f, "max_fragmentation_ratio", sl_stat_round(s->ratio_max, 4), false);
    add_number(f, "avg_gap_bytes", sl_stat_round(mean_gap, 1), false);
    add_number(f, "sample_count", (double)s->reserved_cnt, true);
    snprintf(f->description, sizeof f->description,
             "on average %.1f%% of the reserved memory is unused (at most %.1f%%)", mean * 100,
             s->ratio_max * 100);
    return true;
}

static bool comes_before(const sl_gap_finding *a, const sl_gap_finding *b) {
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return a->confidence > b->confidence;
}

/* Keeps the order of equals, as a stable sort would. */
static void insert_sorted(sl_gap_result *out, const sl_gap_finding *finding) {
    size_t at = out->cnt++;
    for (; at > 0 && comes_before(finding, &out->at[at - 1]); at--)
        out->at[at] = out->at[at - 1];
    out->at[at] = *finding;
}

sl_status sl_gap_analyze(const sl_tm_record *records, size_t cnt, const sl_gap_options *options,
                         sl_gap_result *out, sl_error *err) {
    static bool (*const finders[SL_GAP_CLASS_CNT])(const series *, const sl_gap_options *,
                                                   sl_gap_finding *) = {
        [SL_GAP_SPIKE] = find_spike,
        [SL_GAP_DRIFT] = find_drift,
        [SL_GAP_FRAGMENTED] = find_fragmentation,
    };
    const sl_gap_options *o = options ? options : &sl_gap_defaults;
    series s;
    sl_status status = build(records, cnt, &s, err);
    out->cnt = 0;
    if (status == SL_OK && s.cnt >= 3 && s.max_ratio >= o->ratio_threshold) {
        for (size_t i = 0; i < SL_GAP_CLASS_CNT; i++) {
            sl_gap_finding finding = {.class_id = (sl_gap_class)i};
            if (finders[i](&s, o, &finding))
                insert_sorted(out, &finding);
        }
    }
    free(s.gap);
    free(s.time_ns);
    return status;
}
