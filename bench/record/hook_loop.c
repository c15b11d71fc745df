/* SPDX-License-Identifier: MIT
 *
 * A stand-in for libc10_cuda: reports blocks through a call into another library, as fast as it
 * can. Loaded by hook_loop.py, so that the calling thread has a Python stack. The working set is
 * 1,000 blocks; each is freed before it is handed out again.
 */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define BLOCK_CNT 1000

void report(void *ptr, int64_t size, size_t allocated, size_t reserved,
            uint64_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

__attribute__((visibility("default"))) double hook_loop(long event_cnt);

/* CPU time of the calling thread only: other load on the machine is not counted. */
static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds per event, alloc and free being one event each. */
double hook_loop(long event_cnt) {
    double start = now_ns();
    size_t total = 0;
    for (long i = 0; i < event_cnt / 2; i++) {
        uint64_t addr = UINT64_C(0x7f0000000000) + (uint64_t)(i % BLOCK_CNT) * 512;
        total += 512;
        report((void *)(uintptr_t)addr, 512, total, 1 << 21, 1);
        total -= 512;
        report((void *)(uintptr_t)addr, -512, total, 1 << 21, 1);
    }
    return (now_ns() - start) / (double)event_cnt;
}
