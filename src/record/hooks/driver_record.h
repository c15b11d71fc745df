/* SPDX-License-Identifier: MIT */
/* What the replacements of CUDA's and HIP's memory functions have in common: each calls its
 * original and reports the result here. Addresses of the two do not meet: a process uses one of
 * them. */
#ifndef SL_DRIVER_RECORD_H
#define SL_DRIVER_RECORD_H

#include "record/hooks/hook_cuda.h"
#include "record/hooks/hook_table.h"

#define SL_DRIVER_SUCCESS   0
#define SL_DRIVER_NOT_FOUND 500 /* CUDA_ERROR_NOT_FOUND, hipErrorNotFound */

/* Originals that are running on this thread. A function of the driver may be made of another one. */
extern _Thread_local unsigned sl_driver_running __attribute__((tls_model("initial-exec")));

/* Declares `original` with the type of the replacement and finds it. It is missing only for a
 * caller that is not linked to the driver. */
#define SL_DRIVER_ORIGINAL(name)                            \
    __typeof__(&SL_CU(name)) original;                      \
    *(void **)&original = sl_hook_original(SL_HOOK_##name); \
    if (!original)                                          \
    return SL_DRIVER_NOT_FOUND

#define SL_DRIVER_CALL(...)                            \
    ({                                                 \
        sl_driver_running++;                           \
        cu_result call_result = original(__VA_ARGS__); \
        sl_driver_running--;                           \
        call_result;                                   \
    })

#define SL_CALLER __builtin_return_address(0)

#define SL_DRIVER_HOST (-1) /* the device of memory that lies in the host */

/* A block was asked for; `out` holds its address when the result is success. */
void sl_driver_alloc(cu_result result, const cu_ptr *out, size_t size, int device,
                     const void *caller);

/* Before the driver can hand the address out again. */
void sl_driver_free(cu_ptr ptr, int device, const void *caller);

/* Physical pieces (vmm_table.h). */
void sl_driver_create(cu_result result, const cu_handle *out, size_t size, const cu_prop *prop,
                      const void *caller);
void sl_driver_release(cu_handle handle, const void *caller);
void sl_driver_retain(cu_result result, const cu_handle *handle);
void sl_driver_map(cu_result result, cu_ptr ptr, size_t size, cu_handle handle);
void sl_driver_unmap(cu_ptr ptr, size_t size, const void *caller);

#endif
