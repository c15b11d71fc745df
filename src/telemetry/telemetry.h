/* SPDX-License-Identifier: MIT */
/* Telemetry: samples of memory counters as the Python tool's version 2 records, 22 fields each.
 * The struct, the rules for a record, and the table that readers and writers share. No I/O.
 *
 * Ownership: a set owns its records and their texts; ids are those of its own string table.
 * Threads: one thread builds a set; afterwards it is read-only and may be shared.
 *
 * Numbers are integers. Python's have no bounds; here bytes and times have 63 bits, those of a
 * file fewer (base/core/limits.h), and ranks, process and device numbers 31 bits. A record that
 * exceeds this is refused with the name of the field; it is never truncated. */
#ifndef SL_TELEMETRY_H
#define SL_TELEMETRY_H

#include "base/core/status.h"
#include "base/core/strtab.h"
#include "base/core/vec.h"

#define SL_TM_VERSION      2
#define SL_TM_NULL         (-1)        /* null, for active, inactive, free and total */
#define SL_TM_NO_TEXT      SL_STR_NONE /* null, for job_id and context */
#define SL_TM_UNKNOWN_PID  (-1)
#define SL_TM_UNKNOWN_HOST "unknown"

/* What a field may hold, which also selects the error message. */
typedef enum sl_tm_type {
    SL_TM_INT64,         /* an integer, at least `least` */
    SL_TM_INT64_OR_NULL, /* null, or the same */
    SL_TM_INT32,         /* an integer of 31 bits, at least `least` */
    SL_TM_TEXT,          /* a text that is not blank */
    SL_TM_TEXT_OR_NULL,  /* null, or the same */
    SL_TM_ANY_TEXT,      /* null, or any text */
    SL_TM_OBJECT,        /* a JSON object */
    SL_TM_VERSION_FIELD, /* the integer 2 */
} sl_tm_type;

#define SL_TM_ANY_INT INT64_MIN

/* enumerator, name in the files, type, least value, whether a version 2 record must have it,
 * member. The order is that of the files. */
#define SL_TM_FIELD_MAP(X)                                                                \
    X(SCHEMA_VERSION, "schema_version", SL_TM_VERSION_FIELD, 2, true, timestamp_ns)       \
    X(TIMESTAMP_NS, "timestamp_ns", SL_TM_INT64, 0, true, timestamp_ns)                   \
    X(EVENT_TYPE, "event_type", SL_TM_TEXT, 0, true, event_type)                          \
    X(COLLECTOR, "collector", SL_TM_TEXT, 0, true, collector)                             \
    X(INTERVAL_MS, "sampling_interval_ms", SL_TM_INT64, 0, true, sampling_interval_ms)    \
    X(PID, "pid", SL_TM_INT32, -1, true, pid)                                             \
    X(HOST, "host", SL_TM_TEXT, 0, true, host)                                            \
    X(JOB_ID, "job_id", SL_TM_TEXT_OR_NULL, 0, false, job_id)                             \
    X(RANK, "rank", SL_TM_INT32, 0, false, rank)                                          \
    X(LOCAL_RANK, "local_rank", SL_TM_INT32, 0, false, local_rank)                        \
    X(WORLD_SIZE, "world_size", SL_TM_INT32, 1, false, world_size)                        \
    X(DEVICE_ID, "device_id", SL_TM_INT32, SL_TM_ANY_INT, true, device_id)                \
    X(ALLOCATED, "allocator_allocated_bytes", SL_TM_INT64, 0, true, allocated_bytes)      \
    X(RESERVED, "allocator_reserved_bytes", SL_TM_INT64, 0, true, reserved_bytes)         \
    X(ACTIVE, "allocator_active_bytes", SL_TM_INT64_OR_NULL, 0, true, active_bytes)       \
    X(INACTIVE, "allocator_inactive_bytes", SL_TM_INT64_OR_NULL, 0, true, inactive_bytes) \
    X(CHANGE, "allocator_change_bytes", SL_TM_INT64, SL_TM_ANY_INT, true, change_bytes)   \
    X(USED, "device_used_bytes", SL_TM_INT64, 0, true, used_bytes)                        \
    X(FREE, "device_free_bytes", SL_TM_INT64_OR_NULL, 0, true, free_bytes)                \
    X(TOTAL, "device_total_bytes", SL_TM_INT64_OR_NULL, 0, true, total_bytes)             \
    X(CONTEXT, "context", SL_TM_ANY_TEXT, 0, true, context)                               \
    X(METADATA, "metadata", SL_TM_OBJECT, 0, true, metadata)

typedef enum sl_tm_field {
#define SL_TM_FIELD_ENUM(name, text, type, least, required, member) SL_TM_##name,
    SL_TM_FIELD_MAP(SL_TM_FIELD_ENUM)
#undef SL_TM_FIELD_ENUM
        SL_TM_FIELD_CNT
} sl_tm_field;

/* One record. Text members are string ids of the set. */
typedef struct sl_tm_record {
    int64_t timestamp_ns;
    int64_t sampling_interval_ms;
    int64_t allocated_bytes, reserved_bytes;
    int64_t active_bytes, inactive_bytes; /* SL_TM_NULL */
    int64_t change_bytes;
    int64_t used_bytes;
    int64_t free_bytes, total_bytes; /* SL_TM_NULL */
    uint32_t event_type, collector, host;
    uint32_t job_id, context; /* SL_TM_NO_TEXT */
    uint32_t metadata;        /* a compact JSON object; id 0 means "{}" */
    int32_t pid, rank, local_rank, world_size, device_id;
} sl_tm_record;

typedef struct sl_tm_field_info {
    const char *name;
    sl_tm_type type;
    int64_t least;
    bool is_required;
    size_t offset; /* of the member in sl_tm_record; unused for schema_version */
} sl_tm_field_info;

extern const sl_tm_field_info sl_tm_fields[SL_TM_FIELD_CNT];

typedef struct sl_telemetry {
    sl_strtab strings;
    SL_VEC(sl_tm_record) records; /* in the order of the input */
    uint64_t legacy_cnt;          /* records that were converted */
    uint64_t skipped_cnt;         /* bad records that were skipped (skips_bad) */
    uint64_t unranked_cnt;        /* readings of series that name no rank; they have rank 0 */
} sl_telemetry;

sl_telemetry *sl_telemetry_new(void);      /* NULL when memory ran out */
void sl_telemetry_free(sl_telemetry *set); /* NULL is fine */

/* The id of a text; SL_TM_NO_TEXT when text is NULL; SL_E_NOMEM. */
sl_status sl_tm_intern(sl_telemetry *set, const char *text, uint32_t *id, sl_error *err);

/* A text of a record; "" for SL_TM_NO_TEXT. */
static inline sl_str sl_tm_text(const sl_telemetry *set, uint32_t id) {
    return id == SL_TM_NO_TEXT ? SL_STR("") : sl_strtab_get(&set->strings, id);
}

/* The metadata as JSON text, "{}" when there is none. */
sl_str sl_tm_metadata(const sl_telemetry *set, const sl_tm_record *record);

/* Checks every rule of a version 2 record; SL_E_FORMAT names the field and the rule. */
sl_status sl_tm_validate(const sl_telemetry *set, const sl_tm_record *record, sl_error *err);

/* Internal to src/telemetry: the rule of one field, and the rules that compare two fields. */
sl_status sl__tm_check_field(const sl_telemetry *set, const sl_tm_record *record, sl_tm_field field,
                             sl_error *err);
sl_status sl__tm_check_pairs(const sl_tm_record *record, sl_error *err);

/* First and last time of a device's records, or of all when `device` is NULL; false when there are
 * none. */
bool sl_tm_span(const sl_telemetry *set, const int *device, int64_t *first_ns, int64_t *last_ns);

/* True for "sample" in upper or lower case, with or without white space around it. */
bool sl_tm_is_sample(sl_str event_type);

/* CSV: a spreadsheet takes a cell that begins with one of "=+-@", tab or return for a formula.
 * Such a text is written with an apostrophe before it, which prevents that. A text that already
 * has apostrophes before such a character gets one more, so that reading always removes exactly
 * one. Numbers are not texts: -5 stays -5. Returns the number of apostrophes before a formula's
 * first character, SL_TM_NO_FORMULA when there is no such character. */
#define SL_TM_NO_FORMULA SIZE_MAX
size_t sl_tm_formula_quotes(sl_str text);

/* True when the text is empty or white space only. */
bool sl_tm_is_blank(sl_str text);

/* The value of an integer field. Not for text fields. */
int64_t sl_tm_get_int(const sl_tm_record *record, sl_tm_field field);
uint32_t sl_tm_get_text(const sl_tm_record *record, sl_tm_field field);

/* SL_E_LIMIT when a number exceeds base/core/limits.h; the message has the field, the limit and
 * the value. */
sl_status sl_tm_check_bounds(const sl_tm_record *record, sl_error *err);

#endif
