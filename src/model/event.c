/* SPDX-License-Identifier: MIT */
#include "model/event.h"

#include "base/core/str.h"

typedef struct kind_row {
    const char *name;
    const char *meaning;
} kind_row;

static const kind_row kind_rows[SL_EV_LIMIT] = {
    [SL_EV_UNKNOWN] = {"unknown", "a kind this version does not know"},
#define SL_EVENT_ROW(number, name, text, meaning) [number] = {text, meaning},
    SL_EVENT_KIND_MAP(SL_EVENT_ROW)
#undef SL_EVENT_ROW
};

static const kind_row *row_of(sl_event_kind kind) {
    return &kind_rows[(unsigned)kind < SL_EV_LIMIT ? kind : SL_EV_UNKNOWN];
}

const char *sl_event_kind_name(sl_event_kind kind) {
    return row_of(kind)->name;
}

const char *sl_event_kind_meaning(sl_event_kind kind) {
    return row_of(kind)->meaning;
}

sl_event_kind sl_event_kind_find(const char *name, size_t len) {
    for (unsigned kind = 1; kind < SL_EV_LIMIT; kind++)
        if (sl_str_is((sl_str){name, len}, kind_rows[kind].name))
            return (sl_event_kind)kind;
    return SL_EV_UNKNOWN;
}
