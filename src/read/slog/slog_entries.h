/* SPDX-License-Identifier: MIT */
/* What PyTorch's allocator handed over about its own work (record/torch/trace_tracker.h), as a
 * recording has it: requested sizes, streams and pools, frees that wait for another stream,
 * segments, and the allocator's settings. */
#ifndef SL_SLOG_ENTRIES_H
#define SL_SLOG_ENTRIES_H

#include "log/read/log_reader.h"
#include "model/trace.h"

typedef struct sl_slog_entries sl_slog_entries;

/* Borrows log and trace. SL_E_NOMEM and what reading can fail with. */
sl_status sl_slog_entries_new(sl_log_reader *log, sl_trace *trace, sl_slog_entries **out,
                              sl_error *err);
void sl_slog_entries_free(sl_slog_entries *entries); /* NULL is fine */

/* Before the event of a record enters the trace: its kind, stream and pool. A kind that is
 * SL_EV_UNKNOWN afterwards is not an event of the trace. False when memory ran out. */
bool sl_slog_entries_fill(sl_slog_entries *entries, const sl_log_record *record, sl_event *event);

/* The event is the newest of its device: adds what it was asked for. */
bool sl_slog_entries_pushed(sl_slog_entries *entries, const sl_log_record *record,
                            sl_device_trace *device);

/* After all events, when the live blocks of the end are in the trace, ascending. Where all segments
 * are known, the end state gets them; elsewhere the events of segments are taken out: half of them
 * would be worse than none.
 * lost_cnt: events that the ring no longer has. */
bool sl_slog_entries_finish(sl_slog_entries *entries, const sl_log_tables *tables,
                            uint64_t lost_cnt);

#endif
