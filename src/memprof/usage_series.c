/* SPDX-License-Identifier: MIT */
#include "memprof/usage_series.h"

#include <math.h>
#include <stdio.h>

#include "base/stats/sample_stats.h"
#include "base/text/human.h"

#define MIN_READINGS 10
#define EDGE         5

const char *sl_usage_kind_name(sl_usage_kind kind) {
    static const char *const names[] = {"monotonic_increase", "memory_spikes",
                                        "insufficient_cleanup"};
    return names[kind];
}

static sl_usage_leak *add(sl_usage *out, sl_usage_kind kind, const char *severity) {
    sl_usage_leak *leak = &out->leaks[out->leak_cnt++];
    *leak = (sl_usage_leak){.kind = kind, .severity = severity};
    return leak;
}

static void find_rise(sl_usage *out, size_t cnt) {
    double share = (double)out->increases / (double)(cnt - 1);
    if (share <= 0.7)
        return;
    sl_usage_leak *leak = add(out, SL_USAGE_MONOTONIC, share > 0.9 ? "high" : "medium");
    leak->growth_rate = out->growth_rate;
    snprintf(leak->description, sizeof leak->description,
             "memory rises in %.0f%% of the readings (%.2f MB/s)", share * 100, out->growth_rate);
}

static void find_spikes(sl_usage *out, const double *mb, size_t cnt) {
    double limit = sl_stat_mean(mb, cnt) + 3 * sl_stat_stdev(mb, cnt);
    size_t spikes = 0;
    for (size_t i = 0; i < cnt; i++)
        spikes += mb[i] > limit;
    if (!spikes)
        return;
    sl_usage_leak *leak = add(out, SL_USAGE_SPIKES, "medium");
    leak->spike_cnt = spikes;
    snprintf(leak->description, sizeof leak->description, "%zu reading%s above %.1f MB", spikes,
             sl_plural(spikes), limit);
}

static void find_remains(sl_usage *out, const double *mb, size_t cnt) {
    double first = sl_stat_mean(mb, EDGE), last = sl_stat_mean(mb + cnt - EDGE, EDGE);
    if (last <= 1.5 * first)
        return;
    sl_usage_leak *leak = add(out, SL_USAGE_CLEANUP, "medium");
    leak->initial_avg = first;
    leak->final_avg = last;
    snprintf(leak->description, sizeof leak->description,
             "memory ends at %.1f MB and began at %.1f MB", last, first);
}

/* A score of 0..10: 10 less the deductions for size, growth and leaks. Unused reserved memory is
 * not known here, so nothing is deducted for it. */
static double rate(const sl_usage *out, double peak_mb, double growth) {
    double score = 10;
    score -= peak_mb > 8000 ? 3 : peak_mb > 4000 ? 1.5 : 0;
    score -= growth > 200 ? 2 : growth > 100 ? 1 : 0;
    for (size_t i = 0; i < out->leak_cnt; i++)
        score -= out->leaks[i].severity[0] == 'h' ? 3 : 1.5;
    return fmax(0, score);
}

void sl_usage_analyze(const double *mb, size_t cnt, double duration, double peak_mb,
                      sl_usage *out) {
    *out = (sl_usage){0};
    for (size_t i = 1; i < cnt; i++) {
        out->increases += mb[i] > mb[i - 1];
        out->decreases += mb[i] < mb[i - 1];
    }
    if (cnt && duration > 0)
        out->growth_rate = (mb[cnt - 1] - mb[0]) / duration;
    if (cnt >= MIN_READINGS) {
        find_rise(out, cnt);
        find_spikes(out, mb, cnt);
        find_remains(out, mb, cnt);
    }
    out->efficiency = rate(out, peak_mb, out->growth_rate);
}
