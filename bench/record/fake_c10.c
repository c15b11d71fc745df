/* SPDX-License-Identifier: MIT
 *
 * The report function as in torch while no profiler is on: it checks for one and returns.
 */
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) void
report(void *ptr, int64_t size, size_t allocated, size_t reserved,
       uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

static __thread void *volatile profiler;

void report(void *ptr, int64_t size, size_t allocated, size_t reserved, uint64_t device) {
    (void)ptr, (void)size, (void)allocated, (void)reserved, (void)device;
    if (profiler)
        __builtin_trap();
}
