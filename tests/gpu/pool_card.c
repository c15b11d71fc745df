/* SPDX-License-Identifier: MIT */
/* An allocator of a program's own on a card: one slab from the driver, pieces handed out of it and reported. Each step takes a
 * scratch piece and gives it back, and keeps another, until the slab is empty. Prints the piece that is live at the end. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stormlog/record.h>
#include <unistd.h>

#define MIB     ((uint64_t)1 << 20)
#define SLAB    (1024 * MIB)
#define PIECE   (16 * MIB)
#define SCRATCH (64 * MIB)

typedef int driver_call(void *, uint64_t);

static uint64_t slab, used;

static __attribute__((noinline)) uint64_t take(uint64_t bytes) {
    const void *caller = __builtin_return_address(0);
    if (used + bytes > SLAB) {
        sl_record_oom(0, bytes, caller);
        return 0;
    }
    uint64_t at = slab + used;
    used += bytes;
    sl_record_alloc(0, (void *)(uintptr_t)at, bytes, caller);
    return at;
}

static void give_last(uint64_t at) {
    sl_record_free(0, (void *)(uintptr_t)at);
    used = at - slab;
}

static __attribute__((noinline)) uint64_t keep(void) {
    uint64_t at = take(PIECE);
    __asm__ volatile("" ::: "memory"); /* no tail call: the frame stays */
    return at;
}

int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    if (!driver)
        return fprintf(stderr, "no libcuda.so.1\n"), 77;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*make_current)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
    driver_call *mem_alloc = (driver_call *)dlsym(driver, "cuMemAlloc_v2");
    if (init(0) || retain(&context, 0) || make_current(context) || mem_alloc(&slab, SLAB))
        return fprintf(stderr, "the driver refused\n"), 1;
    uint64_t step = 0, live = 0;
    for (;; step++) {
        uint64_t scratch = take(SCRATCH);
        if (!scratch)
            break;
        give_last(scratch);
        if (!keep())
            break;
        live += PIECE;
        sl_record_step(step);
        usleep(20000); /* long enough for the sampler to read the card */
    }
    printf("%lu %lu\n", (unsigned long)step, (unsigned long)live);
    return 0;
}
