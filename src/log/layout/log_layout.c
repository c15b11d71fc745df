/* SPDX-License-Identifier: MIT */
#include "log/layout/log_layout.h"

#include <string.h>

#include "base/core/crc.h"

_Static_assert(sizeof(sl_fmt_header) == SL_FORMAT_HEADER_BYTES, "header");
_Static_assert(sizeof(sl_fmt_state) == SL_FORMAT_STATE_BYTES, "state");
_Static_assert(sizeof(sl_fmt_string) == 8 && sizeof(sl_fmt_frame) == 16, "strings, frames");
_Static_assert(sizeof(sl_fmt_stack) == 8 && sizeof(sl_fmt_site) == 64, "stacks, sites");
_Static_assert(sizeof(sl_fmt_thread) == 128 && sizeof(sl_fmt_counter) == 128, "threads, counters");
_Static_assert(sizeof(sl_fmt_bin) == 40 && sizeof(sl_fmt_mark) == 40, "bins, marks");
_Static_assert(sizeof(sl_fmt_alert) == 48 && sizeof(sl_fmt_oom) == 896, "alerts, ooms");
_Static_assert(sizeof(sl_fmt_chunk) == 64 && sizeof(sl_fmt_record) == 32, "chunks");
_Static_assert(sizeof(sl_fmt_bucket) == 256, "buckets");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the file is written as it lies in memory");

const sl_kind_row sl_kind_rows[SL_EV_LIMIT] = {
#define SL_KIND_ROW(number, id, text, effect, domain, ...) \
    [number] = {SL_EFFECT_##effect, SL_DOMAIN_##domain},
    SL_EVENT_KIND_MAP(SL_KIND_ROW)
#undef SL_KIND_ROW
};

typedef struct section_row {
    const char *name;
    uint32_t record_bytes;
} section_row;

static const section_row section_rows[SL_SECTION_LIMIT] = {
#define SL_SECTION_ROW(number, id, text, bytes, meaning) [number] = {text, bytes},
    SL_SECTION_MAP(SL_SECTION_ROW)
#undef SL_SECTION_ROW
};

typedef struct health_row {
    const char *name;
    const char *meaning;
    bool is_loss;
} health_row;

static const health_row health_rows[SL_HEALTH_LIMIT] = {
#define SL_HEALTH_ROW(number, id, text, loss, meaning) [number] = {text, meaning, loss},
    SL_HEALTH_MAP(SL_HEALTH_ROW)
#undef SL_HEALTH_ROW
};

typedef struct counter_row {
    const char *name;
    const char *unit;
} counter_row;

static const counter_row counter_rows[SL_COUNTER_LIMIT] = {[SL_COUNTER_NONE] = {"unknown", "1"},
#define SL_COUNTER_ROW(number, id, text, unit) [number] = {text, unit},
                                                           SL_COUNTER_MAP(SL_COUNTER_ROW)
#undef SL_COUNTER_ROW
};

uint32_t sl_section_record_bytes(uint32_t kind) {
    return kind < SL_SECTION_LIMIT ? section_rows[kind].record_bytes : 0;
}

const char *sl_section_name(uint32_t kind) {
    return kind < SL_SECTION_LIMIT && section_rows[kind].name ? section_rows[kind].name : "unknown";
}

const char *sl_health_name(sl_health_kind kind) {
    return health_rows[kind].name;
}

const char *sl_health_meaning(sl_health_kind kind) {
    return health_rows[kind].meaning;
}

bool sl_health_is_loss(sl_health_kind kind) {
    return health_rows[kind].is_loss;
}

const char *sl_counter_name(uint32_t kind) {
    return counter_rows[kind < SL_COUNTER_LIMIT ? kind : SL_COUNTER_NONE].name;
}

const char *sl_counter_unit(uint32_t kind) {
    return counter_rows[kind < SL_COUNTER_LIMIT ? kind : SL_COUNTER_NONE].unit;
}

uint32_t sl_header_crc(const sl_fmt_header *header) {
    static const uint32_t zero;
    size_t at = offsetof(sl_fmt_header, header_crc);
    const uint8_t *bytes = (const uint8_t *)header;
    uint32_t crc = sl_crc32(0, bytes, at);
    crc = sl_crc32(crc, &zero, sizeof zero);
    return sl_crc32(crc, bytes + at + sizeof zero, sizeof *header - at - sizeof zero);
}

static sl_status check_magic(const sl_fmt_header *header, sl_error *err) {
    static const uint8_t nothing[SL_FORMAT_MAGIC_BYTES];
    const uint8_t *m = header->magic;
    if (memcmp(m, SL_FORMAT_MAGIC, SL_FORMAT_MAGIC_BYTES) == 0)
        return SL_OK;
    if (memcmp(m, nothing, sizeof nothing) == 0)
        return sl_fail_at(err, SL_E_FORMAT, 0,
                          "byte 0: expected the magic 89 53 4c 4f 47 0d 0a 1a, found zeros; the "
                          "writer ended before it wrote the header");
    return sl_fail_at(err, SL_E_FOREIGN, 0,
                      "byte 0: expected the magic 89 53 4c 4f 47 0d 0a 1a, found %02x %02x %02x "
                      "%02x %02x %02x %02x %02x; this is not a stormlog recording",
                      m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7]);
}

static sl_status check_version(const sl_fmt_header *header, sl_error *err) {
    uint32_t oldest = (uint32_t)header->oldest_major << 16 | header->oldest_minor;
    uint32_t own = SL_FORMAT_MAJOR << 16 | SL_FORMAT_MINOR;
    if (header->version_major == 0)
        return sl_fail_at(err, SL_E_FORMAT, 8, "byte 8: expected a format version >= 1, found 0");
    if (oldest <= own)
        return SL_OK;
    return sl_fail_at(err, SL_E_VERSION, 12,
                      "byte 12: the file (format %u.%u) needs a reader of format %u.%u or newer, "
                      "this program reads up to %u.%u; use a newer stormlog",
                      header->version_major, header->version_minor, header->oldest_major,
                      header->oldest_minor, SL_FORMAT_MAJOR, SL_FORMAT_MINOR);
}

static sl_status check_crc(const sl_fmt_header *header, sl_error *err) {
    uint32_t crc = sl_header_crc(header);
    if (crc == header->header_crc)
        return SL_OK;
    return sl_fail_at(err, SL_E_FORMAT, 16,
                      "byte 16: expected header checksum %08x, found %08x; the header is damaged",
                      crc, header->header_crc);
}

/* Errors of one number of the header: where it is, what it should be. */
static sl_status wrong(sl_error *err, uint64_t at, const char *expected, uint64_t found) {
    return sl_fail_at(err, SL_E_FORMAT, at, "byte %llu: expected %s, found %llu",
                      (unsigned long long)at, expected, (unsigned long long)found);
}

static bool is_power_of_two(uint64_t n) {
    return n && (n & (n - 1)) == 0;
}

static sl_status check_numbers(const sl_fmt_header *h, sl_error *err) {
    if (h->header_bytes != SL_FORMAT_HEADER_BYTES)
        return wrong(err, offsetof(sl_fmt_header, header_bytes), "a header of 4096 bytes",
                     h->header_bytes);
    if (h->state_offset != SL_FORMAT_HEADER_BYTES)
        return wrong(err, offsetof(sl_fmt_header, state_offset), "the state at 4096",
                     h->state_offset);
    if (h->section_cnt > SL_FORMAT_SECTION_MAX)
        return wrong(err, offsetof(sl_fmt_header, section_cnt), "at most 32 sections",
                     h->section_cnt);
    if (!is_power_of_two(h->chunk_bytes) || h->chunk_bytes < 1024 || h->chunk_bytes > 1u << 20)
        return wrong(err, offsetof(sl_fmt_header, chunk_bytes),
                     "a power of two from 1024 to 1048576 as chunk size", h->chunk_bytes);
    if (!is_power_of_two(h->curve_bins) || h->curve_bins < 16 || h->curve_bins > 1u << 16)
        return wrong(err, offsetof(sl_fmt_header, curve_bins),
                     "a power of two from 16 to 65536 as bins of a curve", h->curve_bins);
    if (h->curve_levels < 1 || h->curve_levels > SL_FORMAT_LEVEL_MAX)
        return wrong(err, offsetof(sl_fmt_header, curve_levels), "1 to 12 levels of a curve",
                     h->curve_levels);
    if (h->curve_bin_ns == 0 || h->curve_bin_ns > UINT64_C(1) << 40)
        return wrong(err, offsetof(sl_fmt_header, curve_bin_ns), "a bin of 1 to 2^40 nanoseconds",
                     h->curve_bin_ns);
    return SL_OK;
}

static uint32_t expected_record_bytes(const sl_fmt_header *h, uint32_t kind) {
    if (kind == SL_SECTION_RING)
        return h->chunk_bytes;
    if (kind == SL_SECTION_CURVES)
        return (uint32_t)sl_curve_bytes(h->curve_bins, h->curve_levels);
    return sl_section_record_bytes(kind);
}

static sl_status check_section(const sl_fmt_header *h, uint32_t i, uint64_t *end, sl_error *err) {
    const sl_fmt_section *s = &h->sections[i];
    uint64_t at = offsetof(sl_fmt_header, sections) + i * sizeof *s;
    uint32_t record_bytes = expected_record_bytes(h, s->kind);
    if (s->record_bytes == 0 || (record_bytes && s->record_bytes != record_bytes))
        return sl_fail_at(err, SL_E_FORMAT, at + 4,
                          "byte %llu: section %u (%s): expected records of %u bytes, found %u",
                          (unsigned long long)at + 4, i, sl_section_name(s->kind), record_bytes,
                          s->record_bytes);
    if (s->offset < *end || s->offset > h->file_bytes || s->offset % 8)
        return sl_fail_at(err, SL_E_FORMAT, at + 8,
                          "byte %llu: section %u (%s): expected an offset from %llu to %llu, found "
                          "%llu",
                          (unsigned long long)at + 8, i, sl_section_name(s->kind),
                          (unsigned long long)*end, (unsigned long long)h->file_bytes,
                          (unsigned long long)s->offset);
    if (s->form != SL_FORM_RECORDS && (s->form != SL_FORM_COLUMNS || s->kind != SL_SECTION_RING))
        return sl_fail_at(err, SL_E_FORMAT, at + offsetof(sl_fmt_section, form),
                          "byte %llu: section %u (%s): expected form 0 (or 1 of a ring), found %u",
                          (unsigned long long)(at + offsetof(sl_fmt_section, form)), i,
                          sl_section_name(s->kind), s->form);
    uint64_t room = (h->file_bytes - s->offset) / s->record_bytes;
    if (s->cap > room)
        return sl_fail_at(err, SL_E_FORMAT, at + 16,
                          "byte %llu: section %u (%s): expected at most %llu records before the "
                          "end of the file, found %llu",
                          (unsigned long long)at + 16, i, sl_section_name(s->kind),
                          (unsigned long long)room, (unsigned long long)s->cap);
    *end = s->offset + s->cap * s->record_bytes;
    return SL_OK;
}

sl_status sl_header_check(const sl_fmt_header *header, uint64_t size_on_disk, sl_error *err) {
    if (size_on_disk >= SL_FORMAT_MAGIC_BYTES)
        SL_TRY(check_magic(header, err));
    if (size_on_disk < SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES)
        return sl_fail_at(err, SL_E_TRUNCATED, size_on_disk,
                          "byte %llu: expected a header of 8192 bytes, found the end of the file",
                          (unsigned long long)size_on_disk);
    SL_TRY(check_version(header, err));
    SL_TRY(check_crc(header, err));
    SL_TRY(check_numbers(header, err));
    uint64_t end = SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES;
    for (uint32_t i = 0; i < header->section_cnt; i++)
        SL_TRY(check_section(header, i, &end, err));
    return SL_OK;
}
