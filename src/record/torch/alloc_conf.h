/* SPDX-License-Identifier: MIT */
/* The settings of PyTorch's allocator (PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF) as they take
 * effect: what PyTorch reads from the environment, and every later change by the program, which
 * goes through a function of libc10.
 *
 * Torch may read them before the first memory event, when there is no log yet, so the newest are
 * kept until one is opened. */
#ifndef SL_ALLOC_CONF_H
#define SL_ALLOC_CONF_H

#include <stdatomic.h>

#include "log/write/log_writer.h"

/* std::string, before GCC 5 and since. */
SL_API void sl_hook_torch_conf_20(const void *text) __asm__(
    "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsERKSs");

SL_API void sl_hook_torch_conf_26(const void *text) __asm__(
    "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsE"
    "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");

SL_API void sl_hook_torch_conf_29(void *config, const void *text) __asm__(
    "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig9parseArgsE"
    "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");

extern atomic_bool sl_alloc_conf_is_said; /* in the log that is open */

/* Slow path of sl_alloc_conf_note_device. */
void sl_alloc_conf_say(sl_log *log);

/* Event path: the allocator works, so its settings are read. Inside the guard. */
static inline void sl_alloc_conf_note_device(sl_log *log) {
    if (SL_UNLIKELY(!atomic_load_explicit(&sl_alloc_conf_is_said, memory_order_relaxed)))
        sl_alloc_conf_say(log);
}

/* A log was opened. Under the control lock. */
void sl_alloc_conf_start(sl_log *log);

#endif
