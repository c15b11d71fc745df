/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/core/limits.h"
#include "telemetry/telemetry.h"

/* The limit depends on the unit of the field: bytes by default. */
static int64_t most_of(sl_tm_field field) {
    switch (field) {
    case SL_TM_TIMESTAMP_NS: return SL_TIME_US_MAX * 1000;
    case SL_TM_INTERVAL_MS: return SL_TIME_US_MAX / 1000;
    default: return (int64_t)SL_BYTES_MAX;
    }
}

sl_status sl_tm_check_bounds(const sl_tm_record *record, sl_error *err) {
    for (sl_tm_field field = SL_TM_TIMESTAMP_NS; field < SL_TM_FIELD_CNT; field++) {
        sl_tm_type type = sl_tm_fields[field].type;
        if (type != SL_TM_INT64 && type != SL_TM_INT64_OR_NULL)
            continue;
        int64_t value = sl_tm_get_int(record, field), most = most_of(field);
        if (value > most || value < -most)
            return sl_fail(err, SL_E_LIMIT, "%s: expected at most %" PRId64 ", found %" PRId64,
                           sl_tm_fields[field].name, most, value);
    }
    return SL_OK;
}
