/* SPDX-License-Identifier: MIT
 *
 * A HIP runtime without a device: hands out addresses, remembers nothing, counts calls.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT long fake_hip_calls;
static uint64_t next_address = 0x7e0000000000, next_handle = 0x600000001000;

static int take(void **out, size_t size) {
    if (size > (size_t)1 << 40)
        return 2; /* hipErrorOutOfMemory */
    *out = (void *)(uintptr_t)next_address;
    next_address += (size + 0x1fffff) & ~(uint64_t)0x1fffff;
    fake_hip_calls++;
    return 0;
}

static int count(void) {
    fake_hip_calls++;
    return 0;
}

EXPORT int hipSetDevice(int device) {
    return device < 2 ? 0 : 101; /* hipErrorInvalidDevice */
}

EXPORT int hipMalloc(void **out, size_t size) {
    return take(out, size);
}

EXPORT int hipMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 255) & ~(size_t)255;
    return hipMalloc(out, *pitch * height); /* through the exported name: still one allocation */
}

EXPORT int hipMallocManaged(void **out, size_t size, unsigned flags) {
    (void)flags;
    return take(out, size);
}

EXPORT int hipExtMallocWithFlags(void **out, size_t size, unsigned flags) {
    (void)flags;
    return take(out, size);
}

EXPORT int hipHostMalloc(void **out, size_t size, unsigned flags) {
    (void)flags;
    return take(out, size);
}

EXPORT int hipMallocAsync(void **out, size_t size, void *stream) {
    (void)stream;
    return take(out, size);
}

EXPORT int hipMallocFromPoolAsync(void **out, size_t size, void *pool, void *stream) {
    (void)pool, (void)stream;
    return take(out, size);
}

EXPORT int hipFree(void *ptr) {
    (void)ptr;
    return count();
}

EXPORT int hipHostFree(void *ptr) {
    (void)ptr;
    return count();
}

EXPORT int hipFreeAsync(void *ptr, void *stream) {
    (void)ptr, (void)stream;
    return count();
}

EXPORT int hipMemCreate(void **out, size_t size, const void *prop, unsigned long long flags) {
    (void)size, (void)prop, (void)flags;
    *out = (void *)(uintptr_t)next_handle;
    next_handle += 64;
    return count();
}

EXPORT int hipMemRelease(void *handle) {
    (void)handle;
    return count();
}

EXPORT int hipMemRetainAllocationHandle(void **out, void *addr) {
    (void)addr;
    *out = (void *)(uintptr_t)(next_handle - 64); /* the newest piece */
    return count();
}

EXPORT int hipMemMap(void *ptr, size_t size, size_t offset, void *handle,
                     unsigned long long flags) {
    (void)ptr, (void)size, (void)offset, (void)handle, (void)flags;
    return count();
}

EXPORT int hipMemUnmap(void *ptr, size_t size) {
    (void)ptr, (void)size;
    return count();
}
