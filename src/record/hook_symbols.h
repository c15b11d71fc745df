/* SPDX-License-Identifier: MIT */
/* The one list of functions that are replaced. A row gives the exported replacement, its entry in
 * the table of originals, and what the GOT patcher looks for. The test in
 * tests/unit/test_hook_table.c walks it. */
#ifndef SL_HOOK_SYMBOLS_H
#define SL_HOOK_SYMBOLS_H

/* enumerator, symbol, replacement in C, library that defines the original, what it is. */
#define SL_HOOK_MAP(X)                                                                             \
    X(TORCH_REPORT_16, "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE",                      \
      sl_hook_torch_report_16, "libc10", "torch 1.6 to 1.9: every alloc and free")                 \
    X(TORCH_REPORT_110, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",                   \
      sl_hook_torch_report_110, "libc10", "torch 1.10 to 1.13: every alloc and free")              \
    X(TORCH_REPORT_20, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",                    \
      sl_hook_torch_report_20, "libc10", "torch 2: every alloc and free")                          \
    X(TORCH_OOM_113, "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE", sl_hook_torch_oom_113, \
      "libc10", "torch 1.13: a request that failed")                                               \
    X(TORCH_OOM_20, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE", sl_hook_torch_oom_20,   \
      "libc10", "torch 2: a request that failed")                                                  \
    X(TORCH_ENABLED, "_ZN3c1022memoryProfilingEnabledEv", sl_hook_torch_enabled, "libc10",         \
      "asked by the CPU allocator before it reports")                                              \
    X(TORCH_GRAD_MODE, "_ZN3c108GradMode11set_enabledEb", sl_hook_torch_grad_mode, "libc10",       \
      "gradients are turned off or on: where optimizers step")

typedef enum sl_hook_id {
#define SL_HOOK_ENUM(id, symbol, replacement, library, meaning) SL_HOOK_##id,
    SL_HOOK_MAP(SL_HOOK_ENUM)
#undef SL_HOOK_ENUM
        SL_HOOK_CNT
} sl_hook_id;

#endif
