/* SPDX-License-Identifier: MIT
 *
 * What torch for ROCm does: memory from HIP, reports to libc10 with the device type HIP.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MIB    ((size_t)1 << 20)
#define CHECK(call)  \
    if ((call) != 0) \
    return __LINE__

int hipSetDevice(int device);
int hipMalloc(void **out, size_t size);
int hipMallocPitch(void **out, size_t *pitch, size_t width, size_t height);
int hipMallocManaged(void **out, size_t size, unsigned flags);
int hipExtMallocWithFlags(void **out, size_t size, unsigned flags);
int hipHostMalloc(void **out, size_t size, unsigned flags);
int hipMallocAsync(void **out, size_t size, void *stream);
int hipMallocFromPoolAsync(void **out, size_t size, void *pool, void *stream);
int hipFree(void *ptr);
int hipHostFree(void *ptr);
int hipFreeAsync(void *ptr, void *stream);
int hipMemCreate(void **out, size_t size, const void *prop, unsigned long long flags);
int hipMemRelease(void *handle);
int hipMemRetainAllocationHandle(void **out, void *addr);
int hipMemMap(void *ptr, size_t size, size_t offset, void *handle, unsigned long long flags);
int hipMemUnmap(void *ptr, size_t size);
void report(void *ptr, int64_t size, size_t allocated, size_t reserved,
            uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

/* 0, or the line of the call that failed. On device 0 stay 1 + 2 + 4 MiB, in the host 3 MiB, on device 1
 * 6 + 7 + 8 + 2 MiB. */
EXPORT int hip_calls(void) {
    void *block, *other;
    size_t pitch;
    CHECK(hipMalloc(&block, MIB));
    CHECK(hipMalloc(&other, 32 * MIB));
    CHECK(hipFree(other));
    CHECK(hipMallocPitch(&block, &pitch, MIB - 100, 2));
    CHECK(hipMallocManaged(&block, 4 * MIB, 1));
    CHECK(hipHostMalloc(&block, 3 * MIB, 0));
    CHECK(hipHostMalloc(&other, 5 * MIB, 0));
    CHECK(hipHostFree(other));
    if (hipMalloc(&block, (size_t)1 << 50) != 2 || hipSetDevice(7) != 101)
        return __LINE__;
    CHECK(hipSetDevice(1));
    CHECK(hipExtMallocWithFlags(&block, 6 * MIB, 1));
    CHECK(hipMallocAsync(&block, 7 * MIB, NULL));
    CHECK(hipMallocFromPoolAsync(&block, 8 * MIB, NULL, NULL));
    CHECK(hipMallocAsync(&other, 9 * MIB, NULL));
    CHECK(hipFreeAsync(other, NULL));
    return 0;
}

/* Pieces of 2 MiB on device 1: one stays mapped after its release, one is held twice. */
EXPORT int hip_pieces(void) {
    struct {
        int type, handle_type, location_type, location_id;
        char rest[64];
    } prop = {1, 0, 1, 1, {0}};
    void *first, *second, *again, *place = (void *)0x7d0000000000;
    CHECK(hipMemCreate(&first, 2 * MIB, &prop, 0));
    CHECK(hipMemMap(place, 2 * MIB, 0, first, 0));
    CHECK(hipMemRelease(first));
    CHECK(hipMemCreate(&second, 2 * MIB, &prop, 0));
    CHECK(hipMemRetainAllocationHandle(&again, NULL));
    CHECK(hipMemRelease(second));
    CHECK(hipMemRelease(again)); /* gone */
    CHECK(hipMemCreate(&second, 2 * MIB, &prop, 0));
    CHECK(hipMemMap((char *)place + 2 * MIB, 2 * MIB, 0, second, 0));
    CHECK(hipMemRelease(second));
    CHECK(hipMemUnmap((char *)place + 2 * MIB, 2 * MIB)); /* gone */
    return 0;
}

EXPORT void hip_tensor(void) {
    report((void *)0x1000, 512, 512, 2 * MIB, 6 | 1 << 8); /* DeviceType::HIP, index 1 */
}
