/* SPDX-License-Identifier: MIT */
#include "log/compact/log_pack.h"

#include <stdlib.h>
#include <string.h>

#include "log/layout/log_columns.h"
#include "log/read/log_reader_impl.h"

#define BUFFER_BYTES ((uint64_t)1 << 20) /* a multiple of every chunk size */

typedef struct packing {
    const sl_log_reader *reader;
    uint8_t *buffer; /* owned, BUFFER_BYTES */
    uint8_t *folded; /* owned, the same; NULL while nothing is emitted */
    sl_pack_sink sink;
    void *self;
    sl_error *err;
} packing;

static sl_status start(packing *p) {
    p->buffer = malloc(BUFFER_BYTES);
    return p->buffer ? SL_OK : sl_fail(p->err, SL_E_NOMEM, "cannot allocate memory to pack a log");
}

static bool is_zero(const uint8_t *bytes, size_t len) {
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- how many ---- */

/* Bytes of the section up to the last that is not zero. */
static sl_status find_end(packing *p, const sl_fmt_section *s, uint64_t cnt, uint64_t *end) {
    for (*end = cnt * s->record_bytes; *end > 0;) {
        uint64_t from = (*end - 1) / BUFFER_BYTES * BUFFER_BYTES, len = *end - from;
        SL_TRY(sl__log_read(p->reader, p->buffer, len, s->offset + from, p->err));
        while (len > 0 && p->buffer[len - 1] == 0)
            len--;
        *end = from + len;
        if (len > 0)
            return SL_OK;
    }
    return SL_OK;
}

static uint64_t used_of(const sl_log_reader *r, uint32_t kind) {
    int i = sl__log_section(r, kind);
    return i < 0 ? 0 : r->state.marks[i].used;
}

/* What a reader loads whatever it holds: a counter without a value still has its curve. */
static uint64_t used_records(const sl_log_reader *r, uint32_t section) {
    uint32_t kind = r->header.sections[section].kind;
    uint64_t used = r->state.marks[section].used;
    if (kind == SL_SECTION_RING) /* tickets, not places */
        return 0;
    if (kind == SL_SECTION_CURVES && used < used_of(r, SL_SECTION_COUNTERS))
        return used_of(r, SL_SECTION_COUNTERS);
    return used;
}

static sl_status count_plain(packing *p, uint32_t section, uint64_t *cnt) {
    const sl_fmt_section *s = &p->reader->header.sections[section];
    uint64_t reserved = p->reader->state.marks[section].reserved, end;
    SL_TRY(find_end(p, s, reserved, &end));
    *cnt = (end + s->record_bytes - 1) / s->record_bytes;
    uint64_t used = min_u64(used_records(p->reader, section), reserved);
    if (*cnt < used)
        *cnt = used;
    return SL_OK;
}

/* ---- the live table ---- */

static bool holds_block(const sl_fmt_bucket *bucket) {
    return !is_zero((const uint8_t *)bucket->key, sizeof bucket->key);
}

/* What a block left behind when it was freed means nothing. */
static void clear_free_slots(sl_fmt_bucket *bucket) {
    for (int i = 0; i < SL_FORMAT_BUCKET_SLOTS; i++)
        if (bucket->key[i] == SL_FORMAT_KEY_EMPTY)
            bucket->slot[i] = (sl_fmt_live){0};
}

/* Moves the buckets that hold something to the front of the buffer. */
static size_t keep_buckets(sl_fmt_bucket *buckets, size_t cnt) {
    size_t kept = 0;
    for (size_t i = 0; i < cnt; i++)
        if (holds_block(&buckets[i])) {
            clear_free_slots(&buckets[i]);
            buckets[kept++] = buckets[i];
        }
    return kept;
}

/* Goes through a level; with a sink the kept buckets go there. */
static sl_status walk_live(packing *p, uint32_t section, uint64_t *kept) {
    const sl_fmt_section *s = &p->reader->header.sections[section];
    uint64_t cnt = p->reader->state.marks[section].reserved, step = BUFFER_BYTES / s->record_bytes;
    sl_fmt_bucket *buckets = (sl_fmt_bucket *)(void *)p->buffer;
    *kept = 0;
    for (uint64_t i = 0; i < cnt; i += step) {
        uint64_t n = min_u64(cnt - i, step);
        SL_TRY(sl__log_read(p->reader, buckets, n * s->record_bytes,
                            s->offset + i * s->record_bytes, p->err));
        n = keep_buckets(buckets, n);
        *kept += n;
        if (p->sink && n > 0)
            SL_TRY(p->sink(p->self, buckets, n * s->record_bytes, p->err));
    }
    return SL_OK;
}

/* ---- the plan ---- */

static sl_status check_version(const sl_fmt_header *h, sl_error *err) {
    uint32_t version = (uint32_t)h->version_major << 16 | h->version_minor;
    if (version <= (SL_FORMAT_MAJOR << 16 | SL_FORMAT_MINOR))
        return SL_OK;
    return sl_fail_at(err, SL_E_VERSION, 8,
                      "byte 8: the file has format %u.%u, this program packs up to %u.%u; use a "
                      "newer stormlog",
                      h->version_major, h->version_minor, SL_FORMAT_MAJOR, SL_FORMAT_MINOR);
}

static sl_status plan_section(packing *p, uint32_t section, sl_pack_plan *plan) {
    sl_fmt_section *s = &plan->header.sections[section];
    uint64_t cnt;
    if (s->kind == SL_SECTION_LIVE)
        SL_TRY(walk_live(p, section, &cnt));
    else
        SL_TRY(count_plain(p, section, &cnt));
    s->offset = sl_align_up(plan->bytes, SL_FORMAT_SECTION_ALIGN);
    s->cap = cnt;
    plan->state.marks[section].reserved = cnt;
    plan->bytes = s->offset + cnt * s->record_bytes;
    return SL_OK;
}

/* 1.1 differs from 1.0 in the form of the ring and in nothing else. */
static void set_form(sl_fmt_header *h, bool folds) {
    h->version_major = h->oldest_major = SL_FORMAT_MAJOR;
    h->version_minor = h->oldest_minor = folds ? SL_FORMAT_MINOR : 0;
    for (uint32_t i = 0; i < h->section_cnt; i++)
        if (h->sections[i].kind == SL_SECTION_RING)
            h->sections[i].form = folds ? SL_FORM_COLUMNS : SL_FORM_RECORDS;
}

sl_status sl__pack_plan(const sl_log_reader *r, bool folds, sl_pack_plan *plan, sl_error *err) {
    packing p = {.reader = r, .err = err};
    SL_TRY(check_version(&r->header, err));
    SL_TRY(start(&p));
    plan->header = r->header;
    plan->state = r->state;
    plan->bytes = SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES;
    sl_status status = SL_OK;
    for (uint32_t i = 0; i < r->header.section_cnt && status >= 0; i++)
        status = plan_section(&p, i, plan);
    set_form(&plan->header, folds);
    plan->header.file_bytes = plan->bytes;
    plan->header.header_crc = sl_header_crc(&plan->header);
    free(p.buffer);
    return status;
}

/* ---- the bytes ---- */

static sl_status emit_plain(packing *p, uint32_t section, uint64_t cnt) {
    const sl_fmt_section *s = &p->reader->header.sections[section];
    uint64_t bytes = cnt * s->record_bytes;
    for (uint64_t at = 0; at < bytes; at += BUFFER_BYTES) {
        uint64_t len = min_u64(bytes - at, BUFFER_BYTES);
        SL_TRY(sl__log_read(p->reader, p->buffer, len, s->offset + at, p->err));
        SL_TRY(p->sink(p->self, p->buffer, len, p->err));
    }
    return SL_OK;
}

static sl_status emit_columns(packing *p, uint32_t section, uint64_t cnt) {
    const sl_fmt_section *s = &p->reader->header.sections[section];
    uint64_t step = BUFFER_BYTES / s->record_bytes;
    for (uint64_t i = 0; i < cnt; i += step) {
        uint64_t n = min_u64(cnt - i, step), bytes = n * s->record_bytes;
        SL_TRY(sl__log_read(p->reader, p->buffer, bytes, s->offset + i * s->record_bytes, p->err));
        for (uint64_t at = 0; at < bytes; at += s->record_bytes)
            sl__columns_fold(p->folded + at, p->buffer + at, s->record_bytes);
        SL_TRY(p->sink(p->self, p->folded, bytes, p->err));
    }
    return SL_OK;
}

static sl_status emit_section(packing *p, uint32_t section, const sl_pack_plan *plan,
                              uint64_t *at) {
    static const uint8_t zeros[SL_FORMAT_SECTION_ALIGN];
    const sl_fmt_section *s = &plan->header.sections[section];
    uint64_t kept;
    SL_TRY(p->sink(p->self, zeros, s->offset - *at, p->err));
    *at = s->offset + s->cap * s->record_bytes;
    if (s->kind == SL_SECTION_LIVE)
        return walk_live(p, section, &kept);
    return s->form == SL_FORM_COLUMNS ? emit_columns(p, section, s->cap)
                                      : emit_plain(p, section, s->cap);
}

sl_status sl__pack_emit(const sl_log_reader *r, const sl_pack_plan *plan, sl_pack_sink sink,
                        void *self, sl_error *err) {
    packing p = {.reader = r, .sink = sink, .self = self, .err = err};
    SL_TRY(start(&p));
    p.folded = malloc(BUFFER_BYTES);
    if (!p.folded) {
        free(p.buffer);
        return sl_fail(err, SL_E_NOMEM, "cannot allocate memory to pack a log");
    }
    uint64_t at = SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES;
    sl_status status = sink(self, &plan->header, sizeof plan->header, err);
    if (status >= 0)
        status = sink(self, &plan->state, sizeof plan->state, err);
    for (uint32_t i = 0; i < plan->header.section_cnt && status >= 0; i++)
        status = emit_section(&p, i, plan, &at);
    free(p.folded);
    free(p.buffer);
    return status;
}
