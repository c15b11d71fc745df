/* SPDX-License-Identifier: MIT */
#include "export/report/process_rows.h"

#include <stdio.h>
#include <string.h>

#define PIDS_SHOWN 8

static const sl_report_input *input_at(const sl_report *report, size_t i) {
    return &report->inputs.at[i];
}

static bool is_same_name(const sl_trace *a, const sl_trace *b) {
    sl_str x = sl_process_name(&a->process), y = sl_process_name(&b->process);
    return x.len == y.len && memcmp(x.ptr, y.ptr, x.len) == 0;
}

/* Main processes and ranks each have their own row. */
static bool is_alike(const sl_report_input *a, const sl_report_input *b) {
    return a->place.role == b->place.role && a->place.parent == b->place.parent &&
           a->place.end == b->place.end && a->place.role != SL_PROCESS_MAIN &&
           a->place.role != SL_PROCESS_RANK &&
           (a->place.role == SL_PROCESS_WORKER || is_same_name(a->trace, b->trace));
}

/* Whether the row of an earlier input covers this one. */
static bool is_told(const sl_report *report, size_t idx) {
    for (size_t i = 0; i < idx; i++)
        if (is_alike(input_at(report, i), input_at(report, idx)))
            return true;
    return false;
}

/* "4 DataLoader workers (27084, 27087, 27090, 27097)" */
static void say_several(char text[SL_WORDS_CAP], const sl_report *report, size_t first,
                        size_t cnt) {
    const sl_report_input *own = input_at(report, first);
    size_t shown = 0;
    snprintf(text, SL_WORDS_CAP, "%zu %s (", cnt, sl_process_role_words(own->place.role, cnt));
    for (size_t i = first; i < report->inputs.cnt && shown < PIDS_SHOWN; i++)
        if (is_alike(own, input_at(report, i)))
            sl_words_append(text, "%s%u", shown++ ? ", " : "",
                            (unsigned)input_at(report, i)->trace->process.pid);
    sl_words_append(text, "%s)", cnt > shown ? ", ..." : "");
}

static void put_row(const sl_report *report, size_t idx,
                    void (*put)(const sl_process_row *row, void *context), void *context) {
    const sl_report_input *own = input_at(report, idx);
    sl_process_row row = {.depth = own->place.depth};
    char label[SL_PROCESS_LABEL_CAP];
    size_t cnt = 0;
    for (size_t i = idx; i < report->inputs.cnt; i++)
        cnt += i == idx || is_alike(own, input_at(report, i));
    if (cnt > 1)
        say_several(row.text, report, idx, cnt);
    else
        snprintf(row.text, sizeof row.text, "%s", sl_process_label(label, own->trace, &own->place));
    if (own->place.role == SL_PROCESS_RANK)
        sl_words_append(row.text, " (process %u)", (unsigned)own->trace->process.pid);
    sl_words_append(row.text, ", %s", sl_process_end_words(own->place.end));
    if (cnt == 1 && own->trace->process.exit_status.known &&
        own->trace->process.exit_status.value != 0)
        sl_words_append(row.text, " with %d", (int)own->trace->process.exit_status.value);
    put(&row, context);
}

/* Input after input; the children of one follow it. */
static void put_below(const sl_report *report, uint32_t parent,
                      void (*put)(const sl_process_row *row, void *context), void *context) {
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_process_place *place = &input_at(report, i)->place;
        if (place->role == SL_PROCESS_NONE || place->parent != parent)
            continue;
        if (!is_told(report, i))
            put_row(report, i, put, context);
        put_below(report, (uint32_t)i, put, context);
    }
}

void sl_process_rows_each(const sl_report *report,
                          void (*put)(const sl_process_row *row, void *context), void *context) {
    size_t cnt = 0;
    for (size_t i = 0; i < report->inputs.cnt; i++)
        cnt += input_at(report, i)->place.role != SL_PROCESS_NONE;
    if (cnt > 1)
        put_below(report, SL_IDX_NONE, put, context);
}

/* ---- notes ---- */

/* A process that was replaced by another program could not close its recording. */
static bool has_note(const sl_report_input *input, const char *text) {
    if (input->place.end == SL_PROCESS_END_REPLACED && strcmp(text, SL_NOTE_KILLED) == 0)
        return false;
    for (size_t i = 0; i < input->trace->notes.cnt; i++)
        if (strcmp(input->trace->notes.at[i].text, text) == 0)
            return true;
    return false;
}

static void put_note(const sl_report *report, size_t idx, const char *text,
                     void (*put)(const char *text, void *context), void *context) {
    char line[2 * SL_WORDS_CAP];
    size_t cnt = 0;
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        bool has_it = has_note(input_at(report, i), text);
        if (has_it && i < idx)
            return;
        cnt += has_it;
    }
    if (cnt > 1) {
        snprintf(line, sizeof line, "%zu inputs: %s", cnt, text);
        put(line, context);
    } else if (cnt == 1)
        put(text, context);
}

void sl_report_notes_each(const sl_report *report, void (*put)(const char *text, void *context),
                          void *context) {
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_trace *trace = input_at(report, i)->trace;
        for (size_t j = 0; j < trace->notes.cnt; j++)
            put_note(report, i, trace->notes.at[j].text, put, context);
    }
}

/* ---- JSON ---- */

static void key_maybe_i32(sl_json_out *json, const char *key, sl_maybe_i32 value) {
    sl_json_key_maybe_u64(json, key, (sl_maybe_u64){(uint64_t)value.value, value.known});
}

void sl_process_json(sl_json_out *json, const sl_report_input *input) {
    const sl_process *process = &input->trace->process;
    const sl_process_place *place = &input->place;
    sl_json_key(json, "process");
    if (!process->is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "role", sl_process_role_name(place->role));
    sl_json_key_u64(json, "pid", process->pid);
    sl_json_key_maybe_u64(json, "parent_pid",
                          (sl_maybe_u64){process->parent_pid, process->parent_pid != 0});
    sl_json_key_maybe_u64(json, "parent_input",
                          (sl_maybe_u64){place->parent, place->parent != SL_IDX_NONE});
    sl_json_key_cstr(json, "host", process->host);
    sl_json_key_cstr(json, "command", process->command);
    key_maybe_i32(json, "rank", process->rank);
    key_maybe_i32(json, "local_rank", process->local_rank);
    key_maybe_i32(json, "world_size", process->world_size);
    sl_json_key_i64(json, "start_us", process->start_us);
    sl_json_key_cstr(json, "ended", sl_process_end_name(place->end));
    key_maybe_i32(json, "exit_status", process->exit_status);
    sl_json_end_object(json);
}
