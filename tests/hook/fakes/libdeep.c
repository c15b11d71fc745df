/* SPDX-License-Identifier: MIT
 *
 * A library that is loaded with RTLD_DEEPBIND: its names bind to what it was linked to, past anything preloaded.
 */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

int cudaMalloc(void **out, size_t size);

EXPORT int deep_take(void **out, size_t size) {
    volatile int result =
        cudaMalloc(out, size); /* a call, not a jump: the caller is this library */
    return result;
}

/* The function as this library knows it. */
EXPORT void *deep_address(void) {
    return (void *)cudaMalloc;
}
