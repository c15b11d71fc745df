/* SPDX-License-Identifier: MIT */
/* A model of PyTorch's caching allocator for one card, which needs no card: the same pools, best
 * fit, splits, merges, expandable segments, garbage collection, flushes and limits, so that the
 * same calls give the same addresses.
 *
 * The caller identifies blocks by slots of its own choice (small numbers are cheap). A model
 * owns its blocks and copies its settings. One thread per model. Sizes come from files: sums are
 * bounded (M4), and no size makes a loop run long.
 *
 * Rules, cited by number (torch 2.0 to 2.14, c10/cuda/CUDACachingAllocator.cpp, in our words):
 * (M1) A request is rounded (run/blocks/rounding.h); up to 1 MiB the small pool serves it. Best
 *      fit by (size, address) among the free blocks of its pool and stream.
 * (M2) With a max_split_size, blocks of at least that size serve only requests of at least that
 *      size, and only when less than max_non_split_rounding is left over.
 * (M3) When no block fits: garbage collection, then the driver; then oversize free blocks are
 *      released and the driver is asked again; then the allocator waits for all pending frees,
 *      releases all free segments (a flush) and asks the driver a last time (a retry). Only then
 *      does the request fail.
 * (M4) A request that is larger than SL_ALLOC_BYTES_MAX fails at once.
 * (M5) The limit of a process is checked against the segment's size before the driver is asked.
 *      A card is full when the driver would have to give more than it has; expandable segments
 *      ask for whole pages.
 * (M6) A flush releases the default pool, and private pools that are no longer used. */
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

/* The addresses of new segments. They only decide between free blocks of equal size.
 * (M7) As the CUDA driver does: a segment takes the smallest hole that has room, from its low
 *      end; if there is none, whole chunks of 32 MiB below all others, and the rest of the
 *      chunks is a hole. The places of the trace's later segments are holes too: libraries leave
 *      some when they load. Released memory is not used again. Found by experiment: this gives
 *      856 of 856 reserved peaks of replays on an H200 (bench/whatif) and 117 of 121 of real
 *      trainings (bench/whatif-card); with each segment below the one before it is 856 and 114,
 *      with reuse of released memory 856 and 116. */
typedef struct sl_alloc_place {
    uint64_t addr, bytes;
} sl_alloc_place;

typedef struct sl_alloc_places {
    const sl_alloc_place *recorded; /* borrowed; in this order, as long as the sizes are the same */
    size_t recorded_cnt;
    uint64_t seed; /* 0 = below the recorded ones (M7), otherwise in random order */
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

/* Adds a pair of pool and stream, numbered from 0 in the order of these calls. Pool 0 is the
 * default pool. False when memory ran out. */
bool sl_alloc_model_add_group(sl_alloc_model *model, uint32_t pool);

typedef enum sl_alloc_result {
    SL_ALLOC_DONE,
    SL_ALLOC_OOM,       /* the request fails; the slot stays empty */
    SL_ALLOC_NO_MEMORY, /* the host is out of memory */
} sl_alloc_result;

/* Serves a request. If the slot is in use, its block is freed first. */
sl_alloc_result sl_alloc_request(sl_alloc_model *model, uint32_t group, uint32_t slot,
                                 uint64_t bytes);
/* Frees the block at once; the slot may be empty. False when the host is out of memory; the same
 * below. */
bool sl_alloc_give_back(sl_alloc_model *model, uint32_t slot);
/* The block becomes free with sl_alloc_give_back, or with a flush (M3). */
bool sl_alloc_drop(sl_alloc_model *model, uint32_t slot);
/* torch.cuda.empty_cache(). */
bool sl_alloc_empty_cache(sl_alloc_model *model);
/* Releases the free segment, or unmaps the free pages, of this range, as in a trace. False when
 * the range is not free: the model no longer matches the trace. */
bool sl_alloc_release_range(sl_alloc_model *model, uint64_t addr, uint64_t bytes);
/* Marks a pool as no longer used (M6). */
void sl_alloc_pool_is_unused(sl_alloc_model *model, uint32_t pool);

/* The address of the next new segment, instead of that of `places`; only until the next request. */
void sl_alloc_hint(sl_alloc_model *model, uint64_t addr);
/* Whether the hint was used. */
bool sl_alloc_hint_was_used(const sl_alloc_model *model);

/* The address of a slot's block; 0 when it has none. */
uint64_t sl_alloc_addr(const sl_alloc_model *model, uint32_t slot);

const sl_alloc_stats *sl_alloc_model_stats(const sl_alloc_model *model);

/* A block or free range of the state before the first call, by ascending address within a
 * segment. */
typedef struct sl_alloc_piece {
    uint64_t addr, bytes;
    uint32_t slot; /* SL_ALLOC_NONE = free */
} sl_alloc_piece;

/* Adds a segment of the initial state: pieces without gaps, segments by ascending address. An
 * expandable one is a mapped part of an address space, which begins with the first one of its
 * pool and stream. Not counted as a call of the driver. */
bool sl_alloc_model_add_segment(sl_alloc_model *model, uint32_t group, bool is_large,
                                bool is_expandable, const sl_alloc_piece *pieces, size_t cnt);

#endif
