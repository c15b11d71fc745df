/* SPDX-License-Identifier: MIT */
/* Collective attribution: spikes of hidden memory that happen on several ranks at once, near events
 * that name a collective operation, are the communication library's buffers. Presets, scores and
 * roundings are those of the Python tool; the time is linear in the records (after sorting). */
#ifndef SL_AN_COLLECTIVE_H
#define SL_AN_COLLECTIVE_H

#include "telemetry/telemetry.h"

typedef struct sl_collective_config {
    int64_t min_samples_per_rank;
    int64_t min_gap_bytes;
    double min_gap_ratio;
    double robust_zscore_threshold;
    int64_t marker_window_ns;
    int64_t interval_padding_ns;
    int64_t synchrony_window_ns;
    double min_synchrony_ratio;
    double min_confidence;
} sl_collective_config;

/* "low", "medium" or "high", in any case and with blanks around; SL_E_USAGE otherwise. */
sl_status sl_collective_preset(const char *name, sl_collective_config *out, sl_error *err);

/* Changes one field by its name; SL_E_USAGE "Unknown collective attribution override: ...".
 * Integer fields take the whole part. Validate afterwards. */
sl_status sl_collective_override(sl_collective_config *config, const char *field, double value,
                                 sl_error *err);

/* SL_E_USAGE names the first field that is out of its range. */
sl_status sl_collective_validate(const sl_collective_config *config, sl_error *err);

/* The fields by name, in order, for whoever shows them; false after the last one. */
bool sl_collective_field(const sl_collective_config *config, size_t idx, const char **name,
                         double *value, bool *is_integer);

/* enumerator, outside name; ascending by name, so that a walk over the bits is sorted. */
#define SL_COLLECTIVE_REASON_MAP(X)              \
    X(DIVERGENCE, "allocator_device_divergence") \
    X(SYNCHRONY, "cross_rank_synchrony")         \
    X(OUTLIER, "gap_spike_statistical_outlier")  \
    X(TOKEN, "marker_collective_token")          \
    X(OVERLAP, "marker_spike_overlap")           \
    X(SINGLE_RANK, "single_rank_only")           \
    X(WEAK_MARKER, "weak_marker_signal")

typedef enum sl_collective_reason {
#define SL_COLLECTIVE_ENUM(name, text) SL_COLLECTIVE_##name,
    SL_COLLECTIVE_REASON_MAP(SL_COLLECTIVE_ENUM)
#undef SL_COLLECTIVE_ENUM
        SL_COLLECTIVE_REASON_CNT
} sl_collective_reason;

const char *sl_collective_reason_name(sl_collective_reason reason);

typedef enum sl_collective_class {
    SL_COLLECTIVE_SUSPECT,
    SL_COLLECTIVE_LIKELY,
    SL_COLLECTIVE_CONFIDENT,
} sl_collective_class;

const char *sl_collective_class_name(sl_collective_class class_id);

typedef struct sl_collective_result {
    int rank;
    int64_t interval_start_ns, interval_end_ns;
    sl_collective_class class_id;
    double confidence;
    uint32_t reasons; /* bit 1 << sl_collective_reason */
    uint64_t marker_hits, synchronized_ranks, expected_world_size;
    double synchrony_ratio;
    int64_t peak_gap_bytes;
    sl_maybe_f64 peak_gap_ratio;
    double robust_zscore;
} sl_collective_result;

typedef SL_VEC(sl_collective_result) sl_collective_results;

/* Appends the results, by rank and then by time; config NULL = "medium". The caller frees the
 * vector. SL_E_NOMEM. */
sl_status sl_collective_attribute(const sl_telemetry *set, const sl_collective_config *config,
                                  sl_collective_results *out, sl_error *err);

/* True when the text names a collective operation. */
bool sl_collective_has_token(sl_str text);

#endif
