/* SPDX-License-Identifier: MIT */
/* The one list of event kinds. The recorder writes them, the log stores them by number, every
 * reader maps its input onto them. Numbers are on disk: append, never renumber. */
#ifndef SL_EVENT_H
#define SL_EVENT_H

#include "base/core/sl_base.h"
#include "stormlog/format.h"

/* number, enumerator, name on the outside; what it does to a recording's live table (SL_EFFECT_…), whose
 * memory it is about (SL_DOMAIN_…); 1 when it becomes an event of the trace (0: it has a list or a curve of its
 * own); 1 when torch's snapshots have it; what addr is (SL_ADDR_…); what addr and size mean. */
#define SL_EVENT_KIND_MAP(X)                                                                    \
    X(1, ALLOC, "alloc", ALLOC, BLOCK, 1, 1, ADDRESS,                                           \
      "a block was handed out; addr, size of the block")                                        \
    X(2, FREE, "free", FREE, BLOCK, 1, 1, ADDRESS,                                              \
      "a block was given back and is reusable at once; addr, size")                             \
    X(3, FREE_REQUESTED, "free_requested", NONE, BLOCK, 1, 1, ADDRESS,                          \
      "the program dropped a block; addr, size")                                                \
    X(4, FREE_COMPLETED, "free_completed", FREE, BLOCK, 1, 1, ADDRESS,                          \
      "a dropped block became reusable; addr, size")                                            \
    X(5, SEGMENT_ALLOC, "segment_alloc", ALLOC, SEGMENT, 1, 1, ADDRESS,                         \
      "the allocator took a segment; base, size")                                               \
    X(6, SEGMENT_FREE, "segment_free", FREE, SEGMENT, 1, 1, ADDRESS,                            \
      "the allocator returned a segment; base, size")                                           \
    X(7, SEGMENT_MAP, "segment_map", NONE, SEGMENT, 1, 1, ADDRESS,                              \
      "a range of an expandable segment was mapped")                                            \
    X(8, SEGMENT_UNMAP, "segment_unmap", NONE, SEGMENT, 1, 1, ADDRESS,                          \
      "a range of an expandable segment was unmapped")                                          \
    X(9, DRIVER_ALLOC, "driver_alloc", ALLOC, DRIVER, 1, 0, ADDRESS,                            \
      "a library took device memory; addr, size, library")                                      \
    X(10, DRIVER_FREE, "driver_free", FREE, DRIVER, 1, 0, ADDRESS,                              \
      "a library returned device memory; addr, size, library")                                  \
    X(11, SNAPSHOT, "snapshot", NONE, NONE, 0, 1, OTHER,                                        \
      "a snapshot was taken; size = active bytes")                                              \
    X(12, OOM, "oom", NONE, NONE, 1, 1, FREE_BYTES,                                             \
      "a request failed; addr = free bytes of the device if known, size asked")                 \
    X(13, ANNOTATE, "annotate", NONE, NONE, 0, 1, ADDRESS,                                      \
      "the program named a live block; addr, size")                                             \
    X(14, RESERVED, "reserved", NONE, NONE, 1, 0, OTHER,                                        \
      "the allocator's reserved total changed; size = new total")                               \
    X(15, SAMPLE, "sample", NONE, NONE, 0, 0, OTHER,                                            \
      "a counter was read; addr = counter, size = value")                                       \
    X(16, STEP, "step", NONE, NONE, 0, 0, OTHER, "a training step ended; addr = step number")   \
    X(17, MARK_BEGIN, "mark_begin", NONE, NONE, 0, 0, OTHER,                                    \
      "a named range began; addr = name id")                                                    \
    X(18, MARK_END, "mark_end", NONE, NONE, 0, 0, OTHER, "a named range ended; addr = name id") \
    X(19, ALERT, "alert", NONE, NONE, 0, 0, OTHER,                                              \
      "a threshold was crossed; addr = alert id, size = value")                                 \
    X(20, WORK_END, "work_end", NONE, NONE, 0, 0, OTHER,                                        \
      "the work ended, teardown begins; size = allocated bytes")                                \
    X(21, SETTINGS, "settings", NONE, NONE, 0, 0, OTHER,                                        \
      "the allocator's settings were set; addr = text id")                                      \
    X(22, REQUEST, "request", NONE, NONE, 0, 0, ADDRESS,                                        \
      "what the program asked for when it got this block; addr, bytes asked")                   \
    X(23, REUSABLE, "reusable", NONE, NONE, 0, 0, ADDRESS,                                      \
      "a block that was freed earlier became reusable; addr, size")                             \
    X(24, EMPTY_CACHE, "empty_cache", NONE, NONE, 1, 0, OTHER,                                  \
      "the program had the allocator give its cache back")                                      \
    X(25, TRACKING, "tracking", NONE, NONE, 0, 0, OTHER,                                        \
      "whether the allocator hands its own trace over; addr = text id")

typedef enum sl_event_kind {
    SL_EV_UNKNOWN = 0,
#define SL_EVENT_ENUM(number, name, ...) SL_EV_##name = number,
    SL_EVENT_KIND_MAP(SL_EVENT_ENUM)
#undef SL_EVENT_ENUM
        SL_EV_LIMIT /* one past the last kind */
} sl_event_kind;

typedef enum sl_event_addr {
    SL_ADDR_OTHER,      /* a number, or nothing */
    SL_ADDR_ADDRESS,    /* of a block or segment */
    SL_ADDR_FREE_BYTES, /* of the device, as it said itself */
} sl_event_addr;

typedef struct sl_event_row {
    const char *name, *meaning;
    uint8_t domain; /* sl_domain */
    uint8_t addr;   /* sl_event_addr */
    bool is_in_trace;
    bool is_in_torch;
} sl_event_row;

/* By kind; row 0 is that of kinds this version does not know. */
extern const sl_event_row sl_event_rows[SL_EV_LIMIT];

static inline const sl_event_row *sl_event_row_of(unsigned kind) {
    return &sl_event_rows[kind < SL_EV_LIMIT ? kind : SL_EV_UNKNOWN];
}

/* Taking, returning, mapping or unmapping a segment. */
static inline bool sl_event_is_segment(unsigned kind) {
    return sl_event_row_of(kind)->domain == SL_DOMAIN_SEGMENT;
}

/* The outside name of a kind; "unknown" for a number this version does not know. */
const char *sl_event_kind_name(sl_event_kind kind);

/* What addr and size mean for a kind. */
const char *sl_event_kind_meaning(sl_event_kind kind);

/* The kind of an outside name, SL_EV_UNKNOWN when there is none. */
sl_event_kind sl_event_kind_find(const char *name, size_t len);

#endif
