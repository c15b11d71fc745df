/* SPDX-License-Identifier: MIT */
/* The settings of PyTorch's caching allocator, in the syntax of PYTORCH_CUDA_ALLOC_CONF or
 * PYTORCH_ALLOC_CONF in torch 1.10 to 2.14, and four that are set elsewhere: `no_caching`
 * (PYTORCH_NO_CUDA_MEMORY_CACHING), `one_stream` and `no_record_stream` (changes of the program)
 * and `per_process_memory_fraction` (before torch 2.11 a function). Pure.
 *
 * Rules, cited by number:
 * (S1) KEY:VALUE pairs separated by commas; spaces are ignored; "KEY=VALUE" is the same. The
 *      last pair of a key wins.
 * (S2) A key that does not affect where blocks are (pinned memory, locks) is accepted and has no
 *      effect here.
 * (S3) Values that torch refuses are refused. max_split_size_mb:20 is accepted, as torch does
 *      from 2.10 on. */
#ifndef SL_ALLOC_SETTINGS_H
#define SL_ALLOC_SETTINGS_H

#include "base/core/status.h"
#include "run/blocks/rounding.h"

#define SL_SETTINGS_TEXT_CAP 512

typedef struct sl_alloc_settings {
    sl_rounding rounding;         /* roundup_power2_divisions, max_split_size_mb */
    uint64_t max_non_split_bytes; /* how much larger than the request an oversize block may be */
    uint64_t large_segment_bytes; /* segment, or page of an expandable one; 20 MiB */
    uint64_t pad_bytes;           /* added to every request: 32 by torch_npu, else 0; has no key */
    double gc_threshold;          /* share of the limit; 0 = no garbage collection */
    double fraction;              /* of the card; 0 = no limit for the process */
    bool is_expandable;
    bool is_uncached;   /* every request goes to the driver */
    bool is_one_stream; /* as if all work ran on one stream */
    bool frees_early;   /* as if no free had to wait for another stream */
    bool is_async;      /* backend:cudaMallocAsync: another allocator, which cannot be replayed */
} sl_alloc_settings;

/* torch's own defaults. */
void sl_alloc_settings_init(sl_alloc_settings *settings);

/* Changes the settings that are in the text (S1) and keeps the rest. SL_E_USAGE with key,
 * position, expected and found; then the settings are unchanged. */
sl_status sl_alloc_settings_parse(sl_alloc_settings *settings, sl_str text, sl_error *err);

/* The text that gives these settings, "" for the defaults; cut if it does not fit. */
void sl_alloc_settings_text(char buf[SL_SETTINGS_TEXT_CAP], const sl_alloc_settings *settings);

bool sl_alloc_settings_equal(const sl_alloc_settings *a, const sl_alloc_settings *b);

#endif
