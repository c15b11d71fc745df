/* SPDX-License-Identifier: MIT */
/* Replacements for the functions PyTorch's allocators call across library borders. Each calls its
 * original exactly when the program alone would have called it, and records.
 *
 * c10::Device is two bytes in one register, the rest of which is undefined: it is handed on as it
 * came and masked before use. */
#ifndef SL_HOOK_TORCH_H
#define SL_HOOK_TORCH_H

#include "base/core/sl_base.h"

SL_API void sl_hook_torch_report_16(void *ptr, int64_t size, uint64_t device) __asm__(
    "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");

SL_API void sl_hook_torch_report_110(
    void *ptr, int64_t size, int64_t allocated, int64_t reserved,
    uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");

SL_API void sl_hook_torch_report_20(
    void *ptr, int64_t size, size_t allocated, size_t reserved,
    uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

SL_API void sl_hook_torch_oom_113(
    int64_t size, int64_t allocated, int64_t reserved,
    uint64_t device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE");

SL_API void sl_hook_torch_oom_20(
    int64_t size, size_t allocated, size_t reserved,
    uint64_t device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

SL_API void sl_hook_torch_grad_mode(bool is_enabled) __asm__("_ZN3c108GradMode11set_enabledEb");

/* exit() has begun: torch's CPU allocator no longer reports, and no thread is on the way to it (T1). */
void sl_hook_torch_leave(void);

/* Around a fork, under the control lock (T2). */
void sl_hook_torch_before_fork(void);
void sl_hook_torch_after_fork(bool is_child);

SL_API bool sl_hook_torch_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");

#endif
