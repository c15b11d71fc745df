/* SPDX-License-Identifier: MIT
 *
 * A libc10 of torch 2 with nothing in it but the functions allocators call; they count what reaches them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT long fake_reports, fake_ooms, fake_bytes, fake_allocated, fake_device;
EXPORT int fake_profiling;

EXPORT void
report(void *ptr, int64_t size, size_t allocated, size_t reserved,
       uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
EXPORT void oom(int64_t size, size_t allocated, size_t reserved,
                uint64_t device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
EXPORT bool enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
EXPORT void grad_mode(bool is_enabled) __asm__("_ZN3c108GradMode11set_enabledEb");

void report(void *ptr, int64_t size, size_t allocated, size_t reserved, uint64_t device) {
    (void)ptr, (void)reserved;
    fake_reports++;
    fake_bytes += size;
    fake_allocated = (long)allocated;
    fake_device = (long)device;
    errno = 77; /* what the original does to errno is its own business */
}

void oom(int64_t size, size_t allocated, size_t reserved, uint64_t device) {
    (void)size, (void)allocated, (void)reserved, (void)device;
    fake_ooms++;
}

bool enabled(void) {
    return fake_profiling;
}

void grad_mode(bool is_enabled) {
    (void)is_enabled;
}
