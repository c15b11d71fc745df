/* SPDX-License-Identifier: MIT */
/* The writing half of the log: what the recorder calls inside the target process.
 *
 * Two kinds of functions:
 *   control  sl_log_create, _maintain, _close, _after_fork_child: may call the kernel. One thread
 *            at a time, never the event path (_maintain belongs to a thread of the recorder).
 *   event    everything else: any thread, at any time between create and close. No lock, no
 *            malloc, no stdio; at most one clock read through the vDSO. They cannot fail: what
 *            does not fit is counted in the health table (stormlog/format.h) and left out.
 *
 * The caller keeps the order of one address: an alloc is reported after the allocator handed the
 * address out, a free before the allocator can hand it out again. Events of one address then
 * never run at the same time, which is what the live table relies on (L7).
 *
 * Nothing here takes ownership of a pointer; strings are copied. libc only. */
#ifndef SL_LOG_WRITER_H
#define SL_LOG_WRITER_H

#include "base/core/status.h"
#include "model/event.h"
#include "stormlog/format.h"

typedef struct sl_log sl_log;

/* Who is being recorded. NULL texts and negative numbers are "not known". Texts that are too long
 * for the header are cut and end in "…". */
typedef struct sl_log_identity {
    const char *job;
    const char *host;    /* NULL: gethostname */
    const char *exe;     /* NULL: /proc/self/exe */
    const char *cwd;     /* NULL: getcwd */
    const char *cmdline; /* arguments separated by one space; NULL: /proc/self/cmdline */
    int32_t rank, local_rank, world_size;
} sl_log_identity;

#define SL_LOG_RING_MAX (UINT64_C(1) << 40)

/* Zero means the default for every number. Capacities are maxima: the file is sparse and grows in
 * pieces while it is written. */
typedef struct sl_log_options {
    uint32_t struct_size; /* sizeof(sl_log_options) of the caller */
    uint32_t chunk_bytes; /* of the ring, a power of two >= 1024; default 64 KiB */
    const char *path;
    const sl_log_identity *identity; /* NULL: everything is found out or unknown */
    uint64_t ring_bytes;             /* default 256 MiB, at most SL_LOG_RING_MAX */
    uint64_t string_bytes;           /* default 32 MiB */
    uint64_t frame_cap;              /* default 512 Ki */
    uint64_t stack_cap;              /* default 2 Mi nodes */
    uint64_t site_cap;               /* default 256 Ki */
    uint64_t live_cap;               /* blocks in the first level of the live table; default 8 Ki */
    uint32_t live_levels;            /* each twice the one before, default 9 (4 Mi blocks) */
    uint32_t thread_cap;             /* default 4,096 */
    uint32_t counter_cap;            /* default 192: the host's and those of 16 devices */
    uint32_t curve_bins;             /* per level, a power of two >= 16; default 512 */
    uint64_t mark_cap;               /* default 1 Mi */
    uint32_t alert_cap;              /* default 4,096 */
    uint32_t oom_cap;                /* default 64 */
    bool overwrite;                  /* replace a file that nobody writes; else it is refused */
    bool reserve_all;                /* take the whole space at once instead of growing */
    bool starts_small;               /* begin with little space: one of many short processes */
    bool is_shared;                  /* other users may read the file (0644); else 0600 */
} sl_log_options;

/* Creates the file, reserves its first pieces and maps it. SL_E_NOSPACE when disk, quota or
 * `ulimit -f` is too small (nothing is left behind), SL_E_BUSY when another process writes this
 * file, SL_E_OPEN when it exists and overwrite is false. */
sl_status sl_log_create(const sl_log_options *options, sl_log **out, sl_error *err);

/* Call every 10 to 100 ms from a thread of the recorder: extends regions ahead of their use, rolls
 * curves up, closes the chunks of threads that ended, writes the heartbeat. A full disk is not an
 * error: the region stops growing and the health table says so. Bins of a curve that were not
 * rolled up within one turn of their ring (51 s at level 0) are overwritten. */
void sl_log_maintain(sl_log *log);

/* Marks the log as closed, gives the space back that was not used, unmaps and frees it. No event
 * function may run at the same time or later. NULL is fine. */
void sl_log_close(sl_log *log);

/* The two halves of it: the last words in the file, after which nothing touches it; and the memory. */
void sl_log_finish(sl_log *log);
void sl_log_free(sl_log *log);

/* In the child of a fork: lets go of the parent's file without writing to it, frees the log. Only
 * the calling thread exists then. Create a new log under another name for the child. `is_in_use`:
 * the fork came from a signal handler that interrupted this thread inside an event function; the
 * memory then stays, so that the event can end, and what it writes goes nowhere. */
void sl_log_after_fork_child(sl_log *log, bool is_in_use);

/* The memory that belongs to the file. Touching it can raise SIGBUS when somebody cuts the file
 * short; whoever catches that may put any other memory in its place: the functions here read
 * nothing from it that could lead them outside (L12). */
void sl_log_get_range(const sl_log *log, void **from, size_t *bytes);

/* Nanoseconds since the log was created (CLOCK_MONOTONIC). */
uint64_t sl_log_now_ns(const sl_log *log);

/* Ranks are often known only after the program's own start. Negative = not known. */
void sl_log_set_rank(sl_log *log, int32_t rank, int32_t local_rank, int32_t world_size);

/* The process ends with this status: at once by _exit, without a chance to close the log, or by exit. */
void sl_log_note_exit(sl_log *log, int status, bool is_at_once);

/* ---- names. Ids are never 0 for something that was stored; 0 = none, or no room (counted). ---- */

/* The id of these bytes, new or old; at most SL_FORMAT_STRING_MAX bytes are kept. */
uint32_t sl_log_string(sl_log *log, const char *bytes, size_t len);

typedef struct sl_log_frame {
    uint32_t function; /* string ids, 0 = not known */
    uint32_t file;
    uint32_t line; /* 0 = not known */
    uint32_t kind; /* SL_FRAME_PYTHON, … of stormlog/format.h */
} sl_log_frame;

uint32_t sl_log_frame_id(sl_log *log, const sl_log_frame *frame);

/* The frame with these texts; 0 also when one of them found no room: a frame without its name is
 * not stored. */
uint32_t sl_log_frame_of(sl_log *log, sl_str function, sl_str file, uint32_t line, uint32_t kind);

/* The stack "frame, called from `parent`"; parent 0 is the bottom. Build a stack from the
 * outermost frame inwards; keep ids of prefixes, they stay valid as long as the log. At the first 0 stop:
 * what comes after it would be a stack without its outer frames. Frame 0, one without room, gives 0. */
uint32_t sl_log_stack_child(sl_log *log, uint32_t parent, uint32_t frame);

/* A small number for a name that is attached to many events: calling library, tag, phase. At most
 * 4,095 of them. */
uint16_t sl_log_label(sl_log *log, const char *bytes, size_t len);

/* ---- events ---------------------------------------------------------------------------------- */

#define SL_LOG_UNKNOWN UINT64_MAX

/* One event of any kind of model/event.h. What it does beside being kept in the ring follows from
 * the kind (its effect in SL_EVENT_KIND_MAP): alloc, segment_alloc and driver_alloc enter the live table of
 * their domain and add to their site, the frees undo that; the others are only kept.
 * Zero-initialise, then set total_allocated and total_reserved to SL_LOG_UNKNOWN where the
 * allocator does not tell them; unknown totals leave the curves alone. */
typedef struct sl_log_event {
    uint8_t kind;  /* sl_event_kind */
    int8_t device; /* -1 = host */
    uint16_t
        label;     /* sl_log_label: calling library of a driver event; stream and pool of a block or
                       segment; 0 = not known */
    uint16_t tag;  /* sl_log_label: phase at birth, later the tag (sl_log_annotate); 0 = none */
    uint8_t flags; /* SL_RECORD_DELAYED or 0 */
    uint32_t stack; /* sl_log_stack_child, 0 = not recorded */
    uint64_t addr;
    uint64_t size;    /* bytes, below 2^48; a free may say 0 when it does not know */
    uint64_t time_ns; /* of sl_log_now_ns; 0 = now */
    uint64_t total_allocated;
    uint64_t total_reserved;
    /* Where the caller keeps the site for the next event with this stack: a word that begins as 0,
     * may be shared by threads and belongs to this log. NULL = nowhere, the site is looked up. */
    uint32_t *site_memo;
} sl_log_event;

void sl_log_write(sl_log *log, const sl_log_event *event);

/* An event of this kind, device and address is about to be written: asks for the memory it will
 * touch. Worth its few instructions where something else is done in between, reading a stack for
 * example; changes nothing. */
void sl_log_expect(const sl_log *log, const sl_log_event *event);

/* Says what a live block is for: replaces its tag in the live table, where the tag outlives the ring,
 * and keeps an SL_EV_ANNOTATE event. Nothing is done when it has this tag already. False when there is
 * no such block. The caller sees to it that the block is not freed meanwhile (L7); where that fails the
 * tag may end on another block of the same site. */
bool sl_log_annotate(sl_log *log, uint64_t addr, int8_t device, uint16_t tag);

/* A step of the program ended; device totals are kept with it. name: string id, 0 = none. */
void sl_log_step(sl_log *log, uint64_t number, uint32_t name);

/* A named range began or ended, or a point was passed: SL_EV_MARK_BEGIN, SL_EV_MARK_END, or
 * SL_EV_ANNOTATE for a point. SL_EV_WORK_END, without a name: what comes after is teardown. */
void sl_log_mark(sl_log *log, sl_event_kind kind, uint32_t name);

/* SL_EV_SETTINGS (sl_settings_from) and SL_EV_TRACKING (sl_tracking), with their text. */
void sl_log_mark_number(sl_log *log, sl_event_kind kind, uint64_t number, uint32_t name);

typedef struct sl_log_alert {
    uint32_t rule; /* string ids */
    uint32_t text;
    int32_t device;
    uint32_t severity; /* 0 info, 1 warning, 2 critical */
    uint64_t value;
    uint64_t threshold;
} sl_log_alert;

/* Rate limits are the caller's. */
void sl_log_alert_add(sl_log *log, const sl_log_alert *alert);

typedef struct sl_log_oom {
    int32_t device;
    uint32_t stack;
    uint32_t message; /* string id, 0 = none */
    uint64_t requested;
    uint64_t allocated, reserved, device_free, device_total; /* SL_LOG_UNKNOWN where not known */
} sl_log_oom;

/* Keeps the request and the sites that hold most on this device at this moment. Reads every site,
 * 64 bytes each: for an event that ends the program or makes its allocator start over. */
void sl_log_oom_add(sl_log *log, const sl_log_oom *oom);

/* How many were added so far. */
uint64_t sl_log_oom_count(const sl_log *log);

/* ---- counters -------------------------------------------------------------------------------- */

/* The number of a counter, made on first use; -1 when the table is full. name: string id, only for
 * SL_COUNTER_CUSTOM. "allocated" and "reserved" of a device are made and fed by sl_log_write. */
int sl_log_counter(sl_log *log, sl_counter_kind kind, int device, uint32_t name);

/* A new value (below 2^48) now; keeps minimum, maximum, last and count per bin. */
void sl_log_counter_set(sl_log *log, int counter, uint64_t value);

/* The value is not available (no driver, no permission): readers show "unknown", never 0. why:
 * string id. A later _set makes it valid again. */
void sl_log_counter_unavailable(sl_log *log, int counter, uint32_t why);

/* ---- the rest -------------------------------------------------------------------------------- */

/* Adds to a health counter, for failures that only the recorder sees. */
void sl_log_health_add(sl_log *log, sl_health_kind kind, uint64_t n);

/* The calling thread ends and gives its chunk back. Optional: maintain notices ended threads. */
void sl_log_thread_exit(sl_log *log);

/* Name of the calling thread as readers show it; cut to 15 bytes. NULL: ask the kernel. */
void sl_log_thread_name(sl_log *log, const char *name);

#endif
