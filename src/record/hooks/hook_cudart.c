/* SPDX-License-Identifier: MIT */
/* The CUDA runtime's allocation functions. They record nothing: what they take from the driver is
 * recorded there. They only remember who called them, so that a block is labelled with the library
 * that wanted it and not with libcudart. */
#include "record/hooks/cuda_calls.h"
#include "record/hooks/hook_cuda.h"
#include "record/hooks/hook_table.h"
#include "record/torch/trace_tracker.h"

/* cudaErrorSymbolNotFound; a caller that got here was linked to a runtime, so there is one. */
#define RT_NOT_FOUND 500

#define RT_CALL(name, ...)                                                     \
    do {                                                                       \
        __typeof__(&SL_CU(name)) original;                                     \
        *(void **)&original = sl_hook_original(SL_HOOK_##name);                \
        if (!original)                                                         \
            return RT_NOT_FOUND;                                               \
        const void *before = sl_cuda_set_wanting(__builtin_return_address(0)); \
        cu_result result = original(__VA_ARGS__);                              \
        sl_cuda_set_wanting(before);                                           \
        return result;                                                         \
    } while (0)

cu_result SL_CU(cudaMalloc)(void **out, size_t size) {
    sl_tracker_try_driver(__builtin_return_address(0));
    RT_CALL(cudaMalloc, out, size);
}

cu_result SL_CU(cudaMallocManaged)(void **out, size_t size, unsigned flags) {
    RT_CALL(cudaMallocManaged, out, size, flags);
}

cu_result SL_CU(cudaMallocPitch)(void **out, size_t *pitch, size_t width, size_t height) {
    RT_CALL(cudaMallocPitch, out, pitch, width, height);
}

cu_result SL_CU(cudaMallocAsync)(void **out, size_t size, cu_stream *stream) {
    RT_CALL(cudaMallocAsync, out, size, stream);
}

cu_result SL_CU(cudaMallocFromPoolAsync)(void **out, size_t size, cu_pool *pool,
                                         cu_stream *stream) {
    RT_CALL(cudaMallocFromPoolAsync, out, size, pool, stream);
}
