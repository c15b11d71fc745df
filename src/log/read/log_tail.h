/* SPDX-License-Identifier: MIT */
/* Small parts of a recording, for a reader that comes back every few seconds: the bins of a curve in a stretch of
 * time, one record of a list, one string. Each costs a few reads of a few hundred bytes, where the functions of
 * log_reader.h load whole sections. The reader was opened or refreshed just now. */
#ifndef SL_LOG_TAIL_H
#define SL_LOG_TAIL_H

#include "log/read/log_reader.h"

/* The newest time of the recording: its end, or the writer's last heartbeat. */
uint64_t sl_log_newest_ns(const sl_log_reader *reader);

/* Length of the bins in which a curve still has this moment: 100 ms for the last 51 s, then four times as long
 * for each level. */
uint64_t sl_log_bin_ns(const sl_log_reader *reader, uint64_t time_ns);

/* Appends the bins that end in (from_ns, to_ns], ascending, each stretch of time at the finest level that still
 * has it. Bins without a sample are skipped: the value is then the last one before. */
sl_status sl_log_load_window(sl_log_reader *reader, uint32_t counter, uint64_t from_ns,
                             uint64_t to_ns, sl_log_bins *out, sl_error *err);

/* The last bin that ends at or before this time: what held then. False when there is none. */
sl_status sl_log_find_before(sl_log_reader *reader, uint32_t counter, uint64_t time_ns,
                             sl_log_bin *bin, bool *is_found, sl_error *err);

/* A record of the marks, alerts or out-of-memory records, without what only one of them has. */
typedef struct sl_log_list_entry {
    bool is_there; /* false: overwritten, or not complete */
    uint8_t kind;
    uint64_t time_ns;
    uint64_t number; /* of a step, as sl_log_mark_info */
} sl_log_list_entry;

/* Record `i` of a list; records are numbered from 0 to sl_log_list_used - 1. */
sl_status sl_log_read_entry(sl_log_reader *reader, uint32_t section, uint64_t i,
                            sl_log_list_entry *entry, sl_error *err);

/* How many records of the list are not after this time; those that are overwritten count. */
sl_status sl_log_count_until(sl_log_reader *reader, uint32_t section, uint64_t time_ns,
                             uint64_t *cnt, sl_error *err);

/* One string, terminated, cut to cap - 1 bytes; "" when there is none. */
sl_status sl_log_read_string(sl_log_reader *reader, uint32_t id, char *to, size_t cap,
                             sl_error *err);

#endif
