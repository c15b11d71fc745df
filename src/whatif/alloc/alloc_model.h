/* SPDX-License-Identifier: MIT */
/* PyTorch's caching allocator for one card, without a card: the same pools, best fit, splits, merges, expandable
 * segments, garbage collection, flushes and limits, so that the same calls end at the same addresses.
 *
 * The caller names blocks by slots of its own choice (small numbers are cheap); a model owns its blocks and copies its
 * settings. One thread per model. Sizes come from files: sums are bounded (M4), nothing loops on absurd ones.
 *
 * Rules, cited by number (torch 2.0 to 2.14, c10/cuda/CUDACachingAllocator.cpp, in our words):
 * (M1) A request is rounded (run/blocks/rounding.h); up to 1 MiB it is served by the small pool. Best fit by (size,
 *      address) among the free blocks of its pool and stream.
 * (M2) With a max_split_size, blocks of at least that size serve only requests of at least that size, and only
 *      when less than max_non_split_rounding is left over.
 * (M3) No block: garbage collection, then the driver; then oversize free blocks are released and the driver is
 *      asked again; then everything pending is waited for, all free segments are released (a flush) and the driver is
 *      asked a last time (a retry). Only then the request fails.
 * (M4) A request that is larger than SL_ALLOC_BYTES_MAX fails at once.
 * (M5) The limit of a process is checked against the segment's size before the driver is asked. A card is full when
 *      the driver would have to give more than it has; expandable segments ask for whole pages.
 * (M6) A flush releases the default pool, and private pools that nobody uses any more. */
#ifndef SL_ALLOC_MODEL_H
#define SL_ALLOC_MODEL_H

#include "whatif/alloc/alloc_bins.h"
#include "whatif/alloc/alloc_settings.h"

#define SL_ALLOC_BYTES_MAX ((uint64_t)1 << 56)
#define SL_ALLOC_NO_LIMIT  UINT64_MAX

typedef struct sl_alloc_limits {
    uint64_t process_bytes; /* set_per_process_memory_fraction (M5); SL_ALLOC_NO_LIMIT */
    uint64_t card_bytes;    /* what the driver can give (M5); SL_ALLOC_NO_LIMIT */
    uint64_t
        total_bytes; /* of the card, for the address space of expandable segments; 0 = not known */
} sl_alloc_limits;

/* Where new segments lie. Addresses decide between free blocks of equal size, and nothing else.
 * (M7) As the CUDA driver does: a segment takes the smallest hole that has room, from its low end; else whole chunks of 32
 *      MiB below all others, and the rest of them is a hole. Where the trace's later segments lay are holes, too: libraries leave
 *      some when they load. What is given back is not taken again. Found by trying: it gives 856 of 856 reserved
 *      peaks of replays on an H200 (bench/whatif) and 117 of 121 of real trainings (bench/whatif-card); each segment
 *      below the one before gives 856 and 114, reuse of what was given back 856 and 116. */
typedef struct sl_alloc_place {
    uint64_t addr, bytes;
} sl_alloc_place;

typedef struct sl_alloc_places {
    const sl_alloc_place *recorded; /* borrowed; in this order, as long as the sizes are the same */
    size_t recorded_cnt;
    uint64_t seed; /* 0 = below the recorded ones as (M7), otherwise in random order */
} sl_alloc_places;

typedef struct sl_alloc_stats {
    uint64_t reserved_bytes, reserved_peak;
    uint64_t active_bytes, active_peak; /* rounded bytes of blocks in use or pending */
    uint64_t
        waste_peak; /* most that was reserved and not in use when the driver was asked for more */
    uint64_t driver_allocs, driver_frees;
    uint64_t flushes, retries; /* (M3) */
    uint64_t collections;      /* garbage collections that released something */
} sl_alloc_stats;

typedef struct sl_alloc_model sl_alloc_model;

sl_status sl_alloc_model_new(const sl_alloc_settings *settings, const sl_alloc_limits *limits,
                             const sl_alloc_places *places, sl_alloc_model **out, sl_error *err);
void sl_alloc_model_free(sl_alloc_model *model); /* NULL is fine */

/* A pair of pool and stream, numbered from 0 in the order of these calls. Pool 0 is the default one. False when memory
 * ran out. */
bool sl_alloc_model_add_group(sl_alloc_model *model, uint32_t pool);

typedef enum sl_alloc_result {
    SL_ALLOC_DONE,
    SL_ALLOC_OOM,       /* the request fails; the slot stays empty */
    SL_ALLOC_NO_MEMORY, /* of the host */
} sl_alloc_result;

/* Serves a request. A slot that is in use gives its block back first. */
sl_alloc_result sl_alloc_request(sl_alloc_model *model, uint32_t group, uint32_t slot,
                                 uint64_t bytes);
/* The block is free at once; an empty slot is fine. False when the host is out of memory; likewise below. */
bool sl_alloc_give_back(sl_alloc_model *model, uint32_t slot);
/* The block becomes free with sl_alloc_give_back, or with a flush (M3). */
bool sl_alloc_drop(sl_alloc_model *model, uint32_t slot);
/* torch.cuda.empty_cache(). */
bool sl_alloc_empty_cache(sl_alloc_model *model);
/* Releases the free segment, or unmaps the free pages, of this range, as a trace says. False when the range is not
 * free: the model is not in step with the trace. */
bool sl_alloc_release_range(sl_alloc_model *model, uint64_t addr, uint64_t bytes);
/* Nobody uses this pool any more (M6). */
void sl_alloc_pool_is_unused(sl_alloc_model *model, uint32_t pool);

/* Where the next new segment lies, instead of where `places` says; until the next request only. */
void sl_alloc_hint(sl_alloc_model *model, uint64_t addr);
/* Whether the hint was used. */
bool sl_alloc_hint_was_used(const sl_alloc_model *model);

/* The block of a slot; 0 when it has none. */
uint64_t sl_alloc_addr(const sl_alloc_model *model, uint32_t slot);

const sl_alloc_stats *sl_alloc_model_stats(const sl_alloc_model *model);

/* One piece of the state before the first call, by ascending address within a segment. */
typedef struct sl_alloc_piece {
    uint64_t addr, bytes;
    uint32_t slot; /* SL_ALLOC_NONE = free */
} sl_alloc_piece;

/* Adds a segment as it was: pieces without gaps, segments by ascending address. An expandable one is a mapped part of an
 * address space, which begins with the first of its pool and stream. Not counted as a call of the driver. */
bool sl_alloc_model_add_segment(sl_alloc_model *model, uint32_t group, bool is_large,
                                bool is_expandable, const sl_alloc_piece *pieces, size_t cnt);

#endif
