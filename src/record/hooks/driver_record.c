/* SPDX-License-Identifier: MIT */
#include "record/hooks/driver_record.h"

#include "record/core/recorder.h"
#include "record/core/sampler.h"
#include "record/hooks/cuda_calls.h"
#include "record/hooks/vmm_table.h"
#include "record/stacks/native_stack.h"
#include "record/stacks/stack_cache.h"

/* Handles share no values with addresses in the log: the kernel's half of the address space. */
#define HANDLE_KEY(handle) ((handle) | UINT64_C(1) << 63)

/* CU_MEM_LOCATION_TYPE_DEVICE, hipMemLocationTypeDevice. */
#define LOCATION_DEVICE 1

typedef struct driver_event {
    sl_event_kind kind;
    uint64_t addr, size;
    int device;
    const void *caller; /* return address of the replacement */
} driver_event;

_Thread_local unsigned sl_driver_running __attribute__((tls_model("initial-exec")));

static void record(const driver_event *driver) {
    sl_capture capture;
    if (sl_driver_running || !sl_recorder_settings()->has_driver || !sl_capture_begin(&capture))
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
    if (driver->device >= 0)
        sl_sampler_note_device(driver->device);
    sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

void sl_driver_alloc(cu_result result, const cu_ptr *out, size_t size, int device,
                     const void *caller) {
    if (result == SL_DRIVER_SUCCESS && out)
        record(&(driver_event){SL_EV_DRIVER_ALLOC, *out, size, device, caller});
}

void sl_driver_free(cu_ptr ptr, int device, const void *caller) {
    if (ptr)
        record(&(driver_event){SL_EV_DRIVER_FREE, ptr, 0, device, caller});
}

static void record_gone(const sl_vmm_piece *piece, const void *caller) {
    record(&(driver_event){SL_EV_DRIVER_FREE, HANDLE_KEY(piece->handle), piece->size, piece->device,
                           caller});
}

void sl_driver_create(cu_result result, const cu_handle *out, size_t size, const cu_prop *prop,
                      const void *caller) {
    if (result != SL_DRIVER_SUCCESS || !out || !prop || prop->location_type != LOCATION_DEVICE)
        return;
    sl_vmm_create(&(sl_vmm_piece){*out, size, prop->location_id});
    record(&(driver_event){SL_EV_DRIVER_ALLOC, HANDLE_KEY(*out), size, prop->location_id, caller});
}

void sl_driver_release(cu_handle handle, const void *caller) {
    sl_vmm_piece gone;
    if (sl_vmm_release(handle, &gone))
        record_gone(&gone, caller);
}

void sl_driver_retain(cu_result result, const cu_handle *handle) {
    if (result == SL_DRIVER_SUCCESS && handle)
        sl_vmm_retain(*handle);
}

void sl_driver_map(cu_result result, cu_ptr ptr, size_t size, cu_handle handle) {
    if (result == SL_DRIVER_SUCCESS)
        sl_vmm_map(ptr, size, handle);
}

/* One call may take back several mappings that lie one after another. */
void sl_driver_unmap(cu_ptr ptr, size_t size, const void *caller) {
    for (uint64_t done = 0, step = 1; done < size && step; done += step) {
        sl_vmm_piece gone;
        bool is_gone;
        step = sl_vmm_unmap(ptr + done, &gone, &is_gone);
        if (is_gone)
            record_gone(&gone, caller);
    }
}
