/* SPDX-License-Identifier: MIT
 *
 * A libc10_cuda that calls libc10 across the library border as the real one does.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

void report(void *ptr, int64_t size, size_t allocated, size_t reserved,
            uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void oom(int64_t size, size_t allocated, size_t reserved,
         uint64_t device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

EXPORT void fake_event(uint64_t ptr, int64_t size, size_t allocated, size_t reserved, int device) {
    /* Type 1, the index, and rubbish above, as a compiler may leave it. */
    report((void *)(uintptr_t)ptr, size, allocated, reserved,
           UINT64_C(0xdead0001) | (uint64_t)(uint8_t)device << 8);
}

EXPORT void fake_oom(int64_t size, size_t allocated, size_t reserved, int device) {
    oom(size, allocated, reserved, 1 | (uint64_t)(uint8_t)device << 8);
}
