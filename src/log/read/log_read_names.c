/* SPDX-License-Identifier: MIT */
/* Strings, frames, stacks and labels, loaded whole and checked once (L5, L6), so that later code
 * may follow an id without asking. They are loaded in the order in which they point at each other,
 * from the pointing end: what a live writer adds in between is only ever pointed at by newer ids. */
#include <stdlib.h>
#include <string.h>

#include "base/core/crc.h"
#include "log/read/log_reader_impl.h"

/* Loads records [0, used) of a section in place of *table. */
static sl_status load_used(sl_log_reader *r, uint32_t kind, void *table, uint64_t *cnt,
                           sl_error *err) {
    int i = sl__log_section(r, kind);
    void **to = table, *fresh;
    if (i < 0)
        return sl_fail(err, SL_E_FORMAT, "expected a section %s, found none",
                       sl_section_name(kind));
    const sl_fmt_watermark *wm = &r->state.marks[i];
    uint64_t at = r->header.state_offset + offsetof(sl_fmt_state, marks) +
                  (uint64_t)i * sizeof *wm + offsetof(sl_fmt_watermark, used);
    if (wm->used > wm->reserved && !sl__log_is_live(r))
        return sl_fail_at(err, SL_E_FORMAT, at,
                          "byte %llu: section %s: expected at most %llu used records, found %llu",
                          (unsigned long long)at, sl_section_name(kind),
                          (unsigned long long)wm->reserved, (unsigned long long)wm->used);
    uint64_t used = wm->used < wm->reserved ? wm->used : wm->reserved;
    SL_TRY(sl__log_load(r, &r->header.sections[i], used, &fresh, err));
    free(*to);
    *to = fresh;
    *cnt = used;
    return SL_OK;
}

static uint64_t byte_of(const sl_log_reader *r, uint32_t kind, uint64_t record) {
    const sl_fmt_section *s = &r->header.sections[sl__log_section(r, kind)];
    return s->offset + record * s->record_bytes;
}

/* ---- strings ---- */

/* NULL when there is no complete string at this id. */
static const sl_fmt_string *find_string(const sl_log_reader *r, uint32_t id) {
    if (id == 0 || id >= r->string_units)
        return NULL;
    const sl_fmt_string *head = (const void *)(r->strings + (size_t)id * 8);
    uint64_t room = (r->string_units - id - 1) * 8;
    return head->len == 0 || head->len > SL_FORMAT_STRING_MAX || head->len > room ? NULL : head;
}

static sl_status check_string(const sl_log_reader *r, uint32_t id, uint64_t position,
                              sl_error *err) {
    const sl_fmt_string *head = find_string(r, id);
    if (id == 0)
        return SL_OK;
    if (!head)
        return sl_fail_at(err, SL_E_FORMAT, position,
                          "byte %llu: expected the id of a string below %llu, found %u",
                          (unsigned long long)position, (unsigned long long)r->string_units, id);
    uint32_t crc = sl_crc32(0, head + 1, head->len);
    if (crc != head->check)
        return sl_fail_at(err, SL_E_FORMAT, byte_of(r, SL_SECTION_STRINGS, id),
                          "byte %llu: string %u: expected checksum %08x, found %08x",
                          (unsigned long long)byte_of(r, SL_SECTION_STRINGS, id), id, crc,
                          head->check);
    return SL_OK;
}

sl_str sl_log_get_string(const sl_log_reader *r, uint32_t id) {
    const sl_fmt_string *head = find_string(r, id);
    return head ? (sl_str){(const char *)(head + 1), head->len} : SL_STR("");
}

/* ---- frames and stacks ---- */

/* Frames of one file name it over and over; a string just checked is not summed again. */
typedef struct string_memo {
    uint32_t known[64];
} string_memo;

static sl_status check_string_once(const sl_log_reader *r, string_memo *memo, uint32_t id,
                                   uint64_t position, sl_error *err) {
    if (memo->known[id % 64] == id)
        return SL_OK;
    SL_TRY(check_string(r, id, position, err));
    memo->known[id % 64] = id;
    return SL_OK;
}

static sl_status check_frames(const sl_log_reader *r, sl_error *err) {
    string_memo memo = {{0}};
    for (uint64_t i = 1; i < r->frame_cnt; i++) {
        const sl_fmt_frame *f = &r->frames[i];
        uint64_t at = byte_of(r, SL_SECTION_FRAMES, i);
        if (f->kind == 0)
            continue;
        SL_TRY(check_string_once(r, &memo, f->function, at, err));
        SL_TRY(check_string_once(r, &memo, f->file, at + 4, err));
    }
    return SL_OK;
}

static sl_status check_stacks(sl_log_reader *r, sl_error *err) {
    for (uint64_t i = 1; i < r->stack_cnt; i++) {
        uint32_t parent = (uint32_t)r->stacks[i], frame = (uint32_t)(r->stacks[i] >> 32);
        uint64_t at = byte_of(r, SL_SECTION_STACKS, i);
        if (r->stacks[i] == 0)
            continue;
        if (parent >= i)
            return sl_fail_at(err, SL_E_FORMAT, at,
                              "byte %llu: stack %llu: expected a caller below %llu, found %u; the "
                              "stack would never end",
                              (unsigned long long)at, (unsigned long long)i, (unsigned long long)i,
                              parent);
        if (frame == 0 || frame >= r->frame_cnt || r->frames[frame].kind == 0)
            return sl_fail_at(err, SL_E_FORMAT, at + 4,
                              "byte %llu: stack %llu: expected the id of a frame below %llu, found "
                              "%u",
                              (unsigned long long)at + 4, (unsigned long long)i,
                              (unsigned long long)r->frame_cnt, frame);
        if (parent != 0 && r->stacks[parent] == 0 && sl__log_is_live(r))
            r->stacks[i] = 0; /* the caller was written while we copied; not known yet */
        else if (parent != 0 && r->stacks[parent] == 0)
            return sl_fail_at(err, SL_E_FORMAT, at,
                              "byte %llu: stack %llu: expected a complete caller, found stack %u",
                              (unsigned long long)at, (unsigned long long)i, parent);
    }
    return SL_OK;
}

static sl_status load_labels(sl_log_reader *r, sl_error *err) {
    uint64_t cnt;
    const sl_fmt_section *s = sl__log_find(r, SL_SECTION_LABELS, &cnt);
    if (cnt > SL_LABEL_CAP)
        cnt = SL_LABEL_CAP;
    if (s && cnt)
        SL_TRY(sl__log_read(r, r->labels, cnt * sizeof r->labels[0], s->offset, err));
    r->label_cnt = cnt;
    return SL_OK;
}

static sl_status check_labels(const sl_log_reader *r, sl_error *err) {
    for (uint64_t i = 1; i < r->label_cnt; i++)
        if (r->labels[i] > UINT32_MAX ||
            check_string(r, (uint32_t)r->labels[i], byte_of(r, SL_SECTION_LABELS, i), NULL) < 0)
            return sl_fail_at(err, SL_E_FORMAT, byte_of(r, SL_SECTION_LABELS, i),
                              "byte %llu: label %llu: expected the id of a string below %llu, "
                              "found %llu",
                              (unsigned long long)byte_of(r, SL_SECTION_LABELS, i),
                              (unsigned long long)i, (unsigned long long)r->string_units,
                              (unsigned long long)r->labels[i]);
    return SL_OK;
}

sl_status sl_log_load_names(sl_log_reader *r, sl_error *err) {
    SL_TRY(load_labels(r, err));
    SL_TRY(load_used(r, SL_SECTION_STACKS, &r->stacks, &r->stack_cnt, err));
    SL_TRY(sl_log_refresh(r, err));
    SL_TRY(load_used(r, SL_SECTION_FRAMES, &r->frames, &r->frame_cnt, err));
    SL_TRY(sl_log_refresh(r, err));
    SL_TRY(load_used(r, SL_SECTION_STRINGS, &r->strings, &r->string_units, err));
    SL_TRY(check_labels(r, err));
    SL_TRY(check_frames(r, err));
    return check_stacks(r, err);
}

sl_str sl_log_get_label(const sl_log_reader *r, uint16_t label) {
    return label < r->label_cnt ? sl_log_get_string(r, (uint32_t)r->labels[label]) : SL_STR("");
}

uint32_t sl_log_stack_cnt(const sl_log_reader *r) {
    return (uint32_t)r->stack_cnt;
}

static bool stack_is_known(const sl_log_reader *r, uint32_t stack) {
    return stack == 0 || (stack < r->stack_cnt && r->stacks[stack] != 0);
}

bool sl_log_get_frame(const sl_log_reader *r, uint32_t stack, sl_fmt_frame *frame,
                      uint32_t *caller) {
    if (stack == 0 || !stack_is_known(r, stack))
        return false;
    *frame = r->frames[r->stacks[stack] >> 32];
    *caller = (uint32_t)r->stacks[stack];
    return true;
}

sl_status sl__log_check_stack(sl_log_reader *r, uint32_t stack, uint64_t position, sl_error *err) {
    if (!stack_is_known(r, stack) && sl__log_is_live(r)) {
        SL_TRY(sl_log_refresh(r, err));
        SL_TRY(sl_log_load_names(r, err));
    }
    if (stack_is_known(r, stack))
        return SL_OK;
    return sl_fail_at(err, SL_E_FORMAT, position,
                      "byte %llu: expected the id of a stack below %llu, found %u",
                      (unsigned long long)position, (unsigned long long)r->stack_cnt, stack);
}
