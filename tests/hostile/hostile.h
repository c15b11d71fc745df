/* SPDX-License-Identifier: MIT
 *
 * What the C programs of this folder share: a way to start a recording from inside, and events of a GPU that is not
 * there. The events go through the stand-ins for libc10 and libc10_cuda of tests/hook.
 */
#ifndef SL_HOSTILE_H
#define SL_HOSTILE_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stormlog/record.h"

/* Linked with the stand-ins they are in the linker's global scope; else they are loaded as Python loads torch. */
#ifdef HOSTILE_LINKED
void fake_event(uint64_t ptr, int64_t size, size_t allocated, size_t reserved, int device);
void fake_oom(int64_t size, size_t allocated, size_t reserved, int device);
#else
static void (*fake_event)(uint64_t ptr, int64_t size, size_t allocated, size_t reserved,
                          int device);

__attribute__((constructor(101))) static void load_fakes(void) {
    char path[2048];
    const char *folder = getenv("HOSTILE_FAKES");
    snprintf(path, sizeof path, "%s/libc10_cuda.so", folder ? folder : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *(void **)&fake_event = library ? dlsym(library, "fake_event") : NULL;
    if (!fake_event) {
        fprintf(stderr, "%s\n", dlerror());
        exit(96);
    }
}
#endif

static atomic_int is_over;
static void *recorder;

/* Before main changes what can be seen and done. */
__attribute__((constructor(102))) static void load_recorder(void) {
    const char *path = getenv("HOSTILE_LIBRARY");
    recorder = path ? dlopen(path, RTLD_NOW) : NULL;
    if (path && !recorder) {
        fprintf(stderr, "%s\n", dlerror());
        exit(95);
    }
}

/* count blocks, each freed before the next one comes. */
static inline void churn(long count, uint64_t base) {
    for (long i = 0; i < count; i++) {
        fake_event(base, 512, 512, 2 << 20, 0);
        fake_event(base, -512, 0, 2 << 20, 0);
    }
}

/* count blocks that stay: the tables of the recording have to grow. */
static inline void hold(long count, uint64_t base) {
    for (long i = 0; i < count; i++)
        fake_event(base + 512 * (uint64_t)i, 512, 512 * (size_t)(i + 1), (size_t)1 << 40, 0);
}

/* Starts a recording from inside where the runner asks for it (HOSTILE_LIBRARY), else the recorder is preloaded or
 * absent. */
static inline void start_recording(void) {
    if (recorder) {
        int (*start)(const sl_record_options *) =
            (int (*)(const sl_record_options *))dlsym(recorder, "sl_record_start");
        sl_record_options options = {.struct_size = sizeof options, .cpu = SL_RECORD_CPU_ON};
        if (!start || start(&options) != 0) {
            fprintf(stderr, "the recording could not be started\n");
            exit(99);
        }
    }
}

/* The same, and the first event. */
static inline void begin(void) {
    start_recording();
    churn(1, 0x10000);
}

static inline void *spin(void *arg) {
    while (!atomic_load(&is_over))
        churn(10, 0x1000000 * (uint64_t)(uintptr_t)arg);
    return NULL;
}

/* Threads that allocate until is_over. */
static inline void start_threads(pthread_t *threads, int count) {
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, spin, (void *)(uintptr_t)(i + 1)) != 0)
            exit(98);
}

static inline void end_threads(const pthread_t *threads, int count) {
    atomic_store(&is_over, 1);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

#endif
