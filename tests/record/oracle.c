/* SPDX-License-Identifier: MIT
 *
 * The oracle: counts what the CPU allocator of torch 1.13 or 2 reports, with nothing but additions,
 * and writes the sums to the file ORACLE_OUT names. Preloaded instead of the recorder into a second
 * run of the same program.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_llong alloc_cnt, alloc_bytes, free_cnt, free_bytes;

void oracle_report(void *ptr, int64_t size, int64_t allocated, int64_t reserved,
                   uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")
    __attribute__((visibility("default")));
void oracle_report_2(
    void *ptr, int64_t size, size_t allocated, size_t reserved,
    uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
    __attribute__((visibility("default")));
bool oracle_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv")
    __attribute__((visibility("default")));

static void count(int64_t size) {
    atomic_fetch_add(size >= 0 ? &alloc_cnt : &free_cnt, 1);
    atomic_fetch_add(size >= 0 ? &alloc_bytes : &free_bytes, size >= 0 ? size : -size);
}

void oracle_report(void *ptr, int64_t size, int64_t allocated, int64_t reserved, uint64_t device) {
    (void)ptr, (void)allocated, (void)reserved, (void)device;
    count(size);
}

void oracle_report_2(void *ptr, int64_t size, size_t allocated, size_t reserved, uint64_t device) {
    (void)ptr, (void)allocated, (void)reserved, (void)device;
    count(size);
}

bool oracle_enabled(void) {
    return true;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("ORACLE_OUT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lld %lld %lld %lld\n", alloc_cnt, alloc_bytes, free_cnt, free_bytes);
    fclose(file);
}
