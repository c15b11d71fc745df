/* SPDX-License-Identifier: MIT */
/* Hidden memory: what the device reports as used minus what the framework's allocator reserved.
 * Three classes: a transient spike, a persistent drift, and reserved memory that is mostly unused.
 * The thresholds, the roundings and the order are those of the Python tool. */
#ifndef SL_AN_GAP_H
#define SL_AN_GAP_H

#include "report/report.h"
#include "telemetry/telemetry.h"

/* enumerator, outside name. */
#define SL_GAP_CLASS_MAP(X)      \
    X(SPIKE, "transient_spike")  \
    X(DRIFT, "persistent_drift") \
    X(FRAGMENTED, "fragmentation_like")

typedef enum sl_gap_class {
#define SL_GAP_ENUM(name, text) SL_GAP_##name,
    SL_GAP_CLASS_MAP(SL_GAP_ENUM)
#undef SL_GAP_ENUM
        SL_GAP_CLASS_CNT
} sl_gap_class;

typedef struct sl_gap_options {
    double ratio_threshold;     /* 0.05: largest |gap| / total below which nothing is said */
    double spike_zscore;        /* 2.0 */
    double drift_r_squared;     /* 0.6 */
    double fragmentation_ratio; /* 0.3 */
} sl_gap_options;

extern const sl_gap_options sl_gap_defaults;

#define SL_GAP_EVIDENCE_MAX 5

/* A number of a finding; integers are exact in the double. */
typedef struct sl_gap_number {
    const char *name;
    double value;
    bool is_integer;
} sl_gap_number;

typedef struct sl_gap_finding {
    sl_gap_class class_id;
    sl_severity severity;
    double confidence;
    sl_gap_number evidence[SL_GAP_EVIDENCE_MAX];
    size_t evidence_cnt;
    char description[200];
} sl_gap_finding;

typedef struct sl_gap_result {
    sl_gap_finding at[SL_GAP_CLASS_CNT]; /* most severe first, then by confidence */
    size_t cnt;
} sl_gap_result;

/* Records in the order given, of any event type; options may be NULL. SL_E_NOMEM. */
sl_status sl_gap_analyze(const sl_tm_record *records, size_t cnt, const sl_gap_options *options,
                         sl_gap_result *out, sl_error *err);

const char *sl_gap_class_name(sl_gap_class class_id);

/* Advice for a class, `idx` 0..2; for PyTorch or for TensorFlow. */
const char *sl_gap_advice(sl_gap_class class_id, bool is_tensorflow, size_t idx);
#define SL_GAP_ADVICE_CNT 3

#endif
