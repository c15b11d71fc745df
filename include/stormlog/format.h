/* SPDX-License-Identifier: MIT */
/* The .slog file, version 1: constants and structures as they lie on disk. docs/format.md is the
 * normative text and explains every field; this header is for programs that read the bytes
 * themselves. Everything is little endian. Words that a running writer changes are marked (live);
 * they must be read with one 8-byte (or 4-byte) load each.
 *
 * Numbers are on disk: append, never renumber. */
#ifndef SL_FORMAT_H
#define SL_FORMAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_FORMAT_MAGIC       "\x89SLOG\r\n\x1a"
#define SL_FORMAT_MAGIC_BYTES 8
#define SL_FORMAT_MAJOR       1
#define SL_FORMAT_MINOR       1 /* the newest there is; a file without columns is 1.0 */

#define SL_FORMAT_HEADER_BYTES    4096
#define SL_FORMAT_STATE_BYTES     4096
#define SL_FORMAT_SECTION_MAX     32
#define SL_FORMAT_SECTION_ALIGN   256
#define SL_FORMAT_HEALTH_MAX      64
#define SL_FORMAT_STRING_MAX      4095 /* bytes of one interned string */
#define SL_FORMAT_STACK_DEPTH_MAX 4096
#define SL_FORMAT_LEVEL_MAX       12 /* levels of a curve */
#define SL_FORMAT_LIVE_LEVEL_MAX  16
#define SL_FORMAT_BUCKET_SLOTS    8  /* blocks in one bucket of the live table */
#define SL_FORMAT_HOLDER_MAX      32 /* sites kept with an out-of-memory */

/* number, enumerator, name, bytes of a record (0: in the section table), what one record is. */
#define SL_SECTION_MAP(X)                                           \
    X(1, STRINGS, "strings", 8, "8 bytes of the string area")       \
    X(2, FRAMES, "frames", 16, "a frame")                           \
    X(3, STACKS, "stacks", 8, "a node of the stack tree")           \
    X(4, SITES, "sites", 64, "totals of one stack on one device")   \
    X(5, LABELS, "labels", 8, "the string id of a label")           \
    X(6, THREADS, "threads", 128, "a thread and what it was doing") \
    X(7, COUNTERS, "counters", 128, "a counter")                    \
    X(8, CURVES, "curves", 0, "all bins of one counter")            \
    X(9, MARKS, "marks", 40, "a step or mark")                      \
    X(10, ALERTS, "alerts", 48, "an alert")                         \
    X(11, OOMS, "ooms", 896, "an out-of-memory")                    \
    X(12, RING, "ring", 0, "a chunk of events")                     \
    X(13, LIVE, "live", 256, "a bucket of the live table")

typedef enum sl_section_kind {
    SL_SECTION_NONE = 0,
#define SL_SECTION_ENUM(number, name, text, bytes, meaning) SL_SECTION_##name = number,
    SL_SECTION_MAP(SL_SECTION_ENUM)
#undef SL_SECTION_ENUM
        SL_SECTION_LIMIT
} sl_section_kind;

/* How the records of a section lie in the file. Columns are for rings of files at rest. */
enum sl_section_form { SL_FORM_RECORDS = 0, SL_FORM_COLUMNS = 1 };

/* number, enumerator, name, whether it means that data is missing (1) or only tells (0), meaning. */
#define SL_HEALTH_MAP(X)                                                                          \
    X(0, DROPPED, "dropped", 1, "events that found no room in the ring")                          \
    X(1, SKIPPED_CHUNKS, "skipped_chunks", 0, "chunks passed over because a thread held them")    \
    X(2, STRING_OVERFLOW, "string_overflow", 1, "strings that found no room")                     \
    X(3, FRAME_OVERFLOW, "frame_overflow", 1, "frames that found no room")                        \
    X(4, STACK_OVERFLOW, "stack_overflow", 1, "stack nodes that found no room")                   \
    X(5, SITE_OVERFLOW, "site_overflow", 1, "events counted at the common site for want of room") \
    X(6, LIVE_OVERFLOW, "live_overflow", 1, "blocks that found no room in the live table")        \
    X(7, LABEL_OVERFLOW, "label_overflow", 1, "labels that found no room")                        \
    X(8, THREAD_OVERFLOW, "thread_overflow", 1, "events of threads that found no slot")           \
    X(9, COUNTER_OVERFLOW, "counter_overflow", 1, "counters that found no room")                  \
    X(10, CURVE_LATE, "curve_late", 1, "samples too old for every bin")                           \
    X(11, UNKNOWN_FREE, "unknown_free", 0, "frees of addresses that were not live")               \
    X(12, DOUBLE_ALLOC, "double_alloc", 0, "allocs of live addresses; the old block was freed")   \
    X(13, SIZE_MISMATCH, "size_mismatch", 0, "frees whose size differs from the alloc's")         \
    X(14, SIZE_CLAMPED, "size_clamped", 1, "sizes or values of 2^48 and more")                    \
    X(15, BAD_EVENT, "bad_event", 1, "events of no known kind or without an address")             \
    X(16, EXTEND_FAILED, "extend_failed", 1, "regions that could not grow (disk full?)")          \
    X(17, HOOK_FAILURE, "hook_failure", 1, "hooks that could not be set or failed")               \
    X(18, STACK_FAILURE, "stack_failure", 1, "stacks that could not be read")                     \
    X(19, REENTRY, "reentry", 0, "events from inside the recorder, left out")                     \
    X(20, SAMPLE_FAILURE, "sample_failure", 0, "counters that could not be read")                 \
    X(21, TAG_LIMIT, "tag_limit", 1, "tensors of optimizers that were too many to look at")

typedef enum sl_health_kind {
#define SL_HEALTH_ENUM(number, name, text, lossy, meaning) SL_HEALTH_##name = number,
    SL_HEALTH_MAP(SL_HEALTH_ENUM)
#undef SL_HEALTH_ENUM
        SL_HEALTH_LIMIT
} sl_health_kind;

/* number, enumerator, name, unit. */
#define SL_COUNTER_MAP(X)                                \
    X(1, ALLOCATED, "allocated", "bytes")                \
    X(2, RESERVED, "reserved", "bytes")                  \
    X(3, ACTIVE, "active", "bytes")                      \
    X(4, DEVICE_USED, "device_used", "bytes")            \
    X(5, DEVICE_TOTAL, "device_total", "bytes")          \
    X(6, PROCESS_USED, "process_used", "bytes")          \
    X(7, DRIVER_USED, "driver_used", "bytes")            \
    X(8, HOST_RSS, "host_rss", "bytes")                  \
    X(9, HOST_AVAILABLE, "host_available", "bytes")      \
    X(10, HOST_CGROUP, "host_cgroup", "bytes")           \
    X(11, UTILIZATION, "utilization", "percent")         \
    X(12, MEM_UTILIZATION, "mem_utilization", "percent") \
    X(13, TEMPERATURE, "temperature", "celsius")         \
    X(14, POWER, "power", "milliwatt")                   \
    X(15, EVENT_RATE, "event_rate", "1/s")               \
    X(16, CUSTOM, "custom", "1")

typedef enum sl_counter_kind {
    SL_COUNTER_NONE = 0,
#define SL_COUNTER_ENUM(number, name, text, unit) SL_COUNTER_##name = number,
    SL_COUNTER_MAP(SL_COUNTER_ENUM)
#undef SL_COUNTER_ENUM
        SL_COUNTER_LIMIT
} sl_counter_kind;

enum sl_frame_kind { SL_FRAME_PYTHON = 1, SL_FRAME_NATIVE = 2, SL_FRAME_PSEUDO = 3 };

/* Who hands an address out. Blocks of different domains may share an address. */
enum sl_domain {
    SL_DOMAIN_NONE = 0,    /* of an event that is about no memory; not in a file */
    SL_DOMAIN_BLOCK = 1,   /* the framework's allocator */
    SL_DOMAIN_SEGMENT = 2, /* what that allocator holds */
    SL_DOMAIN_DRIVER = 3,  /* the driver, asked by any library */
    SL_DOMAIN_LIMIT = 4,
    SL_DOMAIN_OTHER = 255 /* site 0: events of sites that found no room */
};

enum sl_closing { SL_CLOSING_RUNNING = 1, SL_CLOSING_CLOSED = 2 };

/* Bits of left_word. */
enum sl_left { SL_LEFT_AT_ONCE = 1, SL_LEFT_BY_EXIT = 2 };

enum sl_record_flag {
    SL_RECORD_IMPLICIT = 1,  /* a free that nobody reported, found by an alloc of its address */
    SL_RECORD_UNTRACKED = 2, /* not in sites and live table: no room, or a free of nothing */
    SL_RECORD_DELAYED = 4 /* a free whose memory waits for another stream; a "reusable" follows */
};

/* The low byte of the number of a mark "tracking"; the device is above it. */
enum sl_tracking {
    SL_TRACKING_OFF = 0,  /* the name says why */
    SL_TRACKING_LATE = 1, /* segments from before the recording are missing */
    SL_TRACKING_WHOLE = 2 /* every segment is among the events */
};

/* The number of a mark "settings". */
enum sl_settings_from { SL_SETTINGS_ENVIRONMENT = 0, SL_SETTINGS_PROGRAM = 1 };

typedef struct sl_fmt_section {
    uint32_t kind; /* sl_section_kind */
    uint32_t record_bytes;
    uint64_t offset; /* of the first record */
    uint64_t cap;    /* records that would ever fit */
    uint32_t level;  /* of the live table; else 0 */
    uint32_t form;   /* sl_section_form, since 1.1 */
} sl_fmt_section;

/* Bytes 0..4095. Written once, covered by header_crc. Texts are terminated and zero-filled. */
typedef struct sl_fmt_header {
    uint8_t magic[SL_FORMAT_MAGIC_BYTES];
    uint16_t version_major, version_minor;
    uint16_t oldest_major, oldest_minor; /* the oldest reader version that may read this file */
    uint32_t header_crc;                 /* CRC-32 (IEEE) of these 4096 bytes with this field 0 */
    uint32_t header_bytes;
    uint32_t section_cnt;
    uint32_t state_offset;
    uint64_t file_bytes; /* size of the file while it is written */
    uint64_t start_mono_ns;
    uint64_t start_wall_ns; /* since 1970, read together with start_mono_ns … */
    uint64_t start_gap_ns;  /* … within this time */
    uint32_t pid;
    uint32_t chunk_bytes;
    uint32_t curve_bins;
    uint32_t curve_levels;
    uint64_t curve_bin_ns; /* of level 0; each further level is four times longer */
    char writer[32];
    sl_fmt_section sections[SL_FORMAT_SECTION_MAX];
    char job[128];
    char host[128];
    char exe[512];
    char cwd[512];
    char cmdline[1600];
    uint32_t parent_pid; /* at the start; 0 = not known */
    uint8_t unused[68];
} sl_fmt_header;

typedef struct sl_fmt_watermark {
    uint64_t reserved; /* (live) records that have their space on disk */
    uint64_t used;     /* (live) records given out; meaning by section in docs/format.md */
} sl_fmt_watermark;

/* Bytes state_offset .. +4095: everything about the file that changes. */
typedef struct sl_fmt_state {
    uint64_t closing;      /* (live) sl_closing */
    uint64_t heartbeat_ns; /* (live) last time the writer's own thread ran, since the start */
    uint64_t closed_ns;    /* (live) 0 while open */
    uint64_t rank_word;    /* (live) low half rank, high half local rank, as int32; -1 unknown */
    uint64_t world_word;   /* (live) world size as int64; -1 unknown */
    uint64_t
        left_word; /* (live) sl_left: it called _exit; exit, or main returned; bits 8..15 its status */
    uint64_t unused_a[2];
    sl_fmt_watermark marks[SL_FORMAT_SECTION_MAX]; /* by section index */
    uint64_t health[SL_FORMAT_HEALTH_MAX];         /* (live) by sl_health_kind */
    uint8_t unused_b[4096 - 64 - 16 * SL_FORMAT_SECTION_MAX - 8 * SL_FORMAT_HEALTH_MAX];
} sl_fmt_state;

/* A string lies at byte 8 * id of its section: this head, then the bytes, padded to 8. */
typedef struct sl_fmt_string {
    uint32_t len;   /* (live) 0 = not complete */
    uint32_t check; /* CRC-32 of the bytes */
} sl_fmt_string;

typedef struct sl_fmt_frame {
    uint32_t function, file; /* string ids */
    uint32_t line;
    uint32_t kind; /* (live) sl_frame_kind, 0 = not complete */
} sl_fmt_frame;

/* One 8-byte word: low half parent (below the own id), high half frame id (0 = not complete). */
typedef struct sl_fmt_stack {
    uint32_t parent, frame;
} sl_fmt_stack;

typedef struct sl_fmt_site {
    uint32_t stack;
    uint16_t label;
    int8_t device;
    uint8_t domain;                  /* 0 = not complete */
    uint64_t alloc_cnt, alloc_bytes; /* (live) all-time */
    uint64_t free_cnt, free_bytes;   /* (live) all-time */
    uint64_t unused;                 /* the first files have their difference here */
    uint64_t peak_bytes;             /* (live) largest alloc_bytes - free_bytes ever */
    uint64_t first_ns;
} sl_fmt_site;

/* What a thread is about to do; see "In flight" in docs/format.md. */
typedef struct sl_fmt_intent {
    uint64_t w0; /* (live) as in sl_fmt_record without stamp, 0 = nothing in flight */
    uint64_t addr;
    uint64_t w2, w3;   /* as in sl_fmt_record; the time counts from the start of the log */
    uint64_t position; /* ticket << 16 | index of the record-to-be; 0 = it will be dropped */
    uint64_t site;     /* site id */
    uint64_t time_ns;
    uint64_t phase; /* (live) first step that is not known to be done */
} sl_fmt_intent;

typedef struct sl_fmt_thread {
    uint64_t word; /* (live) low half thread id, high half 0 free, 1 in use, 2 ended */
    char name[16]; /* (live) two words */
    uint64_t first_ns;
    uint64_t published; /* (live) events ever published through this slot */
    uint64_t chunk;     /* (live) 1 + slot of the chunk it has open, 0 = none */
    uint64_t unused[2];
    sl_fmt_intent intent;
} sl_fmt_thread;

typedef struct sl_fmt_counter {
    uint64_t word;    /* (live) kind 8 bits, state 8, device 16 (signed), name string id 32 */
    uint64_t last;    /* (live) newest value */
    uint64_t last_ns; /* (live) its time */
    uint64_t why;     /* (live) string id: why it is unavailable; 0 = it is available */
    uint64_t rolled[SL_FORMAT_LEVEL_MAX]; /* (live) first bin of level l not yet in level l + 1 */
} sl_fmt_counter;

/* Words are value << 16 | tag, tag = 1 + (bin - 1) % 65535; a word with another tag belongs to
 * another time and counts as missing. */
typedef struct sl_fmt_bin {
    uint64_t bin; /* (live) 1 + time / length of a bin of this level; 0 = empty */
    uint64_t min, max, last;
    uint64_t cnt;
} sl_fmt_bin;

/* Lists that wrap: seq is 1 + number of the record << 8 | kind, stored last. */
typedef struct sl_fmt_mark {
    uint64_t seq; /* (live) */
    uint64_t time_ns;
    uint64_t number;    /* of a step */
    uint64_t name_word; /* low half string id, high half thread id */
    uint64_t value;     /* bytes allocated on all devices (on the host if there is none) then */
} sl_fmt_mark;

typedef struct sl_fmt_alert {
    uint64_t seq; /* (live) */
    uint64_t time_ns;
    uint64_t text_word;   /* low half rule, high half text: string ids */
    uint64_t device_word; /* low half device (signed), high half severity */
    uint64_t value, threshold;
} sl_fmt_alert;

typedef struct sl_fmt_holder {
    uint64_t site;
    uint64_t bytes, blocks;
} sl_fmt_holder;

typedef struct sl_fmt_oom {
    uint64_t seq; /* (live) */
    uint64_t time_ns;
    uint64_t device_word; /* low half device (signed), high half stack */
    uint64_t message;     /* string id */
    uint64_t requested;
    uint64_t allocated, reserved, device_free, device_total; /* UINT64_MAX = not known */
    uint64_t holder_cnt;
    uint64_t site_cnt;   /* sites of this device that held anything */
    uint64_t site_bytes; /* and what they held together */
    uint64_t unused[4];
    sl_fmt_holder holders[SL_FORMAT_HOLDER_MAX];
} sl_fmt_oom;

/* Head of a chunk. One release store to word publishes a record. */
typedef struct sl_fmt_chunk {
    uint64_t word;    /* (live) ticket << 16 | published count << 1 | open */
    uint64_t base_ns; /* (live) time of the first record, since the start */
    uint64_t thread;  /* (live) low half slot in the thread table, high half thread id */
    uint64_t before;  /* (live) 1 + events its slot had published before this chunk, 0 = not told */
    uint64_t unused[4];
} sl_fmt_chunk;

/* 32 bytes, as four words:
 *   w0  kind 8 bits, stamp 8 (low bits of the chunk's ticket), device 8 (signed), flags 8, stack 32
 *   w1  address
 *   w2  size 48, label 16
 *   w3  nanoseconds after the chunk's base_ns 48, tag 16 */
typedef struct sl_fmt_record {
    uint64_t w0, w1, w2, w3;
} sl_fmt_record;

/* A block of the live table. */
typedef struct sl_fmt_live {
    uint64_t size_word; /* size 48 bits, device 8 (signed), domain 8 */
    uint64_t site_word; /* site 32 bits, label 16, tag 16: the phase, once annotated the tag */
    uint64_t time_ns;   /* of the alloc */
} sl_fmt_live;

#define SL_FORMAT_KEY_EMPTY 0u /* slot is free */
#define SL_FORMAT_KEY_BUSY  1u /* slot is being filled */

typedef struct sl_fmt_bucket {
    uint64_t key[SL_FORMAT_BUCKET_SLOTS]; /* (live) address of the block */
    sl_fmt_live slot[SL_FORMAT_BUCKET_SLOTS];
} sl_fmt_bucket;

#ifdef __cplusplus
}
#endif

#endif
