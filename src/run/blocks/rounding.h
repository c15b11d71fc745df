/* SPDX-License-Identifier: MIT */
/* How PyTorch's caching allocator rounds a request and when it splits a block. The constants have
 * been the same from torch 1.13 to 2.14. Pure. */
#ifndef SL_ROUNDING_H
#define SL_ROUNDING_H

#include "base/core/sl_base.h"

#define SL_ALLOC_QUANTUM_BYTES 512u                /* every block is a multiple of this */
#define SL_ALLOC_SMALL_BYTES   ((uint64_t)1 << 20) /* requests up to this use the small pool */
#define SL_ALLOC_SMALL_SEGMENT ((uint64_t)2 << 20)
#define SL_ALLOC_LARGE_SEGMENT ((uint64_t)20 << 20) /* for requests below 10 MiB */
#define SL_ALLOC_MIN_LARGE     ((uint64_t)10 << 20)
#define SL_ROUND_BUCKETS       16

typedef struct sl_rounding {
    uint32_t divisions[SL_ROUND_BUCKETS]; /* by power of two of MiB; 0 or 1 = plain rounding */
    uint64_t max_split_bytes;             /* larger blocks are never split */
} sl_rounding;

/* Reads roundup_power2_divisions out of a PYTORCH_CUDA_ALLOC_CONF text; anything else in it is
 * ignored, and an empty text gives the defaults. */
void sl_rounding_init(sl_rounding *rounding, sl_str conf, sl_maybe_u64 max_split_bytes);

/* The entries of a list like "[256:1,512:2,>:8]", one after the other: as in the allocator, the first one also covers
 * all smaller sizes, and the rest (">") everything behind the one named last. In older versions of
 * torch it covered that one, too; measured with 2.11. */
typedef struct sl_rounding_list {
    size_t last; /* bucket */
    bool has_first;
} sl_rounding_list;

#define SL_ROUND_REST UINT64_MAX /* as a size: ">" */

void sl_rounding_add(sl_rounding *rounding, sl_rounding_list *list, uint64_t mib,
                     uint64_t divisions);
void sl_rounding_set_all(sl_rounding *rounding, uint64_t divisions);

/* Bytes of the block that serves this request when it is split off a larger one. */
uint64_t sl_round_request(const sl_rounding *rounding, uint64_t requested);

/* Bytes of the segment that is taken when no free block serves a request of this rounded size. */
uint64_t sl_round_segment(uint64_t rounded);

/* Whether a free block is split to serve `rounded`, so that `rest` stays free. */
bool sl_should_split(const sl_rounding *rounding, uint64_t rounded, uint64_t rest, bool is_large,
                     bool is_expandable);

#endif
