/* SPDX-License-Identifier: MIT */
#include "memprof/profile_report.h"

#include <string.h>

const sl_profile_thresholds sl_profile_defaults = {
    .memory_leak_ratio = 0.1,
    .fragmentation_ratio = 0.3,
    .inefficient_allocation_ratio = 0.5,
    .slow_function_percentile = 0.9,
    .high_memory_percentile = 0.9,
    .min_calls_for_analysis = 3,
};

const char *sl_profile_impact_name(sl_profile_impact impact) {
    static const char *const names[] = {"low", "medium", "high"};
    return names[impact];
}

/* Splits the calls by function in linear time: counts them first, then places them. */
static bool group_calls(sl_profile_job *job, sl_strtab *names, uint32_t *ids) {
    sl_arena *arena = &job->report->arena;
    if (sl_strtab_intern(names, "", 0) == SL_STR_NONE)
        return false;
    for (size_t i = 0; i < job->cnt; i++) {
        const char *function = job->calls[i].function;
        /* Id 0 is the empty text, so that a function without a name has a group too. */
        ids[i] = sl_strtab_intern(names, function, strlen(function));
        if (ids[i] == SL_STR_NONE)
            return false;
    }
    size_t id_cnt = names->strings.cnt;
    job->groups = sl_arena_alloc(arena, (id_cnt + 1) * sizeof *job->groups);
    uint32_t *place = sl_arena_alloc(arena, (id_cnt + 1) * sizeof *place);
    const sl_profile_call **slots = sl_arena_alloc(arena, (job->cnt + 1) * sizeof *slots);
    if (!job->groups || !place || !slots)
        return false;
    for (size_t i = 0; i < job->cnt; i++) {
        if (!place[ids[i]]) {
            place[ids[i]] = (uint32_t)++job->group_cnt;
            job->groups[job->group_cnt - 1].function = job->calls[i].function;
        }
        job->groups[place[ids[i]] - 1].cnt++;
    }
    for (size_t g = 0; g < job->group_cnt; g++) {
        job->groups[g].calls = slots;
        slots += job->groups[g].cnt;
        job->groups[g].cnt = 0;
    }
    for (size_t i = 0; i < job->cnt; i++) {
        sl_profile_group *group = &job->groups[place[ids[i]] - 1];
        group->calls[group->cnt++] = &job->calls[i];
    }
    return true;
}

static bool run(sl_profile_job *job) {
    sl_strtab names = {0};
    uint32_t *ids = malloc((job->cnt + 1) * sizeof *ids);
    job->room = malloc((job->cnt + 1) * sizeof *job->room);
    bool is_good = ids && job->room && group_calls(job, &names, ids) && sl__profile_patterns(job) &&
                   sl__profile_insights(job);
    if (is_good)
        sl__profile_score(job->report);
    free(ids);
    free(job->room);
    sl_strtab_fini(&names);
    return is_good;
}

sl_status sl_profile_report_new(const sl_profile_call *calls, size_t cnt,
                                const sl_profile_thresholds *thresholds, sl_profile_report **out,
                                sl_error *err) {
    sl_profile_report *report = calloc(1, sizeof *report);
    sl_profile_job job = {.calls = calls,
                          .cnt = cnt,
                          .thresholds = thresholds ? thresholds : &sl_profile_defaults,
                          .report = report};
    if (!report || !run(&job)) {
        sl_profile_report_free(report);
        return sl_fail_no_memory(err, "the report on %zu calls", cnt);
    }
    *out = report;
    return SL_OK;
}

void sl_profile_report_free(sl_profile_report *report) {
    if (!report)
        return;
    sl_vec_free(&report->patterns);
    sl_vec_free(&report->insights);
    sl_arena_fini(&report->arena);
    free(report);
}

/* ---- the score ---- */

static const struct {
    int least;
    const char *grade, *description;
} grades[] = {
    {90, "A", "memory is used well"},
    {80, "B", "good, with room for small improvements"},
    {70, "C", "fair, some problems deserve attention"},
    {60, "D", "poor, several problems cost memory"},
    {0, "F", "serious memory problems"},
};

void sl__profile_score(sl_profile_report *report) {
    static const int by_severity[] = {5, 10, 20}, by_impact[] = {3, 8, 15};
    int score = 100;
    for (size_t i = 0; i < report->patterns.cnt; i++)
        score -= by_severity[report->patterns.at[i].severity];
    for (size_t i = 0; i < report->insights.cnt; i++)
        score -= by_impact[report->insights.at[i].impact];
    score = score > 0 ? score : 0;
    size_t row = 0;
    while (score < grades[row].least)
        row++;
    report->score = (sl_profile_score){
        .score = score,
        .grade = grades[row].grade,
        .description = grades[row].description,
        .issues_found = report->patterns.cnt + report->insights.cnt,
    };
}
