/* SPDX-License-Identifier: MIT
 *
 * A CUDA driver without a device: hands out addresses, remembers nothing, counts calls.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT long fake_calls;
static uint64_t next_address = 0x7f0000000000, next_handle = 1000;

static uint64_t take(size_t size) {
    __atomic_fetch_add(&fake_calls, 1, __ATOMIC_RELAXED);
    return __atomic_fetch_add(&next_address, (size + 0x1fffff) & ~(uint64_t)0x1fffff,
                              __ATOMIC_RELAXED);
}

EXPORT int cuMemAlloc_v2(uint64_t *out, size_t size) {
    if (size > (size_t)1 << 40)
        return 2;
    *out = take(size);
    return 0;
}

EXPORT int cuMemFree_v2(uint64_t ptr) {
    fake_calls++;
    return ptr == 0 ? 1 : 0;
}

EXPORT int cuMemAllocAsync(uint64_t *out, size_t size, void *stream) {
    (void)stream;
    *out = take(size);
    return 0;
}

EXPORT int cuMemAllocAsync_ptsz(uint64_t *out, size_t size, void *stream) {
    return cuMemAllocAsync(out, size, stream);
}

EXPORT int cuMemFreeAsync(uint64_t ptr, void *stream) {
    (void)ptr, (void)stream;
    fake_calls++;
    return 0;
}

EXPORT int cuMemCreate(uint64_t *out, size_t size, const void *prop, unsigned long long flags) {
    (void)size, (void)prop, (void)flags;
    *out = next_handle++;
    fake_calls++;
    return 0;
}

EXPORT int cuMemRelease(uint64_t handle) {
    (void)handle;
    fake_calls++;
    return 0;
}

EXPORT int cuMemMap(uint64_t ptr, size_t size, size_t offset, uint64_t handle,
                    unsigned long long flags) {
    (void)ptr, (void)size, (void)offset, (void)handle, (void)flags;
    fake_calls++;
    return 0;
}

EXPORT int cuMemUnmap(uint64_t ptr, size_t size) {
    (void)ptr, (void)size;
    fake_calls++;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **out, int device) {
    static char contexts[16];
    *out = &contexts[device];
    return 0;
}

EXPORT int cuCtxSetCurrent(void *context) {
    (void)context;
    return 0;
}

EXPORT int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}

/* As in the real driver, what cuGetProcAddress says about itself is another address than the exported one. */
static int look_up(const char *symbol, void **out, int version, uint64_t flags, void *status);

static const struct {
    const char *base;
    void *function;
    int is_ptsz;
} table[] = {
    {"cuMemAlloc", (void *)cuMemAlloc_v2, 0},
    {"cuMemFree", (void *)cuMemFree_v2, 0},
    {"cuMemAllocAsync", (void *)cuMemAllocAsync, 0},
    {"cuMemAllocAsync", (void *)cuMemAllocAsync_ptsz, 1},
    {"cuMemFreeAsync", (void *)cuMemFreeAsync, 0},
    {"cuMemCreate", (void *)cuMemCreate, 0},
    {"cuMemRelease", (void *)cuMemRelease, 0},
    {"cuMemMap", (void *)cuMemMap, 0},
    {"cuMemUnmap", (void *)cuMemUnmap, 0},
    {"cuDevicePrimaryCtxRetain", (void *)cuDevicePrimaryCtxRetain, 0},
    {"cuCtxSetCurrent", (void *)cuCtxSetCurrent, 0},
    {"cuDriverGetVersion", (void *)cuDriverGetVersion, 0},
    {"cuGetProcAddress", (void *)look_up, 0},
};

EXPORT int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                               void *status) {
    return look_up(symbol, out, version, flags, status);
}

static int look_up(const char *symbol, void **out, int version, uint64_t flags, void *status) {
    (void)version, (void)status;
    *out = NULL;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].base, symbol) == 0 && table[i].is_ptsz <= ((flags & 2) != 0))
            *out = table[i].function;
    return *out ? 0 : 500;
}
