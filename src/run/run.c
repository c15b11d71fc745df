/* SPDX-License-Identifier: MIT */
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/nearest.h"
#include "base/core/order.h"
#include "run/work_end.h"
#include "telemetry/telemetry.h"

struct sl_device_facts {
    sl_replay *replay;
    sl_replay *to_exit; /* NULL where nothing was torn down, too */
    sl_ledger *ledger;
    sl_steps *steps;
    sl_run_slot whatif;
};

/* Sites by one grouping and filter. */
typedef struct grouping {
    sl_group_by group_by;
    char *filter; /* owned; NULL = everything */
    sl_sites sites;
} grouping;

struct sl_input_facts {
    SL_VEC(grouping *) groupings; /* owned */
};

static sl_status no_memory(const sl_run_input *input, sl_error *err) {
    return sl_fail_no_memory(err, "'%s'", input->trace->path);
}

/* ---- making and freeing ---- */

/* A pair of device and rank in a file of samples. */
typedef struct ranked {
    int device, rank;
} ranked;

typedef SL_VEC(ranked) ranked_list;

static int compare_ranked(ranked a, ranked b) {
    if (a.device != b.device)
        return a.device < b.device ? -1 : 1;
    return (a.rank > b.rank) - (a.rank < b.rank);
}

/* Into its place in the order, once. */
static bool add_ranked(ranked_list *list, ranked pair) {
    size_t low = 0, high = list->cnt;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ranked(list->at[middle], pair) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < list->cnt && compare_ranked(list->at[low], pair) == 0)
        return true;
    if (!sl_vec_push(list, pair))
        return false;
    memmove(list->at + low + 1, list->at + low, (list->cnt - 1 - low) * sizeof *list->at);
    list->at[low] = pair;
    return true;
}

/* Stays empty where all samples are of one rank, or of too many. */
static bool find_ranks(const sl_trace *trace, ranked_list *list) {
    const sl_telemetry *set = trace->telemetry;
    bool is_several = false;
    for (size_t i = 0; set && i < set->records.cnt && list->cnt <= SL_RUN_RANKED_MAX; i++) {
        const sl_tm_record *record = &set->records.at[i];
        is_several |= record->rank != set->records.at[0].rank;
        if (!add_ranked(list, (ranked){record->device_id, record->rank}))
            return false;
    }
    if (!is_several || list->cnt > SL_RUN_RANKED_MAX)
        list->cnt = 0;
    return true;
}

static bool add_device(sl_run_input *input, const sl_device_trace *events, const ranked *pair) {
    sl_run_device *device = &input->devices[input->device_cnt];
    *device = (sl_run_device){
        .input = input, .events = events, .has_rank = pair, .rank = pair ? pair->rank : 0};
    device->facts = calloc(1, sizeof *device->facts);
    input->device_cnt += device->facts != NULL;
    return device->facts;
}

static bool add_devices(sl_run_input *input, const ranked_list *ranks) {
    const sl_trace *trace = input->trace;
    input->devices = calloc(trace->devices.cnt + ranks->cnt + 1, sizeof *input->devices);
    bool ok = input->devices;
    for (size_t i = 0; ok && i < trace->devices.cnt; i++) {
        size_t before = input->device_cnt;
        for (size_t k = 0; ok && k < ranks->cnt; k++)
            if (ranks->at[k].device == trace->devices.at[i]->device)
                ok = add_device(input, trace->devices.at[i], &ranks->at[k]);
        if (ok && input->device_cnt == before)
            ok = add_device(input, trace->devices.at[i], NULL);
    }
    return ok;
}

static bool init_input(const sl_run *run, size_t number, const sl_trace *trace) {
    sl_run_input *input = &run->inputs[number];
    *input = (sl_run_input){.run = run, .trace = trace, .number = number};
    input->facts = calloc(1, sizeof *input->facts);
    ranked_list ranks = {0};
    bool ok = input->facts && find_ranks(trace, &ranks) && add_devices(input, &ranks);
    sl_vec_free(&ranks);
    return ok;
}

static void fini_device(sl_run_device *device) {
    sl_run_slot *whatif = &device->facts->whatif;
    if (whatif->fact) /* borrows from the others */
        whatif->free(whatif->fact);
    if (device->facts->steps)
        sl_steps_fini(device->facts->steps);
    free(device->facts->steps);
    sl_ledger_free(device->facts->ledger);
    sl_replay_free(device->facts->replay);
    sl_replay_free(device->facts->to_exit);
    free(device->facts);
}

static void free_grouping(grouping *group) {
    sl_sites_fini(&group->sites);
    free(group->filter);
    free(group);
}

static void fini_input(sl_run_input *input) {
    for (size_t i = 0; i < input->device_cnt; i++)
        fini_device(&input->devices[i]);
    for (size_t i = 0; input->facts && i < input->facts->groupings.cnt; i++)
        free_grouping(input->facts->groupings.at[i]);
    if (input->facts)
        sl_vec_free(&input->facts->groupings);
    free(input->facts);
    free(input->devices);
}

static bool find_places(sl_run *run, const sl_trace *const *traces) {
    sl_process_place *places = calloc(run->input_cnt + 1, sizeof *places);
    if (!places)
        return false;
    sl_process_tree_find(traces, run->input_cnt, places);
    for (size_t i = 0; i < run->input_cnt; i++)
        run->inputs[i].place = places[i];
    free(places);
    return true;
}

sl_status sl_run_new(const sl_trace *const *traces, size_t cnt, sl_run **out, sl_error *err) {
    sl_run *run = calloc(1, sizeof *run);
    bool ok = run && (run->inputs = calloc(cnt + 1, sizeof *run->inputs)) != NULL;
    for (size_t i = 0; ok && i < cnt; i++) {
        run->input_cnt++;
        ok = init_input(run, i, traces[i]);
    }
    if (!ok || !find_places(run, traces)) {
        sl_run_free(run);
        return sl_fail_no_memory(err, "a run of %zu inputs", cnt);
    }
    *out = run;
    return SL_OK;
}

void sl_run_free(sl_run *run) {
    if (!run)
        return;
    for (size_t i = 0; i < run->input_cnt; i++)
        fini_input(&run->inputs[i]);
    free(run->inputs);
    free(run);
}

/* ---- finding ---- */

const sl_run_device *sl_run_find_device(const sl_run_input *input, int device) {
    for (size_t i = 0; i < input->device_cnt; i++)
        if (input->devices[i].events->device == device)
            return &input->devices[i];
    return NULL;
}

bool sl_run_has_sample(const sl_run_device *device, const sl_tm_record *record) {
    return record->device_id == device->events->device &&
           (!device->has_rank || record->rank == device->rank);
}

/* ---- facts ---- */

sl_status sl_run_replay(const sl_run_device *device, const sl_replay **out, sl_error *err) {
    if (!device->facts->replay)
        SL_TRY(sl_replay_new(device->input->trace, device->events, &device->facts->replay, err));
    *out = device->facts->replay;
    return SL_OK;
}

sl_status sl_run_replay_to_exit(const sl_run_device *device, const sl_replay **out, sl_error *err) {
    SL_TRY(sl_run_replay(device, out, err));
    if ((*out)->event_cnt == device->events->events.cnt)
        return SL_OK;
    if (!device->facts->to_exit)
        SL_TRY(sl_replay_new_to_exit(device->input->trace, device->events, &device->facts->to_exit,
                                     err));
    *out = device->facts->to_exit;
    return SL_OK;
}

sl_status sl_run_ledger(const sl_run_device *device, const sl_ledger **out, sl_error *err) {
    const sl_replay *replay;
    if (!device->facts->ledger) {
        SL_TRY(sl_run_replay(device, &replay, err));
        SL_TRY(sl_ledger_new(device->input->trace, replay, &device->facts->ledger, err));
    }
    *out = device->facts->ledger;
    return SL_OK;
}

sl_status sl_run_steps(const sl_run_device *device, const sl_steps **out, sl_error *err) {
    if (!device->facts->steps) {
        const sl_replay *replay;
        const sl_sites *lines;
        SL_TRY(sl_run_replay(device, &replay, err));
        SL_TRY(sl_run_lines(device->input, &lines, err));
        sl_steps *steps = calloc(1, sizeof *steps);
        if (!steps || !sl_steps_find(steps, replay, lines->classes, 0, replay->event_cnt)) {
            if (steps)
                sl_steps_fini(steps);
            free(steps);
            return no_memory(device->input, err);
        }
        device->facts->steps = steps;
    }
    *out = device->facts->steps;
    return SL_OK;
}

sl_run_slot *sl_run_whatif_slot(const sl_run_device *device) {
    return &device->facts->whatif;
}

static bool is_same_filter(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static sl_status add_grouping(const sl_run_input *input, sl_group_by group_by, const char *filter,
                              sl_error *err) {
    grouping *group = calloc(1, sizeof *group);
    if (!group || !sl_vec_reserve(&input->facts->groupings, 1) ||
        (filter && !(group->filter = strdup(filter)))) {
        free(group);
        return no_memory(input, err);
    }
    group->group_by = group_by;
    sl_status status = sl_sites_init(&group->sites, input->trace, group_by, filter, err);
    if (status < 0) {
        free_grouping(group);
        return status;
    }
    input->facts->groupings.at[input->facts->groupings.cnt++] = group;
    return SL_OK;
}

sl_status sl_run_sites(const sl_run_input *input, sl_group_by group_by, const char *filter,
                       const sl_sites **out, sl_error *err) {
    size_t i = 0;
    while (i < input->facts->groupings.cnt &&
           (input->facts->groupings.at[i]->group_by != group_by ||
            !is_same_filter(input->facts->groupings.at[i]->filter, filter)))
        i++;
    if (i == input->facts->groupings.cnt)
        SL_TRY(add_grouping(input, group_by, filter, err));
    *out = &input->facts->groupings.at[i]->sites;
    return SL_OK;
}

/* ---- filters ---- */

/* Offers the words of a site that a user may have meant: the file's name, the function. */
static void offer_words(sl_nearest *nearest, sl_site site) {
    sl_frame frame;
    if (!sl_site_frame(site, &frame))
        return;
    sl_str file = sl_strtab_get(&site.trace->strings, frame.file);
    sl_str function = sl_strtab_get(&site.trace->strings, frame.function);
    const char *slash = file.len ? memrchr(file.ptr, '/', file.len) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - file.ptr) : 0;
    sl_str name = {file.ptr + skip, file.len - skip};
    sl_str stem = name;
    for (size_t i = 1; i < name.len; i++)
        if (name.ptr[i] == '.')
            stem.len = i;
    sl_nearest_offer(nearest, name);
    sl_nearest_offer(nearest, stem);
    sl_nearest_offer(nearest, function);
}

sl_status sl_run_check_filter(const sl_run *run, sl_group_by group_by, const char *filter,
                              sl_error *err) {
    sl_nearest nearest = {.word = filter};
    char example[SL_FILTER_TEXT_CAP] = "";
    for (size_t i = 0; i < run->input_cnt; i++) {
        const sl_sites *sites;
        SL_TRY(sl_run_sites(&run->inputs[i], group_by, filter, &sites, err));
        if (sl_sites_has_shown(sites))
            return SL_OK;
        for (size_t s = 0; s < sites->sites.cnt; s++) {
            if (sites->sites.at[s].stack_cnt == 0)
                continue;
            offer_words(&nearest, sites->sites.at[s].site);
            if (!example[0] && sites->sites.at[s].site.origin == SL_ORIGIN_LINE)
                sl_site_filter_text(sites->sites.at[s].site, example);
        }
    }
    if (nearest.best[0])
        return sl_fail(err, SL_E_USAGE, "filter '%s' matches no line of code; did you mean '%s'?",
                       filter, nearest.best);
    if (example[0])
        return sl_fail(err, SL_E_USAGE,
                       "filter '%s' matches no line of code; they look like '%.100s'", filter,
                       example);
    return sl_fail(err, SL_E_USAGE,
                   "filter '%s' has nothing to match: the input has no lines of code", filter);
}

/* ---- time ---- */

bool sl_run_has_one_clock(const sl_run *run) {
    for (size_t i = 0; i < run->input_cnt; i++)
        if (!sl_process_is_same_run(run->inputs[0].trace, run->inputs[i].trace))
            return false;
    return run->input_cnt > 0;
}

bool sl_run_is_sampled(const sl_run_input *input) {
    return input->trace->telemetry != NULL;
}

static bool sampled_span(const sl_run_input *input, const sl_run_device *device, sl_span *span) {
    const sl_telemetry *set = input->trace->telemetry;
    bool is_found = false;
    for (size_t i = 0; i < set->records.cnt; i++) {
        int64_t us = set->records.at[i].timestamp_ns / 1000;
        if (device && !sl_run_has_sample(device, &set->records.at[i]))
            continue;
        span->first_us = is_found ? sl_min_i64(span->first_us, us) : us;
        span->last_us = is_found ? sl_max_i64(span->last_us, us) : us;
        is_found = true;
    }
    span->exit_us = span->last_us;
    return is_found;
}

bool sl_run_span(const sl_run_input *input, const sl_run_device *device, sl_span *span) {
    bool is_found = false;
    if (sl_run_is_sampled(input))
        return sampled_span(input, device, span);
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_events *events = &input->devices[i].events->events;
        if (events->cnt == 0 || (device && device != &input->devices[i]))
            continue;
        size_t work_cnt = sl_work_count(input->trace, input->devices[i].events);
        int64_t first = events->time_us[0], exit = events->time_us[events->cnt - 1];
        int64_t last = work_cnt ? events->time_us[work_cnt - 1] : first;
        span->first_us = is_found ? sl_min_i64(span->first_us, first) : first;
        span->last_us = is_found ? sl_max_i64(span->last_us, last) : last;
        span->exit_us = is_found ? sl_max_i64(span->exit_us, exit) : exit;
        is_found = true;
    }
    return is_found;
}
