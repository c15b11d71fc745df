/* SPDX-License-Identifier: MIT */
/* Telemetry records for tests: a valid one, which tests change field by field. */
#ifndef SL_TM_BUILD_H
#define SL_TM_BUILD_H

#include <assert.h>

#include "telemetry/telemetry.h"

#define BASE_NS INT64_C(1700000000000000000)
#define STEP_NS INT64_C(100000000)
#define GIB     (INT64_C(1) << 30)

static inline uint32_t tm_id(sl_telemetry *set, const char *text) {
    uint32_t id = SL_TM_NO_TEXT;
    sl_status status = sl_tm_intern(set, text, &id, NULL);
    assert(status == SL_OK);
    (void)status;
    return id;
}

/* A sample of rank 0 of 1 on device 0 of 16 GiB. */
static inline sl_tm_record tm_sample(sl_telemetry *set, int64_t time_ns) {
    return (sl_tm_record){.timestamp_ns = time_ns,
                          .sampling_interval_ms = 100,
                          .active_bytes = SL_TM_NULL,
                          .inactive_bytes = SL_TM_NULL,
                          .free_bytes = SL_TM_NULL,
                          .total_bytes = 16 * GIB,
                          .event_type = tm_id(set, "sample"),
                          .collector = tm_id(set, "stormlog.cuda_tracker"),
                          .host = tm_id(set, "host"),
                          .job_id = SL_TM_NO_TEXT,
                          .context = SL_TM_NO_TEXT,
                          .pid = 1,
                          .world_size = 1};
}

static inline void tm_push(sl_telemetry *set, sl_tm_record record) {
    bool is_pushed = sl_vec_push(&set->records, record);
    assert(is_pushed);
    (void)is_pushed;
}

#endif
