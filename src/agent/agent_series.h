/* SPDX-License-Identifier: MIT */
/* What the agent exports of a recording, as data: at most 24 series for a rank with one card. The names are in
 * people's dashboards: append, never rename. */
#ifndef SL_AGENT_SERIES_H
#define SL_AGENT_SERIES_H

#include "base/core/sl_base.h"

/* enumerator, name, kind (the label; "" = none), whose (PROCESS, DEVICE), type, help. Rows of one name are together. */
#define SL_AGENT_SERIES_MAP(X)                                                                  \
    X(TENSORS, "stormlog_memory_bytes", "tensors", DEVICE, "gauge",                             \
      "Memory of the device by what holds it.")                                                 \
    X(CACHE, "stormlog_memory_bytes", "cache", DEVICE, "gauge", "")                             \
    X(LIBRARIES, "stormlog_memory_bytes", "libraries", DEVICE, "gauge", "")                     \
    X(CONTEXT, "stormlog_memory_bytes", "context", DEVICE, "gauge", "")                         \
    X(OTHERS, "stormlog_memory_bytes", "other-processes", DEVICE, "gauge", "")                  \
    X(DRIVER, "stormlog_memory_bytes", "driver", DEVICE, "gauge", "")                           \
    X(REST, "stormlog_memory_bytes", "rest", DEVICE, "gauge", "")                               \
    X(PEAK_TENSORS, "stormlog_peak_bytes", "tensors", DEVICE, "gauge",                          \
      "Highest value since the last export, not only of the moments of export.")                \
    X(PEAK_RESERVED, "stormlog_peak_bytes", "reserved", DEVICE, "gauge", "")                    \
    X(PEAK_USED, "stormlog_peak_bytes", "device", DEVICE, "gauge", "")                          \
    X(USED, "stormlog_device_used_bytes", "", DEVICE, "gauge",                                  \
      "Memory of the device in use, as the driver reports it.")                                 \
    X(TOTAL, "stormlog_device_total_bytes", "", DEVICE, "gauge", "Memory of the device.")       \
    X(OOM_SECONDS, "stormlog_out_of_memory_seconds", "", DEVICE, "gauge",                       \
      "Time until the device is full at the present growth; absent when that is not expected.") \
    X(STEP, "stormlog_step", "", PROCESS, "gauge", "Number of the newest training step.")       \
    X(FAILURES, "stormlog_failed_requests_total", "", PROCESS, "counter",                       \
      "Requests for memory that failed.")                                                       \
    X(ALERTS, "stormlog_alerts_total", "", PROCESS, "counter", "Alerts of the recorder.")       \
    X(LOST, "stormlog_lost_total", "", PROCESS, "counter",                                      \
      "What is missing from the recording: dropped events and full tables.")                    \
    X(RESIDENT, "stormlog_host_resident_bytes", "", PROCESS, "gauge",                           \
      "Resident memory of the process on the host.")                                            \
    X(STATE, "stormlog_state", "", PROCESS, "gauge",                                            \
      "0 running, 1 exited, 2 exited by _exit, 3 killed, 4 unknown.")                           \
    X(INFO, "stormlog_info", "", PROCESS, "gauge", "1; its labels describe the process.")

typedef enum sl_agent_series {
#define SL_AGENT_SERIES_ENUM(id, name, kind, whose, type, help) SL_AGENT_##id,
    SL_AGENT_SERIES_MAP(SL_AGENT_SERIES_ENUM)
#undef SL_AGENT_SERIES_ENUM
        SL_AGENT_SERIES_CNT
} sl_agent_series;

typedef enum sl_agent_whose { SL_AGENT_OF_PROCESS, SL_AGENT_OF_DEVICE } sl_agent_whose;

typedef struct sl_agent_series_row {
    const char *name, *kind;
    sl_agent_whose whose;
    const char *type, *help;
} sl_agent_series_row;

extern const sl_agent_series_row sl_agent_series_rows[SL_AGENT_SERIES_CNT];

#endif
