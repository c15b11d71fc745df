/* SPDX-License-Identifier: MIT */
#include "record/hook_cuda.h"

#include "record/cuda_calls.h"
#include "record/hook_table.h"
#include "record/native_stack.h"
#include "record/recorder.h"
#include "record/sampler.h"
#include "record/stack_cache.h"
#include "record/vmm_table.h"

#define CU_SUCCESS 0

/* Handles share no values with addresses in the log: the kernel's half of the address space. */
#define HANDLE_KEY(handle) ((handle) | UINT64_C(1) << 63)

typedef struct driver_event {
    sl_event_kind kind;
    uint64_t addr, size;
    int device;
    const void *caller; /* return address of the replacement */
} driver_event;

/* Originals that are running on this thread. A driver's function may be made of another one. */
static _Thread_local unsigned running __attribute__((tls_model("initial-exec")));

static void record(const driver_event *driver) {
    sl_capture capture;
    if (running || !sl_recorder_settings()->has_driver || !sl_capture_begin(&capture))
        return;
    bool is_alloc = driver->kind == SL_EV_DRIVER_ALLOC;
    sl_log_event event = {
        .kind = (uint8_t)driver->kind,
        .device = (int8_t)driver->device,
        .addr = driver->addr,
        .size = driver->size,
        .label = sl_cuda_label(capture.log, sl_cuda_get_wanting(driver->caller)),
        .stack = is_alloc ? sl_native_add(capture.log, sl_stack_cache_get(capture.log).id) : 0,
        .total_allocated = SL_LOG_UNKNOWN,
        .total_reserved = SL_LOG_UNKNOWN,
    };
    sl_sampler_note_device(driver->device);
    sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

static void record_alloc(cu_result result, const cu_ptr *out, size_t size, const void *caller) {
    if (result == CU_SUCCESS && out)
        record(&(driver_event){SL_EV_DRIVER_ALLOC, *out, size, sl_cuda_get_device(), caller});
}

/* Before the driver can hand the address out again. */
static void record_free(cu_ptr ptr, const void *caller) {
    if (ptr)
        record(&(driver_event){SL_EV_DRIVER_FREE, ptr, 0, sl_cuda_get_device(), caller});
}

static void record_gone(const sl_vmm_piece *piece, const void *caller) {
    record(&(driver_event){SL_EV_DRIVER_FREE, HANDLE_KEY(piece->handle), piece->size, piece->device,
                           caller});
}

/* Declares `original` with the type of the replacement and finds it. CUDA_ERROR_NOT_FOUND when there is
 * none, which cannot happen to a caller that found us through the driver. */
#define CU_NOT_FOUND 500
#define CU_ORIGINAL(name)                                   \
    __typeof__(&SL_CU(name)) original;                      \
    *(void **)&original = sl_hook_original(SL_HOOK_##name); \
    if (!original)                                          \
    return CU_NOT_FOUND
#define CU_CALL(...)                                   \
    ({                                                 \
        running++;                                     \
        cu_result call_result = original(__VA_ARGS__); \
        running--;                                     \
        call_result;                                   \
    })
#define CALLER __builtin_return_address(0)

cu_result SL_CU(cuMemAlloc_v2)(cu_ptr *out, size_t size) {
    CU_ORIGINAL(cuMemAlloc_v2);
    cu_result result = CU_CALL(out, size);
    record_alloc(result, out, size, CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocPitch_v2)(cu_ptr *out, size_t *pitch, size_t width, size_t height,
                                    unsigned element) {
    CU_ORIGINAL(cuMemAllocPitch_v2);
    cu_result result = CU_CALL(out, pitch, width, height, element);
    record_alloc(result, out, result == CU_SUCCESS && pitch ? *pitch * height : 0, CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocManaged)(cu_ptr *out, size_t size, unsigned flags) {
    CU_ORIGINAL(cuMemAllocManaged);
    cu_result result = CU_CALL(out, size, flags);
    record_alloc(result, out, size, CALLER);
    return result;
}

cu_result SL_CU(cuMemFree_v2)(cu_ptr ptr) {
    CU_ORIGINAL(cuMemFree_v2);
    record_free(ptr, CALLER);
    return CU_CALL(ptr);
}

cu_result SL_CU(cuMemAllocAsync)(cu_ptr *out, size_t size, cu_stream *stream) {
    CU_ORIGINAL(cuMemAllocAsync);
    cu_result result = CU_CALL(out, size, stream);
    record_alloc(result, out, size, CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocAsync_ptsz)(cu_ptr *out, size_t size, cu_stream *stream) {
    CU_ORIGINAL(cuMemAllocAsync_ptsz);
    cu_result result = CU_CALL(out, size, stream);
    record_alloc(result, out, size, CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocFromPoolAsync)(cu_ptr *out, size_t size, cu_pool *pool,
                                         cu_stream *stream) {
    CU_ORIGINAL(cuMemAllocFromPoolAsync);
    cu_result result = CU_CALL(out, size, pool, stream);
    record_alloc(result, out, size, CALLER);
    return result;
}

cu_result SL_CU(cuMemAllocFromPoolAsync_ptsz)(cu_ptr *out, size_t size, cu_pool *pool,
                                              cu_stream *stream) {
    CU_ORIGINAL(cuMemAllocFromPoolAsync_ptsz);
    cu_result result = CU_CALL(out, size, pool, stream);
    record_alloc(result, out, size, CALLER);
    return result;
}

cu_result SL_CU(cuMemFreeAsync)(cu_ptr ptr, cu_stream *stream) {
    CU_ORIGINAL(cuMemFreeAsync);
    record_free(ptr, CALLER);
    return CU_CALL(ptr, stream);
}

cu_result SL_CU(cuMemFreeAsync_ptsz)(cu_ptr ptr, cu_stream *stream) {
    CU_ORIGINAL(cuMemFreeAsync_ptsz);
    record_free(ptr, CALLER);
    return CU_CALL(ptr, stream);
}

/* --- Virtual memory management: pieces are counted where they are physical ------------------------ */

#define CU_LOCATION_DEVICE 1

cu_result SL_CU(cuMemCreate)(cu_handle *out, size_t size, const cu_prop *prop,
                             unsigned long long flags) {
    CU_ORIGINAL(cuMemCreate);
    cu_result result = CU_CALL(out, size, prop, flags);
    if (result != CU_SUCCESS || !out || !prop || prop->location_type != CU_LOCATION_DEVICE)
        return result;
    sl_vmm_create(&(sl_vmm_piece){*out, size, prop->location_id});
    record(&(driver_event){SL_EV_DRIVER_ALLOC, HANDLE_KEY(*out), size, prop->location_id, CALLER});
    return result;
}

cu_result SL_CU(cuMemRelease)(cu_handle handle) {
    CU_ORIGINAL(cuMemRelease);
    sl_vmm_piece gone;
    if (sl_vmm_release(handle, &gone))
        record_gone(&gone, CALLER);
    return CU_CALL(handle);
}

cu_result SL_CU(cuMemRetainAllocationHandle)(cu_handle *out, void *addr) {
    CU_ORIGINAL(cuMemRetainAllocationHandle);
    cu_result result = CU_CALL(out, addr);
    if (result == CU_SUCCESS && out)
        sl_vmm_retain(*out);
    return result;
}

cu_result SL_CU(cuMemMap)(cu_ptr ptr, size_t size, size_t offset, cu_handle handle,
                          unsigned long long flags) {
    CU_ORIGINAL(cuMemMap);
    cu_result result = CU_CALL(ptr, size, offset, handle, flags);
    if (result == CU_SUCCESS)
        sl_vmm_map(ptr, size, handle);
    return result;
}

/* One call may take back several mappings that lie behind each other. */
cu_result SL_CU(cuMemUnmap)(cu_ptr ptr, size_t size) {
    CU_ORIGINAL(cuMemUnmap);
    for (uint64_t done = 0, step = 1; done < size && step; done += step) {
        sl_vmm_piece gone;
        bool is_gone;
        step = sl_vmm_unmap(ptr + done, &gone, &is_gone);
        if (is_gone)
            record_gone(&gone, CALLER);
    }
    return CU_CALL(ptr, size);
}

/* --- Whose device ------------------------------------------------------------------------------- */

cu_result SL_CU(cuDevicePrimaryCtxRetain)(cu_context **out, int device) {
    CU_ORIGINAL(cuDevicePrimaryCtxRetain);
    cu_result result = CU_CALL(out, device);
    if (result == CU_SUCCESS && out && *out)
        sl_cuda_note_context(*out, device);
    return result;
}

cu_result SL_CU(cuCtxSetCurrent)(cu_context *context) {
    CU_ORIGINAL(cuCtxSetCurrent);
    cu_result result = CU_CALL(context);
    if (result == CU_SUCCESS)
        sl_cuda_set_current(context);
    return result;
}

cu_result SL_CU(cuCtxPushCurrent_v2)(cu_context *context) {
    CU_ORIGINAL(cuCtxPushCurrent_v2);
    cu_result result = CU_CALL(context);
    if (result == CU_SUCCESS)
        sl_cuda_push_current(context);
    return result;
}

cu_result SL_CU(cuCtxPopCurrent_v2)(cu_context **out) {
    CU_ORIGINAL(cuCtxPopCurrent_v2);
    cu_result result = CU_CALL(out);
    if (result == CU_SUCCESS)
        sl_cuda_pop_current();
    return result;
}
