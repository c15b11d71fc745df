/* SPDX-License-Identifier: MIT */
/* What a recording has of the host's memory: its tensors, and the newest readings of the host's counters. */
#ifndef SL_TOP_HOST_H
#define SL_TOP_HOST_H

#include "cli/top/top_end.h"

typedef enum sl_top_host_kind {
    SL_TOP_HOST_TENSORS,
    SL_TOP_HOST_RESIDENT,
    SL_TOP_HOST_AVAILABLE,
    SL_TOP_HOST_LIMIT
} sl_top_host_kind;

typedef struct sl_top_host_row {
    const char *name;
    bool is_counted; /* the recording has such a counter, readable or not */
    sl_maybe_u64 bytes;
} sl_top_host_row;

/* Of a finished recording the tensors are those at the end of its work. */
void sl_top_host_fill(sl_top_host_row rows[SL_TOP_HOST_LIMIT], const sl_log_counters *counters,
                      const sl_top_end *end);

#endif
