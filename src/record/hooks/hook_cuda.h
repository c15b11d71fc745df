/* SPDX-License-Identifier: MIT */
/* Replacements for the CUDA driver's memory functions, and for the two ways in which libraries find
 * them: dlsym, and the driver's own cuGetProcAddress; and for HIP's memory functions. No function here
 * calls CUDA or HIP but the original it stands for. */
#ifndef SL_HOOK_CUDA_H
#define SL_HOOK_CUDA_H

#include "base/core/sl_base.h"

typedef int cu_result;
typedef uint64_t cu_ptr;    /* CUdeviceptr; HIP's void * */
typedef uint64_t cu_handle; /* CUmemGenericAllocationHandle */
typedef struct cu_context cu_context;
typedef struct cu_stream cu_stream;
typedef struct cu_pool cu_pool;

/* The head of CUmemAllocationProp, and of hipMemAllocationProp. */
typedef struct cu_prop {
    int type;
    int handle_types;
    int location_type;
    int location_id;
} cu_prop;

#define SL_CU(name)          sl_hook_##name
#define SL_CU_API(name, ...) SL_API cu_result sl_hook_##name(__VA_ARGS__) __asm__(#name)

SL_CU_API(cuMemAlloc_v2, cu_ptr *out, size_t size);
SL_CU_API(cuMemAllocPitch_v2, cu_ptr *out, size_t *pitch, size_t width, size_t height,
          unsigned element);
SL_CU_API(cuMemAllocManaged, cu_ptr *out, size_t size, unsigned flags);
SL_CU_API(cuMemFree_v2, cu_ptr ptr);
SL_CU_API(cuMemAllocAsync, cu_ptr *out, size_t size, cu_stream *stream);
SL_CU_API(cuMemAllocAsync_ptsz, cu_ptr *out, size_t size, cu_stream *stream);
SL_CU_API(cuMemAllocFromPoolAsync, cu_ptr *out, size_t size, cu_pool *pool, cu_stream *stream);
SL_CU_API(cuMemAllocFromPoolAsync_ptsz, cu_ptr *out, size_t size, cu_pool *pool, cu_stream *stream);
SL_CU_API(cuMemFreeAsync, cu_ptr ptr, cu_stream *stream);
SL_CU_API(cuMemFreeAsync_ptsz, cu_ptr ptr, cu_stream *stream);
SL_CU_API(cuMemCreate, cu_handle *out, size_t size, const cu_prop *prop, unsigned long long flags);
SL_CU_API(cuMemRelease, cu_handle handle);
SL_CU_API(cuMemRetainAllocationHandle, cu_handle *out, void *addr);
SL_CU_API(cuMemMap, cu_ptr ptr, size_t size, size_t offset, cu_handle handle,
          unsigned long long flags);
SL_CU_API(cuMemUnmap, cu_ptr ptr, size_t size);
SL_CU_API(cuDevicePrimaryCtxRetain, cu_context **out, int device);
SL_CU_API(cuCtxSetCurrent, cu_context *context);
SL_CU_API(cuCtxPushCurrent_v2, cu_context *context);
SL_CU_API(cuCtxPopCurrent_v2, cu_context **out);
SL_CU_API(cuGetProcAddress, const char *symbol, void **out, int version, uint64_t flags);
SL_CU_API(cuGetProcAddress_v2, const char *symbol, void **out, int version, uint64_t flags,
          void *status);

SL_CU_API(cudaMalloc, void **out, size_t size);
SL_CU_API(cudaMallocManaged, void **out, size_t size, unsigned flags);
SL_CU_API(cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height);
SL_CU_API(cudaMallocAsync, void **out, size_t size, cu_stream *stream);
SL_CU_API(cudaMallocFromPoolAsync, void **out, size_t size, cu_pool *pool, cu_stream *stream);

/* HIP, where runtime and driver are one. Its functions have the shapes of the driver's. */
SL_CU_API(hipMalloc, cu_ptr *out, size_t size);
SL_CU_API(hipMallocPitch, cu_ptr *out, size_t *pitch, size_t width, size_t height);
SL_CU_API(hipMallocManaged, cu_ptr *out, size_t size, unsigned flags);
SL_CU_API(hipExtMallocWithFlags, cu_ptr *out, size_t size, unsigned flags);
SL_CU_API(hipFree, cu_ptr ptr);
SL_CU_API(hipHostMalloc, cu_ptr *out, size_t size, unsigned flags);
SL_CU_API(hipHostFree, cu_ptr ptr);
SL_CU_API(hipMallocAsync, cu_ptr *out, size_t size, cu_stream *stream);
SL_CU_API(hipMallocFromPoolAsync, cu_ptr *out, size_t size, cu_pool *pool, cu_stream *stream);
SL_CU_API(hipFreeAsync, cu_ptr ptr, cu_stream *stream);
SL_CU_API(hipMemCreate, cu_handle *out, size_t size, const cu_prop *prop, unsigned long long flags);
SL_CU_API(hipMemRelease, cu_handle handle);
SL_CU_API(hipMemRetainAllocationHandle, cu_handle *out, void *addr);
SL_CU_API(hipMemMap, cu_ptr ptr, size_t size, size_t offset, cu_handle handle,
          unsigned long long flags);
SL_CU_API(hipMemUnmap, cu_ptr ptr, size_t size);
SL_CU_API(hipSetDevice, int device);

/* dlsym itself, in assembly: it asks sl_dlsym_find and goes on to the real one with the caller's own
 * return address, by which dlsym(RTLD_NEXT) tells who asks. */
SL_API void *sl_hook_dlsym(void *handle, const char *name) __asm__("dlsym");

/* Comes back in two registers, which the assembly reads. */
typedef struct sl_dlsym_answer {
    void *value;
    uint64_t is_decided; /* 0: the real dlsym should answer, in the name of the caller */
} sl_dlsym_answer;

sl_dlsym_answer sl_dlsym_find(void *handle, const char *name);

#endif
