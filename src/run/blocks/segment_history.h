/* SPDX-License-Identifier: MIT */
/* Which address ranges the allocator had reserved, through time. The state at the start is found by
 * undoing the trace's segment events backwards from the end state; then the events are applied
 * forwards. Ranges are half-open and never overlap. */
#ifndef SL_SEGMENT_HISTORY_H
#define SL_SEGMENT_HISTORY_H

#include "run/blocks/replay.h"

/* The ranges reserved before the first of the device's events, by ascending address. */
bool sl_segments_at_start(const sl_device_trace *device, uint32_t event_cnt, sl_segment_lives *out);

/* Whether [addr, addr + bytes) is a range at all: not empty, and not beyond the end of memory. */
bool sl_segment_is_range(uint64_t addr, uint64_t bytes);

/* The ranges that are reserved now, as indexes into the growing table of all of them. */
typedef struct sl_segment_set {
    SL_VEC(uint32_t) by_addr; /* ascending addresses */
} sl_segment_set;

/* Position in by_addr of the first range that ends after addr; by_addr.cnt when there is none. */
size_t sl_segment_set_find(const sl_segment_set *set, const sl_segment_life *all, uint64_t addr);

/* The range that holds addr, or SL_IDX_NONE. */
uint32_t sl_segment_set_at(const sl_segment_set *set, const sl_segment_life *all, uint64_t addr);

bool sl_segment_set_add(sl_segment_set *set, const sl_segment_life *all, uint32_t idx);

/* Ends whatever lies in [addr, addr + bytes) at this event. A range that is only partly covered
 * ends too, and its rests begin again with it. */
bool sl_segment_set_cut(sl_segment_set *set, sl_segment_lives *all, uint64_t addr, uint64_t bytes,
                        uint32_t event);

void sl_segment_set_fini(sl_segment_set *set);

#endif
