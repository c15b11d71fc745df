/* SPDX-License-Identifier: MIT */
/* The texts of out-of-memory errors, by their phrases rather than by version: each phrase names
 * one number, and the versions differ in which phrases they print and in what order. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

static bool take_word(cursor *c, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
        return false;
    c->at += len;
    return true;
}

/* "16.00 MiB", "512 bytes", "1.5GiB". */
static bool take_size(cursor *c, uint64_t *bytes) {
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"bytes", 1},
                 {"KiB", 1024.0},
                 {"MiB", 1048576.0},
                 {"GiB", 1073741824.0},
                 {"TiB", 1099511627776.0},
                 {"KB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"B", 1}};
    double value = 0, scale = 1;
    bool has_digit = false, is_fraction = false;
    for (; c->at < c->end; c->at++) {
        if (*c->at >= '0' && *c->at <= '9') {
            has_digit = true;
            scale *= is_fraction ? 0.1 : 1;
            value = is_fraction ? value + scale * (*c->at - '0') : value * 10 + (*c->at - '0');
        } else if (*c->at == '.' && has_digit && !is_fraction) {
            is_fraction = true;
        } else {
            break;
        }
    }
    skip_spaces(c);
    for (size_t i = 0; has_digit && i < SL_COUNT_OF(units); i++)
        if (take_word(c, units[i].name)) {
            double product = value * units[i].factor;
            *bytes = product < 1.8e19 ? (uint64_t)(product + 0.5) : UINT64_MAX;
            return true;
        }
    return false;
}

static bool find_phrase(const char *text, size_t len, const char *phrase, cursor *c) {
    const char *found = len ? memmem(text, len, phrase, strlen(phrase)) : NULL;
    if (!found)
        return false;
    *c = (cursor){found + strlen(phrase), text + len};
    return true;
}

/* The size that is directly before a phrase: the last number of the text that leads to it. */
static bool size_before(const char *text, size_t len, const char *phrase, uint64_t *bytes) {
    const char *found = len ? memmem(text, len, phrase, strlen(phrase)) : NULL;
    if (!found)
        return false;
    const char *at = found;
    while (at > text && (at[-1] == ' '))
        at--;
    while (at > text && at[-1] != ' ' && at[-1] != '(' && at[-1] != ';') /* the unit */
        at--;
    cursor whole = {at, found};
    if (take_size(&whole, bytes))
        return true;
    while (at > text && at[-1] == ' ')
        at--;
    while (at > text && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.'))
        at--;
    cursor c = {at, found};
    return take_size(&c, bytes);
}

/* Numbers that follow their phrase, and numbers that are before it. */
typedef struct phrase_row {
    const char *phrase;
    size_t field; /* offset of an sl_maybe_u64 in sl_oom_text */
    bool is_before;
} phrase_row;

#define FIELD(name) offsetof(sl_oom_text, name)

static const phrase_row phrase_rows[] = {
    {"Tried to allocate ", FIELD(tried_bytes), false},
    {"Requested size: ", FIELD(tried_bytes), false},
    {"total capacity of ", FIELD(capacity_bytes), false},
    {"total capacty of ", FIELD(capacity_bytes), false}, /* 2.1 spells it so */
    {"total capacity;", FIELD(capacity_bytes), true},
    {"already allocated", FIELD(allocated_bytes), true},
    {"reserved in total by PyTorch", FIELD(reserved_bytes), true},
    {"is free", FIELD(free_bytes), true},
    {"free;", FIELD(free_bytes), true},
    {"allowed", FIELD(allowed_bytes), true},
    {"this process has ", FIELD(process_bytes), false},
    {"Of the allocated memory ", FIELD(allocated_bytes), false},
    {"allocated in private pools", FIELD(private_pool_bytes), true},
    {"is reserved by PyTorch but unallocated", FIELD(unallocated_bytes), true},
};

static void take_row(const phrase_row *row, const char *text, size_t len, sl_oom_text *out) {
    sl_maybe_u64 *field = (sl_maybe_u64 *)(void *)((char *)out + row->field);
    uint64_t bytes;
    cursor c;
    bool ok = row->is_before ? size_before(text, len, row->phrase, &bytes)
                             : find_phrase(text, len, row->phrase, &c) && take_size(&c, &bytes);
    if (ok && !field->known)
        *field = sl_known_u64(bytes);
}

/* "Process 1234 has 20.00 GiB memory in use." as often as there are others. */
static void take_processes(const char *text, size_t len, sl_oom_text *out) {
    cursor c;
    while (find_phrase(text, len, "Process ", &c)) {
        uint64_t bytes;
        len -= (size_t)(c.at - text);
        text = c.at;
        while (c.at < c.end && *c.at >= '0' && *c.at <= '9')
            c.at++;
        if (!take_word(&c, " has ") || !take_size(&c, &bytes))
            continue;
        out->other_processes_bytes = sl_known_u64(out->other_processes_bytes.value + bytes);
        out->other_process_cnt++;
    }
}

/* "GPU 0": the first of the words that is followed by a number. */
static int device_after(const char *text, size_t len, const char *word) {
    cursor c;
    while (find_phrase(text, len, word, &c)) {
        int device = 0;
        const char *digits = c.at;
        for (; c.at < c.end && *c.at >= '0' && *c.at <= '9' && device < 100000; c.at++)
            device = device * 10 + (*c.at - '0');
        if (c.at > digits)
            return device;
        len -= (size_t)(c.at - text);
        text = c.at;
    }
    return -1;
}

static void take_device(const char *text, size_t len, sl_oom_text *out) {
    static const char *const words[] = {"GPU ", "NPU ", "XPU "};
    for (size_t i = 0; i < SL_COUNT_OF(words) && out->device < 0; i++)
        out->device = device_after(text, len, words[i]);
}

bool sl_oom_text_parse(const char *text, size_t len, sl_oom_text *out) {
    *out = (sl_oom_text){.device = -1};
    bool is_oom = len && (memmem(text, len, "out of memory", 13) ||
                          memmem(text, len, "preemptively rejected", 21));
    if (!is_oom)
        return false;
    for (size_t i = 0; i < SL_COUNT_OF(phrase_rows); i++)
        take_row(&phrase_rows[i], text, len, out);
    take_processes(text, len, out);
    take_device(text, len, out);
    if (!out->reserved_bytes.known && out->allocated_bytes.known && out->unallocated_bytes.known)
        out->reserved_bytes =
            sl_known_u64(out->allocated_bytes.value + out->unallocated_bytes.value);
    return true;
}
