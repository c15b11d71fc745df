/* SPDX-License-Identifier: MIT */
/* The reading half of the log: opens a .slog that is finished, was cut short by a kill, or is
 * being written, plain or compressed as a whole. Every byte comes through pread, never through a
 * mapping, so a file that shrinks under the reader is an error and not a SIGBUS. Every id and count
 * is checked before it is used; an error names the byte, what was expected and what was found.
 *
 * Threads: one thread per reader. Ownership: what a reader hands out is borrowed and lives until
 * the next load of the same kind or until the reader is closed. */
#ifndef SL_LOG_READER_H
#define SL_LOG_READER_H

#include "base/core/status.h"
#include "base/core/vec.h"
#include "base/files/byte_stream.h"
#include "log/layout/log_layout.h"

typedef struct sl_log_reader sl_log_reader;

typedef enum sl_log_ending {
    SL_LOG_CLOSED,  /* the writer closed it */
    SL_LOG_LIVE,    /* the writer holds it */
    SL_LOG_KILLED,  /* the writer is gone and did not close it */
    SL_LOG_LEFT,    /* the same, but it ended normally, by _exit */
    SL_LOG_UNCLEAR, /* not closed, and the file system cannot tell whether the writer lives */
} sl_log_ending;

/* A compressed file (gzip, zstd, xz) is unpacked into memory, see log_image.h. */
sl_status sl_log_open(const char *path, sl_log_reader **out, sl_error *err);

/* Everything but the events: tables, curves, lists. They come before the ring, which is most of a file, so of a
 * compressed file only its beginning is unpacked. A cursor finds no event. A file that was cut within the
 * ring opens, too: sl_log_is_cut. */
sl_status sl_log_open_head(const char *path, sl_log_reader **out, sl_error *err);
bool sl_log_is_cut(const sl_log_reader *reader); /* of a plain file opened by _open_head */

/* The same for what a stream still holds: a pipe, a file that is being unpacked. */
sl_status sl_log_open_stream(sl_byte_stream *in, sl_log_reader **out, sl_error *err);

/* The same for bytes in memory (borrowed until close); such a log counts as killed if not closed. */
sl_status sl_log_open_bytes(const void *bytes, size_t len, sl_log_reader **out, sl_error *err);

void sl_log_reader_close(sl_log_reader *reader); /* NULL is fine */

/* Reads the state anew; for live logs. */
sl_status sl_log_refresh(sl_log_reader *reader, sl_error *err);

const sl_fmt_header *sl_log_header(const sl_log_reader *reader);
const sl_fmt_state *sl_log_state(const sl_log_reader *reader); /* as of the last refresh */
sl_log_ending sl_log_get_ending(const sl_log_reader *reader);
const char *sl_log_ending_name(sl_log_ending ending);
uint64_t sl_log_size(const sl_log_reader *reader);
int32_t sl_log_rank(const sl_log_reader *reader); /* -1 = not known, as for the next two */
int32_t sl_log_local_rank(const sl_log_reader *reader);
int64_t sl_log_world_size(const sl_log_reader *reader);
int sl_log_exit_status(const sl_log_reader *reader); /* -1 = not known */

/* ---- names ---- */

/* Loads and checks strings, frames, stacks and labels; called by the others when needed. */
sl_status sl_log_load_names(sl_log_reader *reader, sl_error *err);

/* Empty for 0 and for ids that are not there. Not terminated. */
sl_str sl_log_get_string(const sl_log_reader *reader, uint32_t id);
sl_str sl_log_get_label(const sl_log_reader *reader, uint16_t label);

uint32_t sl_log_stack_cnt(const sl_log_reader *reader); /* one more than the largest id */
/* Innermost frame of a stack and the stack that called it; false for 0 and unknown ids. */
bool sl_log_get_frame(const sl_log_reader *reader, uint32_t stack, sl_fmt_frame *frame,
                      uint32_t *caller);

/* ---- events ---- */

typedef struct sl_log_record {
    uint64_t time_ns; /* since the start of the log */
    uint64_t addr;
    uint64_t size;
    uint32_t stack;
    uint32_t tid;
    uint16_t label;
    uint16_t tag;
    uint8_t kind;  /* sl_event_kind; a newer writer may use more */
    uint8_t flags; /* sl_record_flag */
    int8_t device;
    bool in_flight; /* not published: the writer died in the middle, see (L9) */
} sl_log_record;

typedef struct sl_log_cursor sl_log_cursor;

/* A cursor over everything that is in the ring now, in order of time. */
sl_status sl_log_cursor_new(sl_log_reader *reader, sl_log_cursor **out, sl_error *err);

/* 1 and *record set; 0 at the end; SL_E_LAPPED when the writer overtook the cursor: events are
 * missing (sl_log_cursor_lost counts them), and the caller may continue; any other negative code is
 * final. */
int sl_log_cursor_next(sl_log_cursor *cursor, sl_log_record *record, sl_error *err);

/* After 0: finds events published since; then continue with _next. Events of one thread come in
 * order; across threads they are in order of time within one scan, not from one scan to the next. */
sl_status sl_log_cursor_follow(sl_log_cursor *cursor, sl_error *err);

/* Events known to be lost so far: overwritten before this cursor could read them. */
uint64_t sl_log_cursor_lost(const sl_log_cursor *cursor);
/* Records whose stamp or kind is wrong although they are published: damaged, not delivered. */
uint64_t sl_log_cursor_torn(const sl_log_cursor *cursor);

void sl_log_cursor_free(sl_log_cursor *cursor); /* NULL is fine */

/* ---- tables ---- */

typedef struct sl_log_site {
    uint32_t id;
    uint32_t stack;
    uint16_t label;
    uint8_t domain; /* sl_domain */
    int device;
    uint64_t alloc_cnt, alloc_bytes;
    uint64_t free_cnt, free_bytes;
    uint64_t live_cnt, live_bytes;
    uint64_t peak_bytes;
    uint64_t first_ns;
    bool is_uncertain; /* two events of this site were cut off in ways that cannot be told apart */
} sl_log_site;

typedef struct sl_log_block {
    uint64_t addr, size, time_ns;
    uint32_t site;
    uint16_t label, tag;
    uint8_t domain;
    int device;
} sl_log_block;

typedef struct sl_log_intent {
    sl_log_record record;
    uint32_t site;
    uint32_t thread; /* slot */
    uint64_t phase;
    bool is_published; /* its record is in the ring */
} sl_log_intent;

typedef struct sl_log_thread_info {
    uint32_t tid;
    uint8_t state; /* sl_thread_state */
    char name[17];
    uint64_t first_ns, published;
} sl_log_thread_info;

/* Sites, live blocks, threads and intents. Of a dead writer they are exact: every intent has been
 * carried through (L8, L9). Of a living one they are a moment's view, each entry whole. */
typedef struct sl_log_tables {
    SL_VEC(sl_log_site) sites;   /* ascending ids; those that ever counted */
    SL_VEC(sl_log_block) blocks; /* in no order */
    SL_VEC(sl_log_intent) intents;
    SL_VEC(sl_log_thread_info) threads; /* by slot */
    uint64_t repaired_sites;            /* whose totals an intent completed */
    uint64_t uncertain_sites;
    uint64_t mismatched_sites; /* that break (L8) with no intent to explain it: damage */
    uint64_t first_mismatch;   /* byte position of the first of them */
    uint64_t bad_blocks;       /* slots whose site or domain cannot be: damage */
} sl_log_tables;

sl_status sl_log_load_tables(sl_log_reader *reader, sl_log_tables *out, sl_error *err);
void sl_log_tables_fini(sl_log_tables *tables);

/* ---- curves ---- */

typedef struct sl_log_counter_info {
    uint32_t idx;
    uint32_t kind; /* sl_counter_kind */
    int device;
    uint32_t name; /* string id */
    uint64_t last, last_ns;
    bool is_available;
    uint32_t why; /* string id, when it is not */
} sl_log_counter_info;

typedef struct sl_log_bin {
    uint64_t start_ns, length_ns;
    uint64_t min, max, last, cnt;
} sl_log_bin;

typedef SL_VEC(sl_log_counter_info) sl_log_counters;
typedef SL_VEC(sl_log_bin) sl_log_bins;

sl_status sl_log_load_counters(sl_log_reader *reader, sl_log_counters *out, sl_error *err);

/* The whole run, ascending: each stretch of time at the finest level that still has it. Bins
 * without a sample are left out; the value is then the last one before. */
sl_status sl_log_load_curve(sl_log_reader *reader, uint32_t counter, sl_log_bins *out,
                            sl_error *err);

/* ---- lists ---- */

typedef struct sl_log_mark_info {
    uint64_t number; /* of the record */
    uint8_t kind;    /* SL_EV_STEP, SL_EV_MARK_BEGIN, …; SL_EV_WORK_END */
    uint64_t time_ns;
    uint64_t step; /* its number: the program's, else counted from 0 */
    uint32_t name, tid;
    sl_maybe_u64 value; /* bytes allocated then */
} sl_log_mark_info;

typedef SL_VEC(sl_log_mark_info) sl_log_marks;
typedef SL_VEC(sl_fmt_alert) sl_log_alerts;
typedef SL_VEC(sl_fmt_oom) sl_log_ooms;

/* Records ever added to a list (SL_SECTION_MARKS, _ALERTS, _OOMS), as of the last refresh; also those
 * it has lost since. 0 when the file has no such list. */
uint64_t sl_log_list_used(const sl_log_reader *reader, uint32_t section);

/* Oldest first. What a list has lost by wrapping is its `used` less what is loaded. Of steps that the program ended
 * and steps that the recorder counted, sl_log_load_marks has only those of which there are more. */
sl_status sl_log_load_all_marks(sl_log_reader *reader, sl_log_marks *out, sl_error *err);
sl_status sl_log_load_marks(sl_log_reader *reader, sl_log_marks *out, sl_error *err);
sl_status sl_log_load_alerts(sl_log_reader *reader, sl_log_alerts *out, sl_error *err);
sl_status sl_log_load_ooms(sl_log_reader *reader, sl_log_ooms *out, sl_error *err);

#endif
