/* SPDX-License-Identifier: MIT */
/* The trace: what every reader produces and every analysis and exporter consumes.
 *
 * Ownership: a trace owns everything reachable from it; it all dies in sl_trace_free. Indexes and
 * ids are handed out, never pointers that would break when a column grows.
 * Threads: one thread builds a trace; afterwards it is read-only and may be shared.
 *
 * Invariants, cited by number:
 * (T1) All columns of one sl_events have the same length, and row i is the i-th event of that
 *      device in the order in which it happened. Time never goes backwards within a device: a
 *      reader that meets disorder sorts stably and says so in a note.
 * (T2) Sizes are the client's requested bytes where `has_requested_sizes` says so, and the
 *      allocator's rounded bytes otherwise.
 * (T3) The end state (segments, blocks) describes the moment after the last event.
 * (T4) String, stack and frame ids are those of this trace; an id from a file was checked by the
 *      reader, so later stages index without checking.
 * (T5) `end` is the moment at which the program's work was over and its teardown began, where the
 *      input says so. Events [0, end_cnt) of a device come before it, the others are teardown. */
#ifndef SL_TRACE_H
#define SL_TRACE_H

#include "base/core/arena.h"
#include "base/core/status.h"
#include "base/core/strtab.h"
#include "base/core/vec.h"
#include "model/event.h"
#include "model/process.h"
#include "model/stack.h"
#include "model/tag.h"

#define SL_DEVICE_HOST (-1)
#define SL_IDX_NONE    UINT32_MAX

/* One device's events as columns (T1). */
typedef struct sl_events {
    size_t cnt;
    size_t cap;
    int64_t *time_us;     /* the input's own clock; the event's index where there is none */
    uint64_t *addr;       /* meaning by kind: model/event.h */
    uint64_t *size_bytes; /* (T2) */
    uint32_t *stack_id;   /* of the allocation or of the free, as recorded */
    uint16_t *stream_idx; /* into sl_trace.streams */
    uint16_t *pool_idx;   /* into sl_trace.pools; SL_POOL_UNKNOWN before torch 2.12 */
    uint8_t *kind;        /* sl_event_kind */
    uint8_t *tag;         /* sl_tag of the block an ALLOC hands out; SL_TAG_UNKNOWN elsewhere */
    /* What an ALLOC was asked for, where size_bytes is the block's: sl_events_set_requested. NULL = not known. */
    uint64_t *requested_bytes;
} sl_events;

#define SL_POOL_UNKNOWN UINT16_MAX

/* What one event is when it is handed over as a value. */
typedef struct sl_event {
    int64_t time_us;
    uint64_t addr;
    uint64_t size_bytes;
    uint32_t stack_id;
    uint16_t stream_idx;
    uint16_t pool_idx;
    sl_event_kind kind;
    sl_tag tag;
} sl_event;

/* An allocator pool: (0,0) is the default one, anything else is private (CUDA graphs, MemPool). */
typedef struct sl_pool {
    int64_t capture_id;
    int64_t user_id;
} sl_pool;

typedef struct sl_segment {
    uint64_t addr;
    uint64_t total_bytes;
    uint64_t allocated_bytes; /* rounded bytes of blocks in use */
    uint64_t active_bytes;    /* the same plus those waiting to be freed */
    uint64_t requested_bytes;
    uint32_t stack_id;
    uint32_t first_block; /* into sl_device_trace.blocks */
    uint32_t block_cnt;
    uint16_t stream_idx;
    uint16_t pool_idx;
    bool is_large;
    bool is_expandable;
} sl_segment;

typedef enum sl_block_state {
    SL_BLOCK_INACTIVE = 0,
    SL_BLOCK_ALLOCATED = 1,
    SL_BLOCK_PENDING_FREE = 2, /* dropped, waiting for another stream */
} sl_block_state;

/* A block of the end state (T3). */
typedef struct sl_block {
    uint64_t addr;
    uint64_t size_bytes;      /* rounded */
    uint64_t requested_bytes; /* meaningless for an inactive block */
    uint32_t stack_id;
    uint32_t segment_idx; /* SL_IDX_NONE when the input knows no segments */
    uint8_t state;        /* sl_block_state */
    uint8_t tag;          /* sl_tag */
} sl_block;

/* For qsort: by address. */
int sl_block_compare_addr(const void *a, const void *b);

typedef struct sl_device_trace {
    int device; /* index, or SL_DEVICE_HOST */
    sl_events events;
    SL_VEC(sl_segment) segments; /* ascending addresses */
    SL_VEC(sl_block) blocks;     /* grouped by segment, ascending addresses */
    sl_maybe_u64 capacity_bytes; /* of the card, or the limit set for the process */
    bool has_end_state;          /* segments and blocks are those of (T3) */
    uint64_t dropped_events;     /* lost before this trace was read, as far as known */
    size_t end_cnt; /* events before the end of the work (T5); means nothing without it */
} sl_device_trace;

/* A named range or point that the program or the framework marked. */
typedef enum sl_mark_kind { SL_MARK_BEGIN, SL_MARK_END, SL_MARK_POINT, SL_MARK_STEP } sl_mark_kind;

typedef struct sl_mark {
    int64_t time_us;
    uint32_t name; /* string id */
    int32_t device;
    uint64_t number; /* of the step, for SL_MARK_STEP */
    sl_mark_kind kind;
} sl_mark;

/* For qsort: by time. */
int sl_mark_compare_time(const void *a, const void *b);

typedef enum sl_source_kind {
    SL_SOURCE_SLOG,
    SL_SOURCE_TORCH_SNAPSHOT,
    SL_SOURCE_TELEMETRY,
    SL_SOURCE_OOM_BUNDLE,
} sl_source_kind;

/* One stretch of a counter that the recorder read now and then. */
typedef struct sl_reading {
    int64_t from_us, to_us; /* from == to for a single reading */
    uint64_t min, max, last;
} sl_reading;

/* A counter over the whole run, also over the part whose events are gone. */
typedef struct sl_counter_series {
    int device;
    uint32_t name; /* string id: "device_used", "process_used", "library:libnccl", ... */
    uint32_t unit; /* string id: "bytes", ... */
    uint32_t why;  /* string id: why it could not be read any more at the end; 0 = it could */
    SL_VEC(sl_reading) readings; /* ascending time, not overlapping */
} sl_counter_series;

/* A threshold that was crossed. */
typedef struct sl_alert {
    int64_t time_us;
    int device;
    uint32_t text;     /* string id: what was crossed, in words */
    uint32_t severity; /* string id: "warning", "critical" */
    uint64_t value, threshold;
} sl_alert;

/* For qsort: by time. */
int sl_alert_compare_time(const void *a, const void *b);

/* The allocator's settings at the time of the dump, where the input has them. */
typedef struct sl_allocator_settings {
    uint32_t conf; /* string id of the configuration text, 0 = none */
    sl_maybe_u64 max_split_bytes;
    sl_maybe_f64 gc_threshold;
    bool expandable_known;
    bool is_expandable;
} sl_allocator_settings;

/* One change of the allocator's settings, as a text of PYTORCH_CUDA_ALLOC_CONF; the first is what the
 * environment says. */
typedef struct sl_settings_change {
    int64_t time_us;
    uint32_t text;   /* string id; 0 = no setting is named */
    bool is_program; /* the program made it while it ran */
} sl_settings_change;

/* (T5). Without a mark the process was killed, left by _exit, or is still running; or the input is
 * not a recording, or an old one. */
typedef struct sl_work_end {
    bool is_marked;
    int64_t time_us;
    bool is_unmarked_exit; /* a process that ended by itself, recorded before ends were marked */
} sl_work_end;

/* What a reader wants the user to know about the input: a sentence, borrowed from the arena. */
typedef struct sl_note {
    const char *text;
} sl_note;

/* Which folders hold the user's own code, where somebody said so; otherwise only folders of packages and of
 * the interpreter are libraries (run/lines/user_line.h).
 *
 * A folder that begins with '/' is meant from the root; any other one wherever it is in a path: "vendor/x"
 * is that of "/home/me/vendor/x/y.py" and of "vendor/x/y.py". */
typedef struct sl_code_folder {
    const char *path; /* without a '/' at its end */
    bool is_users;
} sl_code_folder;

typedef struct sl_code_folders {
    const sl_code_folder *at;
    size_t cnt;
} sl_code_folders;

typedef struct sl_trace {
    sl_arena arena;
    sl_strtab strings;
    sl_stacks stacks;
    SL_VEC(sl_device_trace *) devices;  /* owned; ascending device index */
    SL_VEC(uint64_t) streams;           /* stream_idx -> raw stream handle */
    SL_VEC(sl_pool) pools;              /* pool_idx -> pool; index 0 is the default pool */
    SL_VEC(sl_mark) marks;              /* ascending time */
    SL_VEC(sl_counter_series) counters; /* of a recording; empty elsewhere */
    SL_VEC(sl_alert) alerts;            /* ascending time */
    sl_work_end end;
    SL_VEC(sl_note) notes;
    sl_allocator_settings settings;
    SL_VEC(sl_settings_change) settings_changes; /* of a recording, ascending time */
    struct sl_telemetry *telemetry; /* owned; the samples of a telemetry input, NULL otherwise */
    const char *path;               /* in the arena; as the user named it */
    sl_source_kind source;
    const sl_code_folders *code; /* borrowed; set by the caller of the reader; NULL = not set */
    sl_process process;          /* of a recording */
    const char *identity;        /* what ran, where and when, in words; in the arena, or NULL */
    const char *oom_message;     /* error text found in the input, in the arena, or NULL */
    bool has_requested_sizes;    /* (T2) */
    bool has_time;               /* time_us is a clock, not an index */
    bool has_event_stacks;       /* events carry stacks at all */
    bool has_tags;               /* the input records what blocks are for */
    bool is_live;                /* the writer was still running when this was read */
    uint64_t unknown_keys;       /* met and skipped by the reader */
    uint64_t unknown_actions;    /* skipped by the reader and not in the columns */
} sl_trace;

/* NULL when memory ran out. */
sl_trace *sl_trace_new(const char *path, sl_source_kind source);
void sl_trace_free(sl_trace *trace); /* NULL is fine */

/* The device's part, made on first use; NULL when memory ran out. Keeps devices ascending. */
sl_device_trace *sl_trace_device(sl_trace *trace, int device);

/* The same without making it. */
const sl_device_trace *sl_trace_find_device(const sl_trace *trace, int device);

/* Index of a stream handle or pool, new or old. The table holds 65,534 entries; later ones share
 * the last index, which keeps every total right and only blurs the split by stream. */
uint16_t sl_trace_stream(sl_trace *trace, uint64_t handle);
uint16_t sl_trace_pool(sl_trace *trace, int64_t capture_id, int64_t user_id);

/* Adds a sentence for the user; printf. A note that does not fit into memory is lost. */
void sl_trace_note(sl_trace *trace, const char *fmt, ...) SL_PRINTF(2, 3);

/* Appends one event; false when memory ran out (nothing changed). */
bool sl_events_push(sl_events *events, const sl_event *event);

/* What the newest event was asked for. Makes the column, with the sizes of the events so far; every later event
 * begins with its own size. False when memory ran out. */
bool sl_events_set_requested(sl_events *events, uint64_t bytes);

/* Keeps the events for which `keeps` is true, in their order. Returns how many of the first `before` it kept. */
size_t sl_events_filter(sl_events *events, bool (*keeps)(const sl_events *events, size_t i),
                        size_t before);

/* Room for `more` further events in every column. */
bool sl_events_reserve(sl_events *events, size_t more);

/* Event i as a value. */
sl_event sl_events_get(const sl_events *events, size_t i);

/* Restores (T1) after disorder. Returns the number of events that stood out of order, 0 when the
 * columns were fine, or -1 when memory ran out. */
int64_t sl_events_sort(sl_events *events);

/* How many of these events, which ascend in time, are not after it. */
size_t sl_events_count_until(const sl_events *events, int64_t time_us);

/* Removes the oldest `cnt` events; at most as many as there are. */
void sl_events_drop_first(sl_events *events, size_t cnt);

void sl_events_fini(sl_events *events);

#endif
