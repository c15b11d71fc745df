/* SPDX-License-Identifier: MIT */
#include "read/core/trace_numbers.h"

typedef struct job {
    sl_trace_numbers *numbers;
    sl_trace *trace;
    sl_error *err;
} job;

static sl_status resolve(const job *j, const sl_number_ids *list, const char *what, uint32_t *id) {
    if (*id >= list->cnt)
        return sl_fail(j->err, SL_E_FORMAT, "%s %u is named; expected a number below %zu", what,
                       *id, list->cnt);
    *id = list->at[*id];
    return SL_OK;
}

static sl_status resolve_string(const job *j, uint32_t *id) {
    return resolve(j, &j->numbers->strings, "string", id);
}

static sl_status resolve_stack(const job *j, uint32_t *id) {
    return resolve(j, &j->numbers->stacks, "stack", id);
}

static sl_status keep_id(const job *j, sl_number_ids *list, uint32_t id) {
    return id != SL_STACK_NONE && sl_vec_push(list, id) ? SL_OK
                                                        : sl_fail_no_memory(j->err, "a trace");
}

static sl_status resolve_frames(const job *j) {
    for (size_t i = 0; i < j->numbers->raw_frames.cnt; i++) {
        sl_frame frame = j->numbers->raw_frames.at[i];
        SL_TRY(resolve_string(j, &frame.function));
        SL_TRY(resolve_string(j, &frame.file));
        SL_TRY(keep_id(j, &j->numbers->frames, sl_stacks_intern_frame(&j->trace->stacks, frame)));
    }
    return SL_OK;
}

static sl_status resolve_stacks(const job *j) {
    sl_trace_numbers *n = j->numbers;
    size_t from = 0;
    for (size_t i = 0; i < n->raw_stacks.cnt; i++)
        SL_TRY(resolve(j, &n->frames, "frame", &n->raw_stacks.at[i]));
    for (size_t i = 0; i < n->raw_ends.cnt; i++) {
        size_t cnt = n->raw_ends.at[i] - from;
        const uint32_t *ids = cnt ? n->raw_stacks.at + from : NULL;
        SL_TRY(keep_id(j, &n->stacks, sl_stacks_intern(&j->trace->stacks, ids, cnt)));
        from = n->raw_ends.at[i];
    }
    return SL_OK;
}

static sl_status resolve_device(const job *j, sl_device_trace *device) {
    for (size_t i = 0; i < device->events.cnt; i++)
        SL_TRY(resolve_stack(j, &device->events.stack_id[i]));
    for (size_t i = 0; i < device->segments.cnt; i++)
        SL_TRY(resolve_stack(j, &device->segments.at[i].stack_id));
    for (size_t i = 0; i < device->blocks.cnt; i++)
        SL_TRY(resolve_stack(j, &device->blocks.at[i].stack_id));
    return SL_OK;
}

/* A missing name is number 0, which is the empty string also where the file has no strings. */
static sl_status resolve_name(const job *j, uint32_t *id) {
    return *id == 0 && j->numbers->strings.cnt == 0 ? SL_OK : resolve_string(j, id);
}

static sl_status resolve_lists(const job *j) {
    sl_trace *trace = j->trace;
    for (size_t i = 0; i < trace->marks.cnt; i++)
        SL_TRY(resolve_string(j, &trace->marks.at[i].name));
    for (size_t i = 0; i < trace->alerts.cnt; i++) {
        SL_TRY(resolve_string(j, &trace->alerts.at[i].text));
        SL_TRY(resolve_string(j, &trace->alerts.at[i].severity));
    }
    for (size_t i = 0; i < trace->counters.cnt; i++) {
        SL_TRY(resolve_name(j, &trace->counters.at[i].name));
        SL_TRY(resolve_name(j, &trace->counters.at[i].unit));
    }
    return resolve_name(j, &trace->settings.conf);
}

sl_status sl_trace_numbers_resolve(sl_trace_numbers *numbers, sl_trace *trace, sl_error *err) {
    job j = {numbers, trace, err};
    SL_TRY(resolve_frames(&j));
    SL_TRY(resolve_stacks(&j));
    SL_TRY(resolve_lists(&j));
    for (size_t i = 0; i < trace->devices.cnt; i++)
        SL_TRY(resolve_device(&j, trace->devices.at[i]));
    return SL_OK;
}

void sl_trace_numbers_fini(sl_trace_numbers *numbers) {
    sl_vec_free(&numbers->strings);
    sl_vec_free(&numbers->raw_frames);
    sl_vec_free(&numbers->raw_stacks);
    sl_vec_free(&numbers->raw_ends);
    sl_vec_free(&numbers->frames);
    sl_vec_free(&numbers->stacks);
}
