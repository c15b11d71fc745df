/* SPDX-License-Identifier: MIT */
/* The five patterns, in the order in which they are reported. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stats/sample_stats.h"
#include "memprof/profile_report.h"

#define MIB             INT64_C(1048576)
#define LEAK_MIN_BYTES  (100 * MIB)
#define LEAK_CRITICAL   (1024 * MIB)
#define REPEATED_CALLS  10
#define REPEATED_BYTES  (50 * MIB)
#define REPEATED_LISTED 5
#define SPIKES_CRITICAL 5

typedef const char *const tips[SL_PROFILE_TIP_CNT];

static tips leak_tips = {
    "look for tensors that are kept in lists, attributes or globals between calls",
    "delete what is no longer needed and detach what is only logged",
    "hold large objects by weak references where a cache is enough",
    "record the run and let 'stormlog analyze' name the line that holds the memory"};
static tips fragmentation_tips = {"empty the allocator's cache between phases of different shapes",
                                  "allocate large buffers once and reuse them",
                                  "record the run and let 'stormlog whatif' try allocator settings",
                                  "keep batch shapes constant, or round them up to a few sizes"};
static tips inefficient_tips = {"look for allocations that are much larger than what is used",
                                "allocate in the function's own scope and as late as possible",
                                "use operations that work in place",
                                "allocate once before the loop"};
static tips spike_tips = {"process large inputs in smaller pieces",
                          "use gradient checkpointing for the largest layers",
                          "free temporaries before the next large allocation",
                          "record a memory snapshot around the largest call"};
static tips repeated_tips = {"allocate the buffer once and pass it in",
                             "use the out= argument of the operations that have one",
                             "keep a pool of buffers by size",
                             "let torch.compile fuse the small operations"};

static bool add_names(sl_profile_job *job, sl_profile_pattern *p, const char *const *names,
                      size_t cnt) {
    const char **kept = sl_arena_alloc(&job->report->arena, (cnt + 1) * sizeof *kept);
    for (size_t i = 0; kept && i < cnt; i++)
        kept[i] = names[i];
    p->functions = kept;
    p->function_cnt = kept ? cnt : 0;
    return kept != NULL;
}

static bool add_pattern(sl_profile_job *job, const sl_profile_pattern *p) {
    return p->description && sl_vec_push(&job->report->patterns, *p);
}

/* ---- leak ---- */

static bool check_leak(sl_profile_job *job, const sl_profile_group *g) {
    int64_t total = 0;
    size_t growing = 0;
    if ((int64_t)g->cnt < job->thresholds->min_calls_for_analysis)
        return true;
    for (size_t i = 0; i < g->cnt; i++) {
        total += sl__profile_net(g->calls[i]);
        growing += sl__profile_net(g->calls[i]) > 0;
    }
    double ratio = (double)growing / (double)g->cnt, mean = (double)total / (double)g->cnt;
    if (mean <= 0 || ratio <= job->thresholds->memory_leak_ratio || total <= LEAK_MIN_BYTES)
        return true;
    sl_profile_pattern p = {
        .type = "memory_leak",
        .severity = total > LEAK_CRITICAL ? SL_SEV_CRITICAL : SL_SEV_WARNING,
        .description = sl_arena_printf(
            &job->report->arena, "'%s' grew by %.2f MB over %zu calls, %.2f MB per call",
            g->function, (double)total / (double)MIB, g->cnt, mean / (double)MIB),
        .metrics = {sl__profile_int("total_memory_growth", total),
                    sl__profile_real("average_growth_per_call", mean),
                    sl__profile_real("positive_growth_ratio", ratio),
                    sl__profile_int("call_count", (int64_t)g->cnt)},
        .metric_cnt = 4,
        .suggestions = leak_tips,
    };
    return add_names(job, &p, &g->function, 1) && add_pattern(job, &p);
}

static bool find_leaks(sl_profile_job *job) {
    for (size_t i = 0; i < job->group_cnt; i++)
        if (!check_leak(job, &job->groups[i]))
            return false;
    return true;
}

/* ---- fragmentation ---- */

/* When nothing is allocated, the reserved bytes are an empty cache: there are no blocks for the
 * free memory to be fragmented by. */
static bool has_share(const sl_profile_call *call) {
    return call->after_reserved > 0 && call->after_allocated > 0;
}

static double unused_share(const sl_profile_call *call) {
    return (double)(call->after_reserved - call->after_allocated) / (double)call->after_reserved;
}

static bool has_high_share(const sl_profile_group *g, double threshold) {
    for (size_t i = 0; i < g->cnt; i++)
        if (has_share(g->calls[i]) && unused_share(g->calls[i]) > threshold)
            return true;
    return false;
}

static bool name_fragmented(sl_profile_job *job, sl_profile_pattern *p) {
    const char **names = sl_arena_alloc(&job->report->arena, (job->group_cnt + 1) * sizeof *names);
    size_t cnt = 0;
    for (size_t i = 0; names && i < job->group_cnt; i++)
        if (has_high_share(&job->groups[i], job->thresholds->fragmentation_ratio))
            names[cnt++] = job->groups[i].function;
    p->functions = names;
    p->function_cnt = cnt;
    return names != NULL;
}

static bool find_fragmentation(sl_profile_job *job) {
    size_t cnt = 0;
    double largest = 0;
    for (size_t i = 0; i < job->cnt; i++) {
        if (!has_share(&job->calls[i]))
            continue;
        double share = unused_share(&job->calls[i]);
        largest = cnt ? fmax(largest, share) : share;
        job->room[cnt++] = share;
    }
    double mean = sl_stat_mean(job->room, cnt);
    if (!cnt || mean <= job->thresholds->fragmentation_ratio)
        return true;
    sl_profile_pattern p = {
        .type = "fragmentation",
        .severity = mean > 0.5 ? SL_SEV_CRITICAL : SL_SEV_WARNING,
        .suggestions = fragmentation_tips,
    };
    if (!name_fragmented(job, &p))
        return false;
    p.description = sl_arena_printf(
        &job->report->arena, "on average %.1f%% of the reserved memory is unused", mean * 100);
    p.metrics[0] = sl__profile_real("average_fragmentation", mean);
    p.metrics[1] = sl__profile_real("max_fragmentation", largest);
    p.metrics[2] = sl__profile_int("high_fragmentation_functions", (int64_t)p.function_cnt);
    p.metric_cnt = 3;
    return add_pattern(job, &p);
}

/* ---- inefficiency ---- */

/* Mean of (peak - before) / allocated over the calls where it is below the threshold; 0 when there
 * are too few of them. */
static double inefficiency(const sl_profile_job *job, const sl_profile_group *g) {
    double limit = job->thresholds->inefficient_allocation_ratio, sum = 0;
    size_t cnt = 0;
    for (size_t i = 0; i < g->cnt; i++) {
        int64_t allocated = sl__profile_allocated(g->calls[i]);
        int64_t rise = g->calls[i]->peak_allocated - g->calls[i]->before_allocated;
        if (allocated <= 0 || rise <= 0 || (double)rise / (double)allocated >= limit)
            continue;
        sum += (double)rise / (double)allocated;
        cnt++;
    }
    if ((int64_t)cnt < job->thresholds->min_calls_for_analysis || sum / (double)cnt >= limit)
        return 0;
    return sum / (double)cnt;
}

static bool find_inefficiency(sl_profile_job *job) {
    const char **names = sl_arena_alloc(&job->report->arena, (job->group_cnt + 1) * sizeof *names);
    size_t cnt = 0;
    if (!names)
        return false;
    for (size_t i = 0; i < job->group_cnt; i++) {
        double share = inefficiency(job, &job->groups[i]);
        if (share > 0) {
            job->room[cnt] = share;
            names[cnt++] = job->groups[i].function;
        }
    }
    if (!cnt)
        return true;
    sl_profile_pattern p = {
        .type = "inefficient_allocation",
        .severity = SL_SEV_WARNING,
        .functions = names,
        .function_cnt = cnt,
        .description = sl_arena_printf(&job->report->arena,
                                       "%zu function%s little of the memory allocated there", cnt,
                                       cnt == 1 ? " uses" : "s use"),
        .metrics = {sl__profile_int("inefficient_function_count", (int64_t)cnt),
                    sl__profile_real("average_efficiency", sl_stat_mean(job->room, cnt))},
        .metric_cnt = 2,
        .suggestions = inefficient_tips,
    };
    return add_pattern(job, &p);
}

/* ---- spikes ---- */

static bool name_spikes(sl_profile_job *job, double threshold, sl_profile_pattern *p,
                        size_t *spikes) {
    const char **names = sl_arena_alloc(&job->report->arena, (job->group_cnt + 1) * sizeof *names);
    size_t cnt = 0;
    *spikes = 0;
    for (size_t i = 0; names && i < job->group_cnt; i++) {
        size_t here = 0;
        for (size_t c = 0; c < job->groups[i].cnt; c++)
            here += (double)sl__profile_allocated(job->groups[i].calls[c]) > threshold;
        *spikes += here;
        if (here)
            names[cnt++] = job->groups[i].function;
    }
    p->functions = names;
    p->function_cnt = cnt;
    return names != NULL;
}

static bool find_spikes(sl_profile_job *job) {
    size_t cnt = 0, spikes;
    for (size_t i = 0; i < job->cnt; i++)
        if (sl__profile_allocated(&job->calls[i]) > 0)
            job->room[cnt++] = (double)sl__profile_allocated(&job->calls[i]);
    if (cnt < 3)
        return true;
    sl_stat_sort(job->room, cnt);
    double q1 = sl_stat_quantile(job->room, cnt, 0.25), q3 = sl_stat_quantile(job->room, cnt, 0.75);
    double threshold = q3 + 1.5 * (q3 - q1);
    sl_profile_pattern p = {.type = "memory_spikes", .suggestions = spike_tips};
    if (!name_spikes(job, threshold, &p, &spikes))
        return false;
    if (!spikes)
        return true;
    p.severity = spikes < SPIKES_CRITICAL ? SL_SEV_WARNING : SL_SEV_CRITICAL;
    p.description =
        sl_arena_printf(&job->report->arena, "%zu call%s far more than the rest: over %.2f MB",
                        spikes, spikes == 1 ? " allocates" : "s allocate", threshold / (double)MIB);
    p.metrics[0] = sl__profile_int("spike_count", (int64_t)spikes);
    p.metrics[1] = sl__profile_real("spike_threshold", threshold);
    p.metrics[2] = sl__profile_int("max_allocation", (int64_t)job->room[cnt - 1]);
    p.metrics[3] = sl__profile_real("median_allocation", sl_stat_quantile(job->room, cnt, 0.5));
    p.metric_cnt = 4;
    return add_pattern(job, &p);
}

/* ---- repetition ---- */

typedef struct repeated {
    const char *function;
    int64_t total;
    size_t order;
} repeated;

static int compare_repeated(const void *a, const void *b) {
    const repeated *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool report_repeated(sl_profile_job *job, repeated *rows, size_t cnt) {
    const char *names[REPEATED_LISTED] = {NULL};
    int64_t total = 0;
    size_t listed = cnt < REPEATED_LISTED ? cnt : REPEATED_LISTED;
    qsort(rows, cnt, sizeof *rows, compare_repeated);
    for (size_t i = 0; i < cnt; i++)
        total += rows[i].total;
    for (size_t i = 0; i < listed; i++)
        names[i] = rows[i].function;
    sl_profile_pattern p = {
        .type = "repeated_allocations",
        .severity = SL_SEV_INFO,
        .description = sl_arena_printf(&job->report->arena, "%zu function%s many small allocations",
                                       cnt, cnt == 1 ? " makes" : "s make"),
        .suggestions = repeated_tips,
    };
    if (!add_names(job, &p, names, listed))
        return false;
    p.metrics[0] = sl__profile_int("function_count", (int64_t)cnt);
    p.metrics[1] = (sl_profile_datum){.name = "total_impact_functions",
                                      .kind = SL_PROFILE_NAMES,
                                      .names = p.functions,
                                      .name_cnt = listed};
    p.metrics[2] = sl__profile_int("total_memory_from_repeated", total);
    p.metric_cnt = 3;
    return add_pattern(job, &p);
}

static bool find_repetition(sl_profile_job *job) {
    repeated *rows = sl_arena_alloc(&job->report->arena, (job->group_cnt + 1) * sizeof *rows);
    size_t cnt = 0;
    if (!rows)
        return false;
    for (size_t i = 0; i < job->group_cnt; i++) {
        const sl_profile_group *g = &job->groups[i];
        int64_t total = 0;
        for (size_t c = 0; c < g->cnt; c++)
            total += sl__profile_allocated(g->calls[c]);
        if (g->cnt >= REPEATED_CALLS && (double)total / (double)g->cnt < (double)REPEATED_BYTES)
            rows[cnt++] = (repeated){g->function, total, i};
    }
    return cnt ? report_repeated(job, rows, cnt) : true;
}

bool sl__profile_patterns(sl_profile_job *job) {
    return find_leaks(job) && find_fragmentation(job) && find_inefficiency(job) &&
           find_spikes(job) && find_repetition(job);
}
