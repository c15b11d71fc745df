/* SPDX-License-Identifier: MIT */
#include "record/hooks/hook_cuda.h"

#include "record/hooks/cuda_calls.h"
#include "record/hooks/driver_record.h"
#include "record/torch/trace_tracker.h"

cu_result SL_CU(cuMemAlloc_v2)(cu_ptr *out, size_t size) {
    SL_DRIVER_ORIGINAL(cuMemAlloc_v2);
    cu_result result = SL_DRIVER_CALL(out, size);
    sl_driver_alloc(result, out, size, sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocPitch_v2)(cu_ptr *out, size_t *pitch, size_t width, size_t height,
                                    unsigned element) {
    SL_DRIVER_ORIGINAL(cuMemAllocPitch_v2);
    cu_result result = SL_DRIVER_CALL(out, pitch, width, height, element);
    sl_driver_alloc(result, out, result == SL_DRIVER_SUCCESS && pitch ? *pitch * height : 0,
                    sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocManaged)(cu_ptr *out, size_t size, unsigned flags) {
    SL_DRIVER_ORIGINAL(cuMemAllocManaged);
    cu_result result = SL_DRIVER_CALL(out, size, flags);
    sl_driver_alloc(result, out, size, sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemFree_v2)(cu_ptr ptr) {
    SL_DRIVER_ORIGINAL(cuMemFree_v2);
    sl_driver_free(ptr, sl_cuda_get_device(), SL_CALLER);
    return SL_DRIVER_CALL(ptr);
}

cu_result SL_CU(cuMemAllocAsync)(cu_ptr *out, size_t size, cu_stream *stream) {
    SL_DRIVER_ORIGINAL(cuMemAllocAsync);
    cu_result result = SL_DRIVER_CALL(out, size, stream);
    sl_driver_alloc(result, out, size, sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocAsync_ptsz)(cu_ptr *out, size_t size, cu_stream *stream) {
    SL_DRIVER_ORIGINAL(cuMemAllocAsync_ptsz);
    cu_result result = SL_DRIVER_CALL(out, size, stream);
    sl_driver_alloc(result, out, size, sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocFromPoolAsync)(cu_ptr *out, size_t size, cu_pool *pool,
                                         cu_stream *stream) {
    SL_DRIVER_ORIGINAL(cuMemAllocFromPoolAsync);
    cu_result result = SL_DRIVER_CALL(out, size, pool, stream);
    sl_driver_alloc(result, out, size, sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocFromPoolAsync_ptsz)(cu_ptr *out, size_t size, cu_pool *pool,
                                              cu_stream *stream) {
    SL_DRIVER_ORIGINAL(cuMemAllocFromPoolAsync_ptsz);
    cu_result result = SL_DRIVER_CALL(out, size, pool, stream);
    sl_driver_alloc(result, out, size, sl_cuda_get_device(), SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemFreeAsync)(cu_ptr ptr, cu_stream *stream) {
    SL_DRIVER_ORIGINAL(cuMemFreeAsync);
    sl_driver_free(ptr, sl_cuda_get_device(), SL_CALLER);
    return SL_DRIVER_CALL(ptr, stream);
}

cu_result SL_CU(cuMemFreeAsync_ptsz)(cu_ptr ptr, cu_stream *stream) {
    SL_DRIVER_ORIGINAL(cuMemFreeAsync_ptsz);
    sl_driver_free(ptr, sl_cuda_get_device(), SL_CALLER);
    return SL_DRIVER_CALL(ptr, stream);
}

/* --- Virtual memory management: pieces are counted where they are physical ------------------------ */

cu_result SL_CU(cuMemCreate)(cu_handle *out, size_t size, const cu_prop *prop,
                             unsigned long long flags) {
    SL_DRIVER_ORIGINAL(cuMemCreate);
    sl_tracker_try_driver(SL_CALLER);
    cu_result result = SL_DRIVER_CALL(out, size, prop, flags);
    sl_driver_create(result, out, size, prop, SL_CALLER);
    return result;
}

cu_result SL_CU(cuMemRelease)(cu_handle handle) {
    SL_DRIVER_ORIGINAL(cuMemRelease);
    sl_driver_release(handle, SL_CALLER);
    return SL_DRIVER_CALL(handle);
}

cu_result SL_CU(cuMemRetainAllocationHandle)(cu_handle *out, void *addr) {
    SL_DRIVER_ORIGINAL(cuMemRetainAllocationHandle);
    cu_result result = SL_DRIVER_CALL(out, addr);
    sl_driver_retain(result, out);
    return result;
}

cu_result SL_CU(cuMemMap)(cu_ptr ptr, size_t size, size_t offset, cu_handle handle,
                          unsigned long long flags) {
    SL_DRIVER_ORIGINAL(cuMemMap);
    cu_result result = SL_DRIVER_CALL(ptr, size, offset, handle, flags);
    sl_driver_map(result, ptr, size, handle);
    return result;
}

cu_result SL_CU(cuMemUnmap)(cu_ptr ptr, size_t size) {
    SL_DRIVER_ORIGINAL(cuMemUnmap);
    sl_driver_unmap(ptr, size, SL_CALLER);
    return SL_DRIVER_CALL(ptr, size);
}

/* --- Whose device ------------------------------------------------------------------------------- */

cu_result SL_CU(cuDevicePrimaryCtxRetain)(cu_context **out, int device) {
    SL_DRIVER_ORIGINAL(cuDevicePrimaryCtxRetain);
    cu_result result = SL_DRIVER_CALL(out, device);
    if (result == SL_DRIVER_SUCCESS && out && *out)
        sl_cuda_note_context(*out, device);
    return result;
}

cu_result SL_CU(cuCtxSetCurrent)(cu_context *context) {
    SL_DRIVER_ORIGINAL(cuCtxSetCurrent);
    cu_result result = SL_DRIVER_CALL(context);
    if (result == SL_DRIVER_SUCCESS)
        sl_cuda_set_current(context);
    return result;
}

cu_result SL_CU(cuCtxPushCurrent_v2)(cu_context *context) {
    SL_DRIVER_ORIGINAL(cuCtxPushCurrent_v2);
    cu_result result = SL_DRIVER_CALL(context);
    if (result == SL_DRIVER_SUCCESS)
        sl_cuda_push_current(context);
    return result;
}

cu_result SL_CU(cuCtxPopCurrent_v2)(cu_context **out) {
    SL_DRIVER_ORIGINAL(cuCtxPopCurrent_v2);
    cu_result result = SL_DRIVER_CALL(out);
    if (result == SL_DRIVER_SUCCESS)
        sl_cuda_pop_current();
    return result;
}
