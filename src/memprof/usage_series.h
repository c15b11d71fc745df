/* SPDX-License-Identifier: MIT */
/* A series of memory readings in MB, judged as the Python tool's TensorFlow analyzer does. */
#ifndef SL_USAGE_SERIES_H
#define SL_USAGE_SERIES_H

#include "base/core/sl_base.h"

typedef enum sl_usage_kind {
    SL_USAGE_MONOTONIC, /* "monotonic_increase" */
    SL_USAGE_SPIKES,    /* "memory_spikes" */
    SL_USAGE_CLEANUP,   /* "insufficient_cleanup" */
    SL_USAGE_KIND_CNT
} sl_usage_kind;

typedef struct sl_usage_leak {
    sl_usage_kind kind;
    const char *severity; /* "medium" or "high" */
    double growth_rate;   /* MONOTONIC: MB/s */
    size_t spike_cnt;     /* SPIKES */
    double initial_avg, final_avg;
    char description[160];
} sl_usage_leak;

typedef struct sl_usage {
    size_t increases, decreases; /* between readings */
    double growth_rate;          /* (last - first) / duration, MB/s */
    sl_usage_leak leaks[SL_USAGE_KIND_CNT];
    size_t leak_cnt;
    double efficiency; /* 0..10 */
} sl_usage;

/* duration in s. */
void sl_usage_analyze(const double *mb, size_t cnt, double duration, double peak_mb, sl_usage *out);

const char *sl_usage_kind_name(sl_usage_kind kind);

#endif
