/* SPDX-License-Identifier: MIT */
/* Findings from measured function calls: patterns (leak, fragmentation, inefficiency, spikes,
 * repetition), insights (slow, uneven, memory-hungry, correlated, growing) and a score.
 * Thresholds, order and arithmetic are those of the Python tool's MemoryAnalyzer. Pure
 * functions. */
#ifndef SL_PROFILE_REPORT_H
#define SL_PROFILE_REPORT_H

#include "base/core/arena.h"
#include "base/core/status.h"
#include "base/core/strtab.h"
#include "base/core/vec.h"
#include "report/report.h"

/* One measured call. */
typedef struct sl_profile_call {
    const char *function; /* borrowed */
    double seconds;
    double before_time, after_time; /* s, wall clock */
    int64_t before_allocated, after_allocated, after_reserved, peak_allocated;
} sl_profile_call;

typedef struct sl_profile_thresholds {
    double memory_leak_ratio;            /* 0.1: share of growing calls, exceeded */
    double fragmentation_ratio;          /* 0.3: mean, exceeded */
    double inefficient_allocation_ratio; /* 0.5 */
    double slow_function_percentile;     /* 0.9 */
    double high_memory_percentile;       /* 0.9 */
    int64_t min_calls_for_analysis;      /* 3 */
} sl_profile_thresholds;

extern const sl_profile_thresholds sl_profile_defaults;

/* A named result: a number, a text, or a list of function names. */
typedef enum sl_profile_kind {
    SL_PROFILE_INT,
    SL_PROFILE_REAL,
    SL_PROFILE_TEXT,
    SL_PROFILE_NAMES,
    SL_PROFILE_PAIR, /* the only name, and `real` */
} sl_profile_kind;

typedef struct sl_profile_datum {
    const char *name;
    sl_profile_kind kind;
    int64_t number;
    double real;
    const char *text;
    const char *const *names;
    size_t name_cnt;
} sl_profile_datum;

#define SL_PROFILE_DATA_MAX 4
#define SL_PROFILE_TIP_CNT  4

typedef struct sl_profile_pattern {
    const char *type; /* "memory_leak", ... */
    const char *description;
    sl_severity severity;
    const char *const *functions;
    size_t function_cnt;
    sl_profile_datum metrics[SL_PROFILE_DATA_MAX];
    size_t metric_cnt;
    const char *const *suggestions; /* SL_PROFILE_TIP_CNT */
} sl_profile_pattern;

typedef enum sl_profile_impact {
    SL_IMPACT_LOW,
    SL_IMPACT_MEDIUM,
    SL_IMPACT_HIGH
} sl_profile_impact;

typedef struct sl_profile_insight {
    const char *category, *title, *description;
    sl_profile_impact impact;
    double confidence;
    sl_profile_datum data[SL_PROFILE_DATA_MAX];
    size_t data_cnt;
    const char *const *recommendations; /* SL_PROFILE_TIP_CNT */
} sl_profile_insight;

typedef struct sl_profile_score {
    int score; /* 0..100 */
    const char *grade;
    const char *description;
    size_t issues_found;
} sl_profile_score;

/* Everything is allocated in the arena. */
typedef struct sl_profile_report {
    sl_arena arena;
    SL_VEC(sl_profile_pattern) patterns;
    SL_VEC(sl_profile_insight) insights;
    sl_profile_score score;
} sl_profile_report;

/* thresholds may be NULL. SL_E_NOMEM. */
sl_status sl_profile_report_new(const sl_profile_call *calls, size_t cnt,
                                const sl_profile_thresholds *thresholds, sl_profile_report **out,
                                sl_error *err);
void sl_profile_report_free(sl_profile_report *report); /* NULL is fine */

const char *sl_profile_impact_name(sl_profile_impact impact);

/* ---- shared by the files of this analysis ---- */

/* The calls of one function, in their order. */
typedef struct sl_profile_group {
    const char *function;
    const sl_profile_call **calls;
    size_t cnt;
} sl_profile_group;

typedef struct sl_profile_job {
    const sl_profile_call *calls;
    size_t cnt;
    const sl_profile_thresholds *thresholds;
    sl_profile_group *groups; /* in the order of their first call */
    size_t group_cnt;
    double *room; /* scratch; one value per call */
    sl_profile_report *report;
} sl_profile_job;

/* Each returns false when memory ran out. */
bool sl__profile_patterns(sl_profile_job *job);
bool sl__profile_insights(sl_profile_job *job);
void sl__profile_score(sl_profile_report *report);

static inline int64_t sl__profile_net(const sl_profile_call *call) {
    return call->after_allocated - call->before_allocated;
}

/* memory_allocated: the net growth, never negative. */
static inline int64_t sl__profile_allocated(const sl_profile_call *call) {
    int64_t net = sl__profile_net(call);
    return net > 0 ? net : 0;
}

static inline sl_profile_datum sl__profile_int(const char *name, int64_t value) {
    return (sl_profile_datum){.name = name, .kind = SL_PROFILE_INT, .number = value};
}

static inline sl_profile_datum sl__profile_real(const char *name, double value) {
    return (sl_profile_datum){.name = name, .kind = SL_PROFILE_REAL, .real = value};
}

#endif
