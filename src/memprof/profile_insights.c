/* SPDX-License-Identifier: MIT */
/* The five insights, in the order in which they are reported. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stats/sample_stats.h"
#include "base/text/human.h"
#include "memprof/profile_report.h"

#define LISTED_MAX         5
#define UNEVEN_VARIATION   0.5
#define CORRELATED_CALLS   10
#define CORRELATED_R       0.7
#define TREND_CALLS        5
#define TREND_R            0.5
#define TREND_P            0.05
#define TREND_HIGH_PER_SEC 1e6

typedef const char *const tips[SL_PROFILE_TIP_CNT];

static tips slow_tips = {"profile the slowest function line by line",
                         "move work that does not change out of the loop",
                         "use mixed precision where the result allows it",
                         "let torch.compile or CUDA graphs take the overhead away"};
static tips uneven_tips = {
    "separate warm-up calls from the measured ones", "look for inputs of different sizes",
    "synchronize the device before the clock is read", "look for other users of the device"};
static tips hungry_tips = {"process the input in smaller pieces", "use gradient checkpointing",
                           "use operations that work in place", "free temporaries early"};
static tips correlated_tips = {"reduce allocations to gain time", "reuse buffers between calls",
                               "look for host-device copies that come with the allocations",
                               "compare with a run of half the batch size"};
static tips trend_tips = {"look for results that are kept between calls",
                          "detach losses before they are stored",
                          "record the run and let 'stormlog analyze' name the line",
                          "compare memory at the same point of two steps"};

static sl_profile_datum names_datum(const char *name, const char *const *names, size_t cnt) {
    return (sl_profile_datum){
        .name = name, .kind = SL_PROFILE_NAMES, .names = names, .name_cnt = cnt};
}

static bool add_insight(sl_profile_job *job, const sl_profile_insight *insight) {
    return insight->description && sl_vec_push(&job->report->insights, *insight);
}

static double mean_seconds(const sl_profile_group *g) {
    double sum = 0;
    for (size_t i = 0; i < g->cnt; i++)
        sum += g->calls[i]->seconds;
    return sum / (double)g->cnt;
}

static bool has_enough_calls(const sl_profile_job *job, const sl_profile_group *g) {
    return (int64_t)g->cnt >= job->thresholds->min_calls_for_analysis;
}

/* ---- slow functions ---- */

typedef struct slow_list {
    const char **names; /* the first LISTED_MAX */
    size_t cnt;
    const char *slowest;
    double slowest_time;
} slow_list;

static slow_list list_slow(const sl_profile_job *job, const char **names, double threshold) {
    slow_list list = {.names = names};
    for (size_t i = 0; i < job->group_cnt; i++) {
        const sl_profile_group *g = &job->groups[i];
        double mean = has_enough_calls(job, g) ? mean_seconds(g) : threshold;
        if (mean <= threshold)
            continue;
        if (list.cnt < LISTED_MAX)
            names[list.cnt] = g->function;
        if (!list.cnt || mean > list.slowest_time) {
            list.slowest = g->function;
            list.slowest_time = mean;
        }
        list.cnt++;
    }
    return list;
}

static bool find_slow(sl_profile_job *job) {
    const char **names = sl_arena_alloc(&job->report->arena, LISTED_MAX * sizeof *names);
    size_t cnt = 0;
    if (!names)
        return false;
    for (size_t i = 0; i < job->group_cnt; i++)
        if (has_enough_calls(job, &job->groups[i]))
            job->room[cnt++] = mean_seconds(&job->groups[i]);
    if (!cnt)
        return true;
    sl_stat_sort(job->room, cnt);
    double threshold = sl_stat_quantile(job->room, cnt, job->thresholds->slow_function_percentile);
    slow_list slow = list_slow(job, names, threshold);
    if (!slow.cnt)
        return true;
    sl_profile_insight insight = {
        .category = "execution_time",
        .title = "Slow Function Detection",
        .description = sl_arena_printf(&job->report->arena, "%zu function%s slower than the rest",
                                       slow.cnt, slow.cnt == 1 ? " is" : "s are"),
        .impact = slow.cnt > 3 ? SL_IMPACT_HIGH : SL_IMPACT_MEDIUM,
        .confidence = 0.8,
        .data = {names_datum("slow_functions", names,
                             slow.cnt < LISTED_MAX ? slow.cnt : LISTED_MAX),
                 {.name = "slowest_function", .kind = SL_PROFILE_TEXT, .text = slow.slowest},
                 sl__profile_real("slowest_time", slow.slowest_time),
                 sl__profile_real("threshold", threshold)},
        .data_cnt = 4,
        .recommendations = slow_tips,
    };
    return add_insight(job, &insight);
}

/* ---- uneven times ---- */

/* Sample standard deviation over mean; 0 when there is none. */
static double variation(const sl_profile_job *job, const sl_profile_group *g) {
    if (!has_enough_calls(job, g))
        return 0;
    for (size_t i = 0; i < g->cnt; i++)
        job->room[i] = g->calls[i]->seconds;
    double mean = sl_stat_mean(job->room, g->cnt);
    return mean > 0 ? sl_stat_stdev(job->room, g->cnt) / mean : 0;
}

static bool find_uneven(sl_profile_job *job) {
    const char **names = sl_arena_alloc(&job->report->arena, (job->group_cnt + 1) * sizeof *names);
    const char **worst = sl_arena_alloc(&job->report->arena, sizeof *worst);
    size_t cnt = 0;
    double highest = 0;
    if (!names || !worst)
        return false;
    for (size_t i = 0; i < job->group_cnt; i++) {
        double cv = variation(job, &job->groups[i]);
        if (cv <= UNEVEN_VARIATION)
            continue;
        names[cnt++] = job->groups[i].function;
        if (cv > highest) {
            highest = cv;
            *worst = job->groups[i].function;
        }
    }
    if (!cnt)
        return true;
    sl_profile_insight insight = {
        .category = "execution_time",
        .title = "Inconsistent Execution Times",
        .description = sl_arena_printf(
            &job->report->arena, "the times of %zu function%s vary widely", cnt, sl_plural(cnt)),
        .impact = SL_IMPACT_MEDIUM,
        .confidence = 0.7,
        .data = {names_datum("variable_functions", names, cnt),
                 {.name = "highest_variance",
                  .kind = SL_PROFILE_PAIR,
                  .real = highest,
                  .names = worst,
                  .name_cnt = 1}},
        .data_cnt = 2,
        .recommendations = uneven_tips,
    };
    return add_insight(job, &insight);
}

/* ---- bytes per second ---- */

static bool is_listed(const char *const *names, size_t cnt, const char *name) {
    for (size_t i = 0; i < cnt; i++)
        if (names[i] == name)
            return true;
    return false;
}

static size_t list_hungry(const sl_profile_job *job, const char **names, double threshold) {
    size_t cnt = 0;
    for (size_t g = 0; g < job->group_cnt && cnt < LISTED_MAX; g++) {
        const sl_profile_group *group = &job->groups[g];
        for (size_t i = 0; i < group->cnt; i++) {
            const sl_profile_call *call = group->calls[i];
            if (call->seconds > 0 &&
                (double)sl__profile_allocated(call) / call->seconds > threshold &&
                !is_listed(names, cnt, group->function))
                names[cnt++] = group->function;
        }
    }
    return cnt;
}

static bool find_hungry(sl_profile_job *job) {
    const char **names = sl_arena_alloc(&job->report->arena, LISTED_MAX * sizeof *names);
    size_t cnt = 0;
    if (!names)
        return false;
    for (size_t i = 0; i < job->cnt; i++)
        if (job->calls[i].seconds > 0)
            job->room[cnt++] =
                (double)sl__profile_allocated(&job->calls[i]) / job->calls[i].seconds;
    if (!cnt)
        return true;
    sl_stat_sort(job->room, cnt);
    double threshold = sl_stat_quantile(job->room, cnt, job->thresholds->high_memory_percentile);
    size_t listed = list_hungry(job, names, threshold);
    if (!listed)
        return true;
    sl_profile_insight insight = {
        .category = "memory_efficiency",
        .title = "Memory-Intensive Functions",
        .description =
            sl_arena_printf(&job->report->arena, "%zu function%s most for the time taken", listed,
                            listed == 1 ? " allocates" : "s allocate"),
        .impact = SL_IMPACT_MEDIUM,
        .confidence = 0.75,
        .data = {names_datum("memory_intensive_functions", names, listed),
                 sl__profile_real("threshold_ratio", threshold)},
        .data_cnt = 2,
        .recommendations = hungry_tips,
    };
    return add_insight(job, &insight);
}

/* ---- correlation and trend ---- */

static bool find_correlation(sl_profile_job *job) {
    if (job->cnt < CORRELATED_CALLS)
        return true;
    double *allocated = sl_arena_alloc(&job->report->arena, job->cnt * sizeof *allocated);
    if (!allocated)
        return false;
    for (size_t i = 0; i < job->cnt; i++) {
        job->room[i] = job->calls[i].seconds;
        allocated[i] = (double)sl__profile_allocated(&job->calls[i]);
    }
    double r = sl_stat_pearson(job->room, allocated, job->cnt);
    if (!(fabs(r) > CORRELATED_R))
        return true;
    const char *meaning = r > 0 ? "positive" : "negative";
    sl_profile_insight insight = {
        .category = "correlation",
        .title = "Memory-Time Correlation",
        .description = sl_arena_printf(&job->report->arena,
                                       "time and allocated memory move together (r = %.2f)", r),
        .impact = SL_IMPACT_MEDIUM,
        .confidence = 0.8,
        .data = {sl__profile_real("correlation_coefficient", r),
                 {.name = "interpretation", .kind = SL_PROFILE_TEXT, .text = meaning}},
        .data_cnt = 2,
        .recommendations = correlated_tips,
    };
    return add_insight(job, &insight);
}

static int compare_starts(const void *a, const void *b) {
    const sl_profile_call *x = *(const sl_profile_call *const *)a;
    const sl_profile_call *y = *(const sl_profile_call *const *)b;
    if (x->before_time != y->before_time)
        return x->before_time < y->before_time ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool fit_trend(sl_profile_job *job, sl_fit *fit, double *span) {
    const sl_profile_call **sorted = sl_arena_alloc(&job->report->arena, job->cnt * sizeof *sorted);
    double *bytes = sl_arena_alloc(&job->report->arena, job->cnt * sizeof *bytes);
    if (!sorted || !bytes)
        return false;
    for (size_t i = 0; i < job->cnt; i++)
        sorted[i] = &job->calls[i];
    qsort(sorted, job->cnt, sizeof *sorted, compare_starts);
    for (size_t i = 0; i < job->cnt; i++) {
        job->room[i] = sorted[i]->before_time - sorted[0]->before_time;
        bytes[i] = (double)sorted[i]->after_allocated;
    }
    *span = job->room[job->cnt - 1];
    if (!sl_stat_fit(job->room, bytes, job->cnt, fit))
        *fit = (sl_fit){.p_value = 1};
    return true;
}

static bool find_trend(sl_profile_job *job) {
    sl_fit fit;
    double span;
    if (job->cnt < TREND_CALLS)
        return true;
    if (!fit_trend(job, &fit, &span))
        return false;
    if (!(fit.slope > 0) || fabs(fit.r) <= TREND_R || fit.p_value >= TREND_P)
        return true;
    sl_profile_insight insight = {
        .category = "temporal",
        .title = "Memory Growth Trend",
        .description = sl_arena_printf(&job->report->arena,
                                       "allocated memory grows by %.2f MB/s from call to call",
                                       fit.slope / 1048576.0),
        .impact = fit.slope > TREND_HIGH_PER_SEC ? SL_IMPACT_HIGH : SL_IMPACT_MEDIUM,
        .confidence = fabs(fit.r),
        .data = {sl__profile_real("growth_rate", fit.slope), sl__profile_real("correlation", fit.r),
                 sl__profile_real("p_value", fit.p_value), sl__profile_real("time_span", span)},
        .data_cnt = 4,
        .recommendations = trend_tips,
    };
    return add_insight(job, &insight);
}

bool sl__profile_insights(sl_profile_job *job) {
    return find_slow(job) && find_uneven(job) && find_hungry(job) && find_correlation(job) &&
           find_trend(job);
}
