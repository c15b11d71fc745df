/* SPDX-License-Identifier: MIT */
/* The one list of event kinds. The recorder writes them, the log stores them by number, every
 * reader maps its input onto them. Numbers are on disk: append, never renumber. */
#ifndef SL_EVENT_H
#define SL_EVENT_H

#include "base/core/sl_base.h"

/* number, enumerator, name on the outside, what addr and size mean. */
#define SL_EVENT_KIND_MAP(X)                                                                    \
    X(1, ALLOC, "alloc", "a block was handed out; addr, size of the block")                     \
    X(2, FREE, "free", "a block was given back and is reusable at once; addr, size")            \
    X(3, FREE_REQUESTED, "free_requested", "the program dropped a block; addr, size")           \
    X(4, FREE_COMPLETED, "free_completed", "a dropped block became reusable; addr, size")       \
    X(5, SEGMENT_ALLOC, "segment_alloc", "the allocator took a segment; base, size")            \
    X(6, SEGMENT_FREE, "segment_free", "the allocator returned a segment; base, size")          \
    X(7, SEGMENT_MAP, "segment_map", "a range of an expandable segment was mapped")             \
    X(8, SEGMENT_UNMAP, "segment_unmap", "a range of an expandable segment was unmapped")       \
    X(9, DRIVER_ALLOC, "driver_alloc", "a library took device memory; addr, size, library")     \
    X(10, DRIVER_FREE, "driver_free", "a library returned device memory; addr, size, library")  \
    X(11, SNAPSHOT, "snapshot", "a snapshot was taken; size = active bytes")                    \
    X(12, OOM, "oom", "a request failed; addr = free bytes of the device if known, size asked") \
    X(13, ANNOTATE, "annotate", "the program named a live block; addr, size")                   \
    X(14, RESERVED, "reserved", "the allocator's reserved total changed; size = new total")     \
    X(15, SAMPLE, "sample", "a counter was read; addr = counter, size = value")                 \
    X(16, STEP, "step", "a training step ended; addr = step number")                            \
    X(17, MARK_BEGIN, "mark_begin", "a named range began; addr = name id")                      \
    X(18, MARK_END, "mark_end", "a named range ended; addr = name id")                          \
    X(19, ALERT, "alert", "a threshold was crossed; addr = alert id, size = value")             \
    X(20, WORK_END, "work_end", "the work ended, teardown begins; size = allocated bytes")

typedef enum sl_event_kind {
    SL_EV_UNKNOWN = 0,
#define SL_EVENT_ENUM(number, name, text, meaning) SL_EV_##name = number,
    SL_EVENT_KIND_MAP(SL_EVENT_ENUM)
#undef SL_EVENT_ENUM
        SL_EV_LIMIT /* one past the last kind */
} sl_event_kind;

/* The outside name of a kind; "unknown" for a number this version does not know. */
const char *sl_event_kind_name(sl_event_kind kind);

/* What addr and size mean for a kind. */
const char *sl_event_kind_meaning(sl_event_kind kind);

/* The kind of an outside name, SL_EV_UNKNOWN when there is none. */
sl_event_kind sl_event_kind_find(const char *name, size_t len);

#endif
