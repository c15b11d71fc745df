/* SPDX-License-Identifier: MIT */
#include "analyze/samples/collective_marks.h"

#include <string.h>

#include "analyze/samples/an_collective.h"

/* Without underscores: a text is compared with its own underscores removed, which matches all that
 * the plain comparison would. */
static const char *const tokens[] = {
    "nccl",      "collective",    "communication", "allreduce",
    "allgather", "reducescatter", "broadcast",     "barrier",
};

static bool token_starts(const char *text, size_t len, size_t at, const char *token) {
    for (; *token; at++) {
        if (at >= len)
            return false;
        char c = text[at];
        if (c == '_' || c == '-')
            continue;
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != *token++)
            return false;
    }
    return true;
}

bool sl_collective_has_token(sl_str text) {
    for (size_t at = 0; at < text.len; at++)
        for (size_t i = 0; i < SL_COUNT_OF(tokens); i++)
            if (text.ptr[at] != '_' && text.ptr[at] != '-' &&
                token_starts(text.ptr, text.len, at, tokens[i]))
                return true;
    return false;
}

/* Length of the string that starts after a quote, without its closing quote. */
static size_t string_length(sl_str json, size_t at) {
    size_t end = at;
    while (end < json.len && json.ptr[end] != '"')
        end += json.ptr[end] == '\\' ? 2 : 1;
    return (end < json.len ? end : json.len) - at;
}

/* Any string value of a JSON object without blanks, at any depth; keys do not count. */
static bool metadata_has_token(sl_str json) {
    for (size_t at = 0; at < json.len; at++) {
        if (json.ptr[at] != '"')
            continue;
        size_t len = string_length(json, at + 1), end = at + 1 + len;
        bool is_key = end + 1 < json.len && json.ptr[end + 1] == ':';
        if (!is_key && sl_collective_has_token((sl_str){json.ptr + at + 1, len}))
            return true;
        at = end;
    }
    return false;
}

sl_status sl_collective_marks_init(sl_collective_marks *marks, const sl_telemetry *set,
                                   sl_error *err) {
    size_t cnt = set->strings.strings.cnt + 1;
    *marks = (sl_collective_marks){set, calloc(cnt, 1), calloc(cnt, 1)};
    if (!marks->text_state || !marks->metadata_state)
        return sl_fail_no_memory(err, "the marks of collective operations");
    return SL_OK;
}

void sl_collective_marks_fini(sl_collective_marks *marks) {
    free(marks->text_state);
    free(marks->metadata_state);
    *marks = (sl_collective_marks){0};
}

static bool look(uint8_t *state, uint32_t id, sl_str text, bool (*has_token)(sl_str)) {
    if (!state[id])
        state[id] = has_token(text) ? 2 : 1;
    return state[id] == 2;
}

static bool text_marks(sl_collective_marks *marks, uint32_t id) {
    return id != SL_TM_NO_TEXT &&
           look(marks->text_state, id, sl_tm_text(marks->set, id), sl_collective_has_token);
}

bool sl_collective_marks_has(sl_collective_marks *marks, const sl_tm_record *record) {
    return text_marks(marks, record->event_type) || text_marks(marks, record->context) ||
           look(marks->metadata_state, record->metadata, sl_tm_metadata(marks->set, record),
                metadata_has_token);
}
