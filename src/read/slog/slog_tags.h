/* SPDX-License-Identifier: MIT */
/* The tags of a recording: what each block was for, from the annotations, the phases of the
 * allocations, the stacks, and what happened to a block later (model/tag_rules.h). Fed with the
 * records in order of time; writes the tag column of the trace and answers for the end state.
 *
 * A block's tag is decided when it dies or when the recording ends, and holds from its birth on. */
#ifndef SL_SLOG_TAGS_H
#define SL_SLOG_TAGS_H

#include "log/read/log_reader.h"
#include "model/trace.h"

typedef struct sl_slog_tags sl_slog_tags;

/* Borrows both until it is freed. SL_E_NOMEM, or what reading the marks gives. */
sl_status sl_slog_tags_new(sl_trace *trace, sl_log_reader *log, sl_slog_tags **out, sl_error *err);
void sl_slog_tags_free(sl_slog_tags *tags); /* NULL is fine */

/* The next record. Of an alloc: `device` has it as its last event; else NULL is fine. False when
 * memory ran out. */
bool sl_slog_tags_add(sl_slog_tags *tags, const sl_log_record *record, sl_device_trace *device);

/* No more records: decides for every block that is still live. Before the columns are sorted. */
void sl_slog_tags_finish(sl_slog_tags *tags);

/* The live table is about to be asked about. After _finish. */
void sl_slog_tags_see_tables(sl_slog_tags *tags, const sl_log_tables *tables);

/* The tag of a block of the live table; its alloc's event gets it too. */
sl_tag sl_slog_tags_block(sl_slog_tags *tags, const sl_log_tables *tables,
                          const sl_log_block *block);

#endif
