/* SPDX-License-Identifier: MIT */
#include "model/event.h"

#include "base/core/str.h"

const sl_event_row sl_event_rows[SL_EV_LIMIT] = {
    [SL_EV_UNKNOWN] = {.name = "unknown", .meaning = "a kind that this version does not know"},
#define SL_EVENT_ROW(number, id, text, effect, whose, in_trace, in_torch, address, words) \
    [number] = {.name = (text),                                                           \
                .meaning = (words),                                                       \
                .domain = SL_DOMAIN_##whose,                                              \
                .addr = SL_ADDR_##address,                                                \
                .is_in_trace = (in_trace),                                                \
                .is_in_torch = (in_torch)},
    SL_EVENT_KIND_MAP(SL_EVENT_ROW)
#undef SL_EVENT_ROW
};

const char *sl_event_kind_name(sl_event_kind kind) {
    return sl_event_row_of(kind)->name;
}

const char *sl_event_kind_meaning(sl_event_kind kind) {
    return sl_event_row_of(kind)->meaning;
}

sl_event_kind sl_event_kind_find(const char *name, size_t len) {
    for (unsigned kind = 1; kind < SL_EV_LIMIT; kind++)
        if (sl_str_is((sl_str){name, len}, sl_event_rows[kind].name))
            return (sl_event_kind)kind;
    return SL_EV_UNKNOWN;
}
