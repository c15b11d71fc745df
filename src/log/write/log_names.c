/* SPDX-License-Identifier: MIT */
/* Strings, frames, stacks and labels of the writer. Append-only; ids point backwards (L5). */
#include <string.h>

#include "base/core/crc.h"
#include "log/write/log_intern.h"

typedef struct bytes_key {
    const char *ptr;
    uint32_t len;
} bytes_key;

static sl_fmt_string *string_at(const sl_log *log, uint32_t id) {
    return (sl_fmt_string *)(void *)(log->at[SL_SECTION_STRINGS] + (size_t)id * 8);
}

static bool is_same_string(const sl_log *log, uint32_t id, const void *key) {
    const bytes_key *wanted = key;
    const sl_fmt_string *head = string_at(log, id);
    return head->len == wanted->len && memcmp(head + 1, wanted->ptr, wanted->len) == 0;
}

/* The length is stored last: a string without one is not complete (L6). */
static uint32_t make_string(sl_log *log, const void *key) {
    const bytes_key *bytes = key;
    uint64_t units = 1 + (bytes->len + 7) / 8;
    uint64_t first = sl__log_take(log, SL_SECTION_STRINGS, units, SL_HEALTH_STRING_OVERFLOW);
    if (first == UINT64_MAX || first > UINT32_MAX)
        return 0;
    sl_fmt_string *head = string_at(log, (uint32_t)first);
    memcpy(head + 1, bytes->ptr, bytes->len);
    head->check = sl_crc32(0, bytes->ptr, bytes->len);
    sl_set32_release(&head->len, bytes->len);
    return (uint32_t)first;
}

/* FNV-1a over whole words: names are tens of bytes. */
static uint64_t hash_bytes(const char *ptr, size_t len) {
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ len, word;
    for (; len >= sizeof word; ptr += sizeof word, len -= sizeof word) {
        memcpy(&word, ptr, sizeof word);
        h = sl_hash_mix(h ^ word) * UINT64_C(0x100000001b3);
    }
    for (; len > 0; ptr++, len--)
        h = (h ^ (uint8_t)*ptr) * UINT64_C(0x100000001b3);
    return sl_hash_mix(h);
}

uint32_t sl_log_string(sl_log *log, const char *bytes, size_t len) {
    static const sl_intern_ops ops = {is_same_string, make_string, NULL};
    if (len == 0)
        return 0;
    if (len > SL_FORMAT_STRING_MAX)
        len = SL_FORMAT_STRING_MAX;
    bytes_key key = {bytes, (uint32_t)len};
    return sl_intern(log, &log->strings, hash_bytes(bytes, len), &ops, &key);
}

static sl_fmt_frame *frame_at(const sl_log *log, uint32_t id) {
    return (sl_fmt_frame *)(void *)log->at[SL_SECTION_FRAMES] + id;
}

static bool is_same_frame(const sl_log *log, uint32_t id, const void *key) {
    const sl_log_frame *wanted = key;
    const sl_fmt_frame *frame = frame_at(log, id);
    return frame->function == wanted->function && frame->file == wanted->file &&
           frame->line == wanted->line && frame->kind == wanted->kind;
}

static uint32_t make_frame(sl_log *log, const void *key) {
    const sl_log_frame *from = key;
    uint64_t i = sl__log_take(log, SL_SECTION_FRAMES, 1, SL_HEALTH_FRAME_OVERFLOW);
    if (i == UINT64_MAX)
        return 0;
    sl_fmt_frame *frame = frame_at(log, (uint32_t)i);
    frame->function = from->function;
    frame->file = from->file;
    frame->line = from->line;
    sl_set32_release(&frame->kind, from->kind);
    return (uint32_t)i;
}

uint32_t sl_log_frame_id(sl_log *log, const sl_log_frame *frame) {
    static const sl_intern_ops ops = {is_same_frame, make_frame, NULL};
    uint64_t names = (uint64_t)frame->function << 32 | frame->file;
    uint64_t hash = sl_hash_mix(sl_hash_mix(names) ^ frame->line) + frame->kind;
    if (frame->kind == 0)
        return 0;
    return sl_intern(log, &log->frames, hash, &ops, frame);
}

uint32_t sl_log_frame_of(sl_log *log, sl_str function, sl_str file, uint32_t line, uint32_t kind) {
    sl_log_frame frame = {
        .function = sl_log_string(log, function.ptr, function.len),
        .file = sl_log_string(log, file.ptr, file.len),
        .line = line,
        .kind = kind,
    };
    bool is_whole = (frame.function || !function.len) && (frame.file || !file.len);
    return is_whole ? sl_log_frame_id(log, &frame) : 0;
}

static uint64_t *stack_at(const sl_log *log, uint32_t id) {
    return (uint64_t *)(void *)log->at[SL_SECTION_STACKS] + id;
}

static bool is_same_stack(const sl_log *log, uint32_t id, const void *key) {
    return sl_get(stack_at(log, id)) == *(const uint64_t *)key;
}

/* One store makes the node complete. parent < own id holds because the parent's id was given out
 * before this one was taken (L5). */
static uint32_t make_stack(sl_log *log, const void *key) {
    uint64_t i = sl__log_take(log, SL_SECTION_STACKS, 1, SL_HEALTH_STACK_OVERFLOW);
    if (i == UINT64_MAX)
        return 0;
    sl_set_release(stack_at(log, (uint32_t)i), *(const uint64_t *)key);
    return (uint32_t)i;
}

uint32_t sl_log_stack_child(sl_log *log, uint32_t parent, uint32_t frame) {
    static const sl_intern_ops ops = {is_same_stack, make_stack, NULL};
    uint64_t node = parent | (uint64_t)frame << 32;
    if (frame == 0)
        return 0;
    return sl_intern(log, &log->stacks, sl_hash_mix(node), &ops, &node);
}

/* Few and kept by the caller: a plain search. Label i is word i; 0 is not used. */
uint16_t sl_log_label(sl_log *log, const char *bytes, size_t len) {
    uint64_t *labels = (uint64_t *)(void *)log->at[SL_SECTION_LABELS];
    uint64_t string = sl_log_string(log, bytes, len);
    uint64_t cnt = sl_get_acquire(&log->wm[SL_SECTION_LABELS]->reserved);
    if (string == 0)
        return 0;
    for (uint64_t i = 1; i < cnt; i++) {
        uint64_t found = sl_get_acquire(&labels[i]);
        if (found == 0 && sl_swap(&labels[i], &found, string))
            return (uint16_t)i;
        if (found == string)
            return (uint16_t)i;
    }
    sl__health(log, SL_HEALTH_LABEL_OVERFLOW);
    return 0;
}
