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
      "gradients are turned off or on: where optimizers step")                                     \
    X(TORCH_CONF_20, "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsERKSs",              \
      sl_hook_torch_conf_20, "libc10_cuda", "torch 2.0 to 2.6: the allocator's settings change")   \
    X(TORCH_CONF_26,                                                                               \
      "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsE"                                  \
      "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",                                    \
      sl_hook_torch_conf_26, "libc10_cuda", "torch 2.6 to 2.9: the same")                          \
    X(TORCH_CONF_29,                                                                               \
      "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig9parseArgsE"                           \
      "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",                                    \
      sl_hook_torch_conf_29, "libc10", "since torch 2.9: the same, and those of the environment")  \
    X(cuMemAlloc_v2, "cuMemAlloc_v2", sl_hook_cuMemAlloc_v2, "libcuda.so",                         \
      "driver: plain allocation")                                                                  \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch_v2", sl_hook_cuMemAllocPitch_v2, "libcuda.so",          \
      "driver: rows of a matrix")                                                                  \
    X(cuMemAllocManaged, "cuMemAllocManaged", sl_hook_cuMemAllocManaged, "libcuda.so",             \
      "driver: managed memory")                                                                    \
    X(cuMemFree_v2, "cuMemFree_v2", sl_hook_cuMemFree_v2, "libcuda.so", "driver: free")            \
    X(cuMemAllocAsync, "cuMemAllocAsync", sl_hook_cuMemAllocAsync, "libcuda.so",                   \
      "driver: from the device's pool")                                                            \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync_ptsz", sl_hook_cuMemAllocAsync_ptsz, "libcuda.so",    \
      "the same, streams per thread")                                                              \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", sl_hook_cuMemAllocFromPoolAsync,         \
      "libcuda.so", "driver: from a pool")                                                         \
    X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync_ptsz",                                \
      sl_hook_cuMemAllocFromPoolAsync_ptsz, "libcuda.so", "the same, streams per thread")          \
    X(cuMemFreeAsync, "cuMemFreeAsync", sl_hook_cuMemFreeAsync, "libcuda.so",                      \
      "driver: back to a pool")                                                                    \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync_ptsz", sl_hook_cuMemFreeAsync_ptsz, "libcuda.so",       \
      "the same, streams per thread")                                                              \
    X(cuMemCreate, "cuMemCreate", sl_hook_cuMemCreate, "libcuda.so", "driver: a physical piece")   \
    X(cuMemRelease, "cuMemRelease", sl_hook_cuMemRelease, "libcuda.so",                            \
      "driver: one holder of a piece less")                                                        \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle",                                  \
      sl_hook_cuMemRetainAllocationHandle, "libcuda.so", "driver: one holder more")                \
    X(cuMemMap, "cuMemMap", sl_hook_cuMemMap, "libcuda.so", "driver: a piece gets an address")     \
    X(cuMemUnmap, "cuMemUnmap", sl_hook_cuMemUnmap, "libcuda.so", "driver: it loses it")           \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", sl_hook_cuDevicePrimaryCtxRetain,      \
      "libcuda.so", "driver: the device of a context")                                             \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", sl_hook_cuCtxSetCurrent, "libcuda.so",                   \
      "driver: the context of a thread")                                                           \
    X(cuCtxPushCurrent_v2, "cuCtxPushCurrent_v2", sl_hook_cuCtxPushCurrent_v2, "libcuda.so",       \
      "likewise")                                                                                  \
    X(cuCtxPopCurrent_v2, "cuCtxPopCurrent_v2", sl_hook_cuCtxPopCurrent_v2, "libcuda.so",          \
      "likewise")                                                                                  \
    X(cuGetProcAddress, "cuGetProcAddress", sl_hook_cuGetProcAddress, "libcuda.so",                \
      "driver: where libraries find the above")                                                    \
    X(cuGetProcAddress_v2, "cuGetProcAddress_v2", sl_hook_cuGetProcAddress_v2, "libcuda.so",       \
      "likewise, since CUDA 12")                                                                   \
    X(cudaMalloc, "cudaMalloc", sl_hook_cudaMalloc, "libcudart.so",                                \
      "runtime: who wants the memory")                                                             \
    X(cudaMallocManaged, "cudaMallocManaged", sl_hook_cudaMallocManaged, "libcudart.so",           \
      "runtime: who wants the memory")                                                             \
    X(cudaMallocPitch, "cudaMallocPitch", sl_hook_cudaMallocPitch, "libcudart.so",                 \
      "runtime: who wants the memory")                                                             \
    X(cudaMallocAsync, "cudaMallocAsync", sl_hook_cudaMallocAsync, "libcudart.so",                 \
      "runtime: who wants the memory")                                                             \
    X(cudaMallocFromPoolAsync, "cudaMallocFromPoolAsync", sl_hook_cudaMallocFromPoolAsync,         \
      "libcudart.so", "runtime: who wants the memory")                                             \
    X(hipMalloc, "hipMalloc", sl_hook_hipMalloc, "libamdhip64.so", "HIP: plain allocation")        \
    X(hipMallocPitch, "hipMallocPitch", sl_hook_hipMallocPitch, "libamdhip64.so",                  \
      "HIP: rows of a matrix")                                                                     \
    X(hipMallocManaged, "hipMallocManaged", sl_hook_hipMallocManaged, "libamdhip64.so",            \
      "HIP: managed memory")                                                                       \
    X(hipExtMallocWithFlags, "hipExtMallocWithFlags", sl_hook_hipExtMallocWithFlags,               \
      "libamdhip64.so", "HIP: fine-grained and other kinds")                                       \
    X(hipFree, "hipFree", sl_hook_hipFree, "libamdhip64.so", "HIP: free")                          \
    X(hipHostMalloc, "hipHostMalloc", sl_hook_hipHostMalloc, "libamdhip64.so",                     \
      "HIP: pinned host memory")                                                                   \
    X(hipHostFree, "hipHostFree", sl_hook_hipHostFree, "libamdhip64.so", "HIP: its free")          \
    X(hipMallocAsync, "hipMallocAsync", sl_hook_hipMallocAsync, "libamdhip64.so",                  \
      "HIP: from the device's pool")                                                               \
    X(hipMallocFromPoolAsync, "hipMallocFromPoolAsync", sl_hook_hipMallocFromPoolAsync,            \
      "libamdhip64.so", "HIP: from a pool")                                                        \
    X(hipFreeAsync, "hipFreeAsync", sl_hook_hipFreeAsync, "libamdhip64.so", "HIP: back to a pool") \
    X(hipMemCreate, "hipMemCreate", sl_hook_hipMemCreate, "libamdhip64.so",                        \
      "HIP: a physical piece")                                                                     \
    X(hipMemRelease, "hipMemRelease", sl_hook_hipMemRelease, "libamdhip64.so",                     \
      "HIP: one holder of a piece less")                                                           \
    X(hipMemRetainAllocationHandle, "hipMemRetainAllocationHandle",                                \
      sl_hook_hipMemRetainAllocationHandle, "libamdhip64.so", "HIP: one holder more")              \
    X(hipMemMap, "hipMemMap", sl_hook_hipMemMap, "libamdhip64.so", "HIP: a piece gets an address") \
    X(hipMemUnmap, "hipMemUnmap", sl_hook_hipMemUnmap, "libamdhip64.so", "HIP: it loses it")       \
    X(hipSetDevice, "hipSetDevice", sl_hook_hipSetDevice, "libamdhip64.so",                        \
      "HIP: the device of a thread")                                                               \
    X(sigaction, "sigaction", sl_hook_sigaction, "", "what the program sees of bus_guard.h")       \
    X(signal, "signal", sl_hook_signal, "", "likewise")                                            \
    X(_exit, "_exit", sl_hook__exit, "", "the end of a process that runs no exit handlers")        \
    X(_Exit, "_Exit", sl_hook__Exit, "", "likewise")                                               \
    X(dlsym, "dlsym", sl_hook_dlsym, "libc.so", "where libraries find the driver")

/* Every symbol above begins with one of these; most imports of a program do not. */
#define SL_HOOK_FIRST_LETTERS "_cdhs"

typedef enum sl_hook_id {
#define SL_HOOK_ENUM(id, symbol, replacement, library, meaning) SL_HOOK_##id,
    SL_HOOK_MAP(SL_HOOK_ENUM)
#undef SL_HOOK_ENUM
        SL_HOOK_CNT
} sl_hook_id;

#endif
