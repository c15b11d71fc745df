/* SPDX-License-Identifier: MIT */
/* HIP's memory functions. There is no driver below them that other libraries could call instead, so they
 * are recorded where they are. */
#include "record/hooks/driver_record.h"

/* A thread's device is the one it set, else the first. */
static _Thread_local int current_device __attribute__((tls_model("initial-exec")));

cu_result SL_CU(hipSetDevice)(int device) {
    SL_DRIVER_ORIGINAL(hipSetDevice);
    cu_result result = SL_DRIVER_CALL(device);
    if (result == SL_DRIVER_SUCCESS)
        current_device = device;
    return result;
}

/* The body of a function that hands out `size` bytes at *out. */
#define HIP_ALLOC(name, size, device, ...)                     \
    do {                                                       \
        SL_DRIVER_ORIGINAL(name);                              \
        cu_result result = SL_DRIVER_CALL(__VA_ARGS__);        \
        sl_driver_alloc(result, out, size, device, SL_CALLER); \
        return result;                                         \
    } while (0)

#define HIP_FREE(name, device, ...)             \
    do {                                        \
        SL_DRIVER_ORIGINAL(name);               \
        sl_driver_free(ptr, device, SL_CALLER); \
        return SL_DRIVER_CALL(__VA_ARGS__);     \
    } while (0)

cu_result SL_CU(hipMalloc)(cu_ptr *out, size_t size) {
    HIP_ALLOC(hipMalloc, size, current_device, out, size);
}

cu_result SL_CU(hipMallocPitch)(cu_ptr *out, size_t *pitch, size_t width, size_t height) {
    HIP_ALLOC(hipMallocPitch, pitch ? *pitch * height : 0, current_device, out, pitch, width,
              height);
}

cu_result SL_CU(hipMallocManaged)(cu_ptr *out, size_t size, unsigned flags) {
    HIP_ALLOC(hipMallocManaged, size, current_device, out, size, flags);
}

cu_result SL_CU(hipExtMallocWithFlags)(cu_ptr *out, size_t size, unsigned flags) {
    HIP_ALLOC(hipExtMallocWithFlags, size, current_device, out, size, flags);
}

cu_result SL_CU(hipHostMalloc)(cu_ptr *out, size_t size, unsigned flags) {
    HIP_ALLOC(hipHostMalloc, size, SL_DRIVER_HOST, out, size, flags);
}

cu_result SL_CU(hipMallocAsync)(cu_ptr *out, size_t size, cu_stream *stream) {
    HIP_ALLOC(hipMallocAsync, size, current_device, out, size, stream);
}

cu_result SL_CU(hipMallocFromPoolAsync)(cu_ptr *out, size_t size, cu_pool *pool,
                                        cu_stream *stream) {
    HIP_ALLOC(hipMallocFromPoolAsync, size, current_device, out, size, pool, stream);
}

cu_result SL_CU(hipFree)(cu_ptr ptr) {
    HIP_FREE(hipFree, current_device, ptr);
}

cu_result SL_CU(hipHostFree)(cu_ptr ptr) {
    HIP_FREE(hipHostFree, SL_DRIVER_HOST, ptr);
}

cu_result SL_CU(hipFreeAsync)(cu_ptr ptr, cu_stream *stream) {
    HIP_FREE(hipFreeAsync, current_device, ptr, stream);
}

cu_result SL_CU(hipMemCreate)(cu_handle *out, size_t size, const cu_prop *prop,
                              unsigned long long flags) {
    SL_DRIVER_ORIGINAL(hipMemCreate);
    cu_result result = SL_DRIVER_CALL(out, size, prop, flags);
    sl_driver_create(result, out, size, prop, SL_CALLER);
    return result;
}

cu_result SL_CU(hipMemRelease)(cu_handle handle) {
    SL_DRIVER_ORIGINAL(hipMemRelease);
    sl_driver_release(handle, SL_CALLER);
    return SL_DRIVER_CALL(handle);
}

cu_result SL_CU(hipMemRetainAllocationHandle)(cu_handle *out, void *addr) {
    SL_DRIVER_ORIGINAL(hipMemRetainAllocationHandle);
    cu_result result = SL_DRIVER_CALL(out, addr);
    sl_driver_retain(result, out);
    return result;
}

cu_result SL_CU(hipMemMap)(cu_ptr ptr, size_t size, size_t offset, cu_handle handle,
                           unsigned long long flags) {
    SL_DRIVER_ORIGINAL(hipMemMap);
    cu_result result = SL_DRIVER_CALL(ptr, size, offset, handle, flags);
    sl_driver_map(result, ptr, size, handle);
    return result;
}

cu_result SL_CU(hipMemUnmap)(cu_ptr ptr, size_t size) {
    SL_DRIVER_ORIGINAL(hipMemUnmap);
    sl_driver_unmap(ptr, size, SL_CALLER);
    return SL_DRIVER_CALL(ptr, size);
}
