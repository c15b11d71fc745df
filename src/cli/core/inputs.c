/* SPDX-License-Identifier: MIT */
#include "cli/core/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cpus.h"
#include "cli/core/cli.h"
#include "cli/core/progress.h"
#include "cli/core/recordings.h"
#include "cli/settings/config.h"
#include "read/core/source.h"

static sl_status load_one(sl_inputs *inputs, const char *path, sl_error *err) {
    sl_progress progress;
    sl_progress_begin(&progress, SL_PROGRESS_BYTES, "reading", path);
    sl_load_options options = {.progress = sl_progress_update,
                               .progress_ctx = &progress,
                               .skips_bad = inputs->wishes & SL_INPUTS_SKIP_BAD};
    sl_trace *trace;
    sl_status status = sl_trace_load(path, &options, &trace, err);
    sl_progress_end(&progress);
    SL_TRY(status);
    trace->code = &sl_config_get()->code;
    if (sl_vec_push(&inputs->traces, trace))
        return SL_OK;
    sl_trace_free(trace);
    return sl_fail_no_memory(err, "the list of inputs");
}

/* ---- folders ---- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A file of a folder that cannot be read. If it is of another kind it joins the skipped files; a
 * damaged input is reported with its reason, or ends the command. */
static sl_status take_failure(const sl_inputs *inputs, sl_recordings *list, const char *path,
                              const sl_error *failed) {
    if (failed->code == SL_E_FOREIGN) {
        sl_left_out_add(&list->left_out, base_name(path));
        return SL_OK;
    }
    if (failed->code == SL_E_NOMEM || (inputs->wishes & SL_INPUTS_STRICT))
        return failed->code;
    return SL_OK;
}

/* Every readable file of it. Where none is, the first failure is that of the folder. */
static sl_status load_folder(sl_inputs *inputs, sl_recordings *list, const char *folder,
                             sl_error *err) {
    size_t before = inputs->traces.cnt;
    sl_error first = SL_ERROR_INIT;
    for (size_t i = 0; i < list->paths.cnt; i++) {
        sl_error here = SL_ERROR_INIT;
        if (load_one(inputs, list->paths.at[i], &here) == SL_OK)
            continue;
        if (take_failure(inputs, list, list->paths.at[i], &here) < 0) {
            *err = here;
            return here.code;
        }
        if (first.code == 0)
            first = here;
        else if (here.code != SL_E_FOREIGN)
            sl_cli_complain("skipped: %s", here.text);
    }
    if (inputs->traces.cnt == before) {
        *err = first;
        return first.code;
    }
    if (first.code < 0 && first.code != SL_E_FOREIGN)
        sl_cli_complain("skipped: %s", first.text);
    sl_left_out_say(&list->left_out, folder);
    return SL_OK;
}

/* Ranks, or main processes where there is no rank; all of them where neither was recorded. */
static sl_process_role main_role(const sl_process_place *places, size_t cnt) {
    sl_process_role found = SL_PROCESS_NONE;
    for (size_t i = 0; i < cnt; i++)
        if (places[i].role == SL_PROCESS_RANK ||
            (places[i].role == SL_PROCESS_MAIN && found == SL_PROCESS_NONE))
            found = places[i].role;
    return found;
}

static void say_left_out(const char *path, const size_t cnts[SL_PROCESS_ROLE_LIMIT]) {
    char text[200] = "";
    size_t used = 0;
    for (int role = 0; role < SL_PROCESS_ROLE_LIMIT; role++)
        if (cnts[role] && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu %s", used ? ", " : "",
                                     cnts[role],
                                     sl_process_role_words((sl_process_role)role, cnts[role]));
    if (used)
        sl_cli_complain("'%s': skipped %s", path, text);
}

static sl_status keep_mains(sl_inputs *inputs, const char *path, size_t first, sl_error *err) {
    size_t cnt = inputs->traces.cnt - first, kept = first;
    size_t left_out[SL_PROCESS_ROLE_LIMIT] = {0};
    sl_process_place *places = calloc(cnt + 1, sizeof *places);
    if (!places)
        return sl_fail_no_memory(err, "the list of inputs");
    sl_process_tree_find((const sl_trace *const *)inputs->traces.at + first, cnt, places);
    sl_process_role wanted = main_role(places, cnt);
    for (size_t i = 0; i < cnt; i++) {
        sl_trace *trace = inputs->traces.at[first + i];
        bool is_kept = wanted == SL_PROCESS_NONE || places[i].role == wanted ||
                       places[i].role == SL_PROCESS_NONE;
        left_out[places[i].role] += !is_kept;
        if (is_kept)
            inputs->traces.at[kept++] = trace;
        else
            sl_trace_free(trace);
    }
    inputs->traces.cnt = kept;
    free(places);
    say_left_out(path, left_out);
    return SL_OK;
}

static sl_status load_path(sl_inputs *inputs, const char *path, sl_error *err) {
    size_t first = inputs->traces.cnt;
    sl_recordings list;
    SL_TRY(sl_recordings_find(&list, path, SL_FIND_INPUTS, err));
    sl_status status = list.is_folder ? load_folder(inputs, &list, path, err)
                                      : load_one(inputs, list.paths.at[0], err);
    if (status >= 0 && list.is_folder && (inputs->wishes & SL_INPUTS_MAINS))
        status = keep_mains(inputs, path, first, err);
    sl_recordings_fini(&list);
    if (status >= 0 && !sl_vec_push(&inputs->ends, inputs->traces.cnt))
        status = sl_fail_no_memory(err, "the list of inputs");
    return status;
}

sl_status sl_inputs_load_as(sl_inputs *inputs, const char *const *paths, size_t cnt,
                            unsigned wishes, sl_error *err) {
    sl_error local = SL_ERROR_INIT;
    sl_status status = SL_OK;
    err = err ? err : &local;
    *inputs = (sl_inputs){.wishes = wishes};
    for (size_t i = 0; i < cnt && status >= 0; i++)
        status = load_path(inputs, paths[i], err);
    if (status >= 0)
        status = sl_run_new((const sl_trace *const *)inputs->traces.at, inputs->traces.cnt,
                            &inputs->run, err);
    if (status >= 0)
        inputs->run->effort.thread_cnt = sl_usable_cpus();
    if (status < 0)
        sl_inputs_fini(inputs);
    return status < 0 ? status : SL_OK;
}

sl_status sl_inputs_load(sl_inputs *inputs, const char *const *paths, size_t cnt, sl_error *err) {
    return sl_inputs_load_as(inputs, paths, cnt, 0, err);
}

void sl_inputs_fini(sl_inputs *inputs) {
    sl_run_free(inputs->run);
    inputs->run = NULL;
    for (size_t i = 0; i < inputs->traces.cnt; i++)
        sl_trace_free(inputs->traces.at[i]);
    sl_vec_free(&inputs->traces);
    sl_vec_free(&inputs->ends);
}

sl_status sl_inputs_check_device(const sl_run_input *input, sl_device_choice choice,
                                 sl_error *err) {
    char list[120] = "";
    size_t used = 0;
    if (!choice.is_one || sl_run_find_device(input, choice.device))
        return SL_OK;
    for (size_t i = 0; i < input->device_cnt && used < sizeof list; i++)
        if (&input->devices[i] == sl_run_find_device(input, input->devices[i].events->device))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", i ? ", " : "",
                                     input->devices[i].events->device);
    return sl_fail(err, SL_E_USAGE, "'%s' has no device %d; it has %s", input->trace->path,
                   choice.device, *list ? list : "none");
}

/* The time of a moment on the device that has the highest peak among the chosen ones. */
static sl_status time_of_state(const sl_run_input *input, sl_device_choice choice, sl_moment moment,
                               int64_t *us, sl_error *err) {
    const sl_run_device *highest = NULL;
    uint64_t peak_bytes = 0;
    sl_state state;
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_device_trace *device = input->devices[i].events;
        const sl_replay *replay;
        if (device->events.cnt == 0 || (choice.is_one && device->device != choice.device))
            continue;
        SL_TRY(sl_run_replay(&input->devices[i], &replay, err));
        if (!highest || replay->peak_requested.bytes >= peak_bytes)
            highest = &input->devices[i];
        if (replay->peak_requested.bytes > peak_bytes)
            peak_bytes = replay->peak_requested.bytes;
    }
    if (!highest)
        return SL_OK;
    SL_TRY(sl_run_state_at(highest, moment, &state, err));
    *us = sl_replay_time(state.replay, state.event);
    return SL_OK;
}

/* An offset from the command line may be as large as it likes; a moment outside saturates. */
static int64_t add_us(int64_t time_us, int64_t more_us) {
    int64_t sum;
    if (__builtin_add_overflow(time_us, more_us, &sum))
        return more_us < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

sl_status sl_inputs_resolve_time(const sl_run_input *input, sl_device_choice choice,
                                 sl_opt_time moment, int64_t *us, sl_error *err) {
    sl_span span = {0};
    if (!sl_run_span(input, choice.is_one ? sl_run_find_device(input, choice.device) : NULL, &span))
        return sl_fail(err, SL_E_FORMAT, "'%s' has no events, so it has no moments to choose from",
                       input->trace->path);
    switch (moment.anchor) {
    case SL_ANCHOR_CLOCK: *us = moment.us; break;
    case SL_ANCHOR_START: *us = add_us(span.first_us, moment.us); break;
    case SL_ANCHOR_END: *us = add_us(span.last_us, moment.us); break;
    case SL_ANCHOR_EXIT: *us = span.exit_us; break;
    case SL_ANCHOR_PEAK: return time_of_state(input, choice, (sl_moment){SL_AT_PEAK, 0}, us, err);
    case SL_ANCHOR_STEP:
        return time_of_state(input, choice, (sl_moment){SL_AT_STEP, moment.us}, us, err);
    }
    return SL_OK;
}

sl_status sl_inputs_find_moment(const sl_run_input *input, sl_device_choice choice,
                                sl_opt_time given, sl_moment *moment, sl_error *err) {
    *moment = (sl_moment){SL_AT_TIME, 0};
    if (given.anchor == SL_ANCHOR_PEAK)
        moment->kind = SL_AT_PEAK;
    else if (given.anchor == SL_ANCHOR_EXIT)
        moment->kind = SL_AT_EXIT;
    else if (given.anchor == SL_ANCHOR_STEP)
        *moment = (sl_moment){SL_AT_STEP, given.us};
    else if (given.anchor == SL_ANCHOR_END && given.us == 0)
        moment->kind = SL_AT_END;
    else
        return sl_inputs_resolve_time(input, choice, given, &moment->value, err);
    return SL_OK;
}
