/* SPDX-License-Identifier: MIT */
#include "run/ledger.h"

#include <stdio.h>
#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "model/counter_series.h"

static const sl_maybe_u64 unknown = {0, false};

static const struct {
    const char *name, *label, *meaning;
} kinds[] = {
#define KIND_ROW(name, text, label, meaning) {text, label, meaning},
    SL_LEDGER_KIND_MAP(KIND_ROW)
#undef KIND_ROW
};

const char *sl_ledger_kind_name(sl_ledger_kind kind) {
    return kinds[kind].name;
}

const char *sl_ledger_meaning(const sl_ledger_row *row) {
    return row->has_tag ? sl_tag_meaning(row->tag) : kinds[row->kind].meaning;
}

const char *sl_ledger_label(char buf[SL_LEDGER_LABEL_CAP], const sl_ledger_row *row) {
    if (row->kind == SL_LEDGER_LIBRARY)
        snprintf(buf, SL_LEDGER_LABEL_CAP, "%.*s", (int)row->library.len, row->library.ptr);
    else if (row->has_tag)
        snprintf(buf, SL_LEDGER_LABEL_CAP, "%s: %s", kinds[row->kind].label,
                 row->tag == SL_TAG_UNKNOWN ? "without a tag" : sl_tag_name(row->tag));
    else
        snprintf(buf, SL_LEDGER_LABEL_CAP, "%s", kinds[row->kind].label);
    return buf;
}

/* ---- rows ---- */

static bool add_tensors(sl_ledger_rows *rows, bool has_tags) {
    sl_ledger_row row = {.kind = SL_LEDGER_TENSORS, .has_tag = has_tags};
    for (int tag = SL_TAG_UNKNOWN + 1; has_tags && tag < SL_TAG_LIMIT; tag++) {
        row.tag = (sl_tag)tag;
        row.bytes = sl_known_u64(0);
        if (!sl_vec_push(rows, row))
            return false;
    }
    row.tag = SL_TAG_UNKNOWN; /* last: it takes what the others leave */
    row.bytes = unknown;
    return sl_vec_push(rows, row);
}

bool sl_ledger_make_rows(sl_ledger_rows *rows, bool has_tags) {
    bool ok = add_tensors(rows, has_tags);
    for (int kind = SL_LEDGER_CACHE; ok && kind < SL_LEDGER_KIND_CNT; kind++)
        if (kind != SL_LEDGER_LIBRARY)
            ok = sl_vec_push(rows, ((sl_ledger_row){.kind = (sl_ledger_kind)kind}));
    return ok;
}

bool sl_ledger_add_library(sl_ledger_rows *rows, sl_str name, uint64_t bytes) {
    size_t at = 0;
    while (at < rows->cnt && rows->at[at].kind <= SL_LEDGER_CACHE)
        at++;
    for (; at < rows->cnt && rows->at[at].kind == SL_LEDGER_LIBRARY; at++) {
        sl_ledger_row *row = &rows->at[at];
        if (sl_str_equals(row->library, name)) {
            row->bytes = sl_known_u64(row->bytes.value + bytes);
            return true;
        }
    }
    if (!sl_vec_reserve(rows, 1))
        return false;
    memmove(rows->at + at + 1, rows->at + at, (rows->cnt - at) * sizeof *rows->at);
    rows->at[at] =
        (sl_ledger_row){.kind = SL_LEDGER_LIBRARY, .library = name, .bytes = sl_known_u64(bytes)};
    rows->cnt++;
    return true;
}

/* ---- balance ---- */

static sl_maybe_u64 less(sl_maybe_u64 a, sl_maybe_u64 b) {
    if (!a.known || !b.known || a.value < b.value)
        return unknown;
    return sl_known_u64(a.value - b.value);
}

static uint64_t sum_of(const sl_ledger_rows *rows, sl_ledger_kind kind) {
    uint64_t sum = 0;
    for (size_t i = 0; i < rows->cnt; i++)
        if (rows->at[i].kind == kind && rows->at[i].bytes.known)
            sum += rows->at[i].bytes.value;
    return sum;
}

static sl_ledger_row *row_of(sl_ledger_rows *rows, sl_ledger_kind kind) {
    size_t i = 0;
    while (rows->at[i].kind != kind)
        i++;
    return &rows->at[i];
}

/* Tags come from the events, the total from the allocator; what no tag explains has none. */
static void balance_tensors(sl_ledger_rows *rows, sl_maybe_u64 allocated) {
    size_t last = 0;
    uint64_t tagged = 0;
    while (rows->at[last + 1].kind == SL_LEDGER_TENSORS)
        tagged += rows->at[last++].bytes.value;
    rows->at[last].bytes = less(allocated, sl_known_u64(tagged));
    for (size_t i = 0; i < last; i++)
        rows->at[i].bytes.known = allocated.known;
}

static void balance_libraries(sl_ledger_rows *rows, const sl_ledger_figures *figures) {
    uint64_t reserved = sl_u64_or_0(figures->reserved);
    for (size_t i = 0; i < rows->cnt; i++) {
        sl_ledger_row *row = &rows->at[i];
        if (row->kind != SL_LEDGER_LIBRARY)
            continue;
        uint64_t own = sl_library_serves_allocator(row->library) ? row->bytes.value : 0;
        own = sl_min_u64(own, reserved);
        reserved -= own;
        row->bytes = (sl_maybe_u64){row->bytes.value - own, figures->libraries_known};
    }
}

/* What is in use less the rows that are known; a known process stands for its rows. */
static sl_maybe_u64 rest_of(const sl_ledger_figures *figures, uint64_t named) {
    sl_maybe_u64 rest =
        less(figures->card_used, figures->process.known ? figures->process : sl_known_u64(named));
    if (figures->others.known)
        rest = less(rest, figures->others);
    return figures->driver.known ? less(rest, figures->driver) : rest;
}

void sl_ledger_reconcile(sl_ledger_figures *figures) {
    uint64_t parts =
        sl_u64_or_0(figures->process) + sl_u64_or_0(figures->others) + sl_u64_or_0(figures->driver);
    if (figures->card_used.known && figures->card_used.value < parts &&
        parts <= sl_u64_or_0(figures->card_total))
        figures->card_used.value = parts;
}

void sl_ledger_balance(sl_ledger_rows *rows, const sl_ledger_figures *figures) {
    balance_tensors(rows, figures->allocated);
    balance_libraries(rows, figures);
    /* A process that never used PyTorch's allocator has nothing in it. */
    uint64_t named = sl_u64_or_0(figures->reserved) + sum_of(rows, SL_LEDGER_LIBRARY);
    row_of(rows, SL_LEDGER_CACHE)->bytes = less(figures->reserved, figures->allocated);
    row_of(rows, SL_LEDGER_CONTEXT)->bytes = less(figures->process, sl_known_u64(named));
    row_of(rows, SL_LEDGER_OTHERS)->bytes = figures->others;
    row_of(rows, SL_LEDGER_DRIVER)->bytes = figures->driver;
    row_of(rows, SL_LEDGER_REST)->bytes = rest_of(figures, named);
}
