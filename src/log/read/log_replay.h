/* SPDX-License-Identifier: MIT */
/* Plays the events of a log again, to hold the result against the tables that the writer kept
 * itself (L10): two ways to the same numbers. Used by fsck and by the crash test. */
#ifndef SL_LOG_REPLAY_H
#define SL_LOG_REPLAY_H

#include "log/read/log_reader.h"

/* One address: a block while it lives, a free slot's memory of it afterwards. */
typedef struct sl_log_replay_slot {
    uint64_t addr; /* 0 = never used */
    uint64_t size;
    uint64_t time_ns;
    uint16_t place; /* domain << 8 | device */
    bool is_live;
} sl_log_replay_slot;

typedef struct sl_log_replay {
    sl_log_replay_slot *slots; /* owned; open addressing */
    size_t slot_cnt;           /* a power of two */
    size_t used;
    uint64_t live_blocks, live_bytes;
    uint64_t alloc_cnt, alloc_bytes;
    uint64_t free_cnt, free_bytes;
} sl_log_replay;

/* False when memory ran out. Events that were not tracked by the writer are left out. */
bool sl_log_replay_add(sl_log_replay *replay, const sl_log_record *record);

/* The same blocks and the same sums as in the tables; else an error that names the difference. */
sl_status sl_log_replay_compare(const sl_log_replay *replay, const sl_log_tables *tables,
                                sl_error *err);

void sl_log_replay_fini(sl_log_replay *replay);

#endif
