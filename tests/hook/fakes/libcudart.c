/* SPDX-License-Identifier: MIT
 *
 * A CUDA runtime that only calls the driver.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int cudaMalloc(void **out, size_t size) {
    int (*alloc)(uint64_t *, size_t);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&alloc = driver ? dlsym(driver, "cuMemAlloc_v2") : NULL;
    return alloc ? alloc((uint64_t *)out, size) : 100;
}
