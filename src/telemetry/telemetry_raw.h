/* SPDX-License-Identifier: MIT */
/* A record as it was in the file: typed values by key, before any rule is applied. It becomes an
 * sl_tm_record, either strictly (version 2) or by conversion (records without a schema_version,
 * from older versions of the Python tool and its OOM bundles). No I/O. */
#ifndef SL_TELEMETRY_RAW_H
#define SL_TELEMETRY_RAW_H

#include "telemetry/telemetry.h"

/* Keys that only older records have: enumerator, name. */
#define SL_TM_OLD_KEY_MAP(X)                \
    X(TIMESTAMP, "timestamp")               \
    X(MEMORY_ALLOCATED, "memory_allocated") \
    X(MEMORY_RESERVED, "memory_reserved")   \
    X(MEMORY_CHANGE, "memory_change")       \
    X(MEMORY_MB, "memory_mb")               \
    X(DEVICE, "device")                     \
    X(TOTAL_MEMORY, "total_memory")         \
    X(DEVICE_TOTAL, "device_total")         \
    X(TOTAL_BYTES, "total_bytes")           \
    X(TYPE, "type")                         \
    X(MESSAGE, "message")                   \
    X(BACKEND, "backend")                   \
    X(ACTIVE_MEMORY, "active_memory")       \
    X(INACTIVE_MEMORY, "inactive_memory")   \
    X(DEVICE_USED, "device_used")           \
    X(DEVICE_FREE, "device_free")

/* The numbers continue those of sl_tm_field. */
enum {
    SL_TM_OLD_FIRST = SL_TM_FIELD_CNT - 1,
#define SL_TM_OLD_ENUM(name, text) SL_TM_OLD_##name,
    SL_TM_OLD_KEY_MAP(SL_TM_OLD_ENUM)
#undef SL_TM_OLD_ENUM
        SL_TM_KEY_CNT
};

typedef enum sl_tm_kind {
    SL_TM_ABSENT = 0,
    SL_TM_IS_NULL,
    SL_TM_IS_BOOL,
    SL_TM_IS_INT,
    SL_TM_IS_BIG, /* an integer beyond 64 bits; `real` approximates it */
    SL_TM_IS_REAL,
    SL_TM_IS_TEXT, /* text */
    SL_TM_IS_LIST,
    SL_TM_IS_OBJECT, /* text: compact JSON */
    SL_TM_IS_OTHER,  /* not a JSON value; only from Python programs */
} sl_tm_kind;

typedef struct sl_tm_value {
    sl_tm_kind kind;
    uint32_t text; /* string id of the set */
    int64_t number;
    double real;
} sl_tm_value;

/* A key "metadata_<name>" of an older record. */
typedef struct sl_tm_extra {
    uint32_t name; /* string id, without the prefix, decoded */
    uint32_t json; /* string id of the value as JSON */
    sl_tm_value value;
} sl_tm_extra;

#define SL_TM_UNKNOWN_MAX 8

typedef struct sl_tm_raw {
    sl_tm_value at[SL_TM_KEY_CNT];
    SL_VEC(sl_tm_extra) extras;
    uint32_t unknown[SL_TM_UNKNOWN_MAX]; /* names of other keys: string ids, the first few */
    size_t unknown_cnt;
} sl_tm_raw;

/* The number of the key, or -1. `guess` is tried first: keys usually come in the same order. */
int sl_tm_key_find(sl_str name, int guess);

/* Clears the values; keeps the memory. */
void sl_tm_raw_clear(sl_tm_raw *raw);
void sl_tm_raw_fini(sl_tm_raw *raw);

typedef struct sl_tm_convert {
    bool refuses_legacy;           /* a record without schema_version is an error */
    bool reads_bundle_names;       /* also device_used, active_memory, ... of OOM bundles */
    const char *default_collector; /* NULL = "legacy.unknown" */
    int64_t default_interval_ms;
} sl_tm_convert;

/* Applies every rule. SL_E_FORMAT or SL_E_VERSION names the field. `how` may be NULL. */
sl_status sl_tm_from_raw(sl_telemetry *set, const sl_tm_raw *raw, const sl_tm_convert *how,
                         sl_tm_record *out, sl_error *err);

/* The same for a record that must be of version 2: a missing schema_version is refused too, in
 * the list of missing fields. */
sl_status sl_tm_from_raw_strict(sl_telemetry *set, const sl_tm_raw *raw, sl_tm_record *out,
                                sl_error *err);

/* Internal to src/telemetry: converts a record without a version. */
sl_status sl__tm_from_legacy(sl_telemetry *set, const sl_tm_raw *raw, const sl_tm_convert *how,
                             sl_tm_record *out, sl_error *err);

/* Internal to src/telemetry: an integer field; refuses wrong types and values beyond 64 bits. */
sl_status sl__tm_take_int(const sl_tm_value *value, const char *name, int64_t *out, sl_error *err);
sl_status sl__tm_take_int32(const sl_tm_value *value, const char *name, int32_t *out,
                            sl_error *err);

const char *sl__tm_kind_name(sl_tm_kind kind);

#endif
