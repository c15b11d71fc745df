/* SPDX-License-Identifier: MIT
 *
 * Native code beside a real torch, for ctypes: allocates through c10's own allocators without the GIL, and loads
 * libraries on a thread of its own. Needs no header of torch.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* c10::Allocator as far as it is used: two destructors, then allocate(size), which returns a DataPtr through memory.
 * A DataPtr has the data, the context (here the same pointer) and its deleter, in the order of the C++ library. */
typedef struct allocator {
    struct {
        void *destroy, *destroy_and_free;
        void (*allocate)(uintptr_t *out, const struct allocator *self, size_t size);
    } * vtable;
} allocator;

static const allocator *find_allocator(int is_cuda) {
    void *library = dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        library = dlopen("libc10.so.1.13", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return NULL;
    if (!is_cuda) {
        allocator *(*get)(void) =
            (allocator * (*)(void)) dlsym(library, "_ZN3c1015GetCPUAllocatorEv");
        return get ? get() : NULL;
    }
    allocator *(*get)(const int8_t *) = (allocator * (*)(const int8_t *))
        dlsym(library, "_ZN3c1012GetAllocatorERKNS_10DeviceTypeE");
    int8_t cuda = 1;
    return get ? get(&cuda) : NULL;
}

static void take_and_give_back(const allocator *source) {
    uintptr_t out[8] = {0};
    source->vtable->allocate(out, source, 256);
    uintptr_t deleter = out[1] == out[0] ? out[2] : out[1];
    ((void (*)(void *))deleter)((void *)out[0]);
}

/* count blocks, or without end when it is negative; returns 0 when torch's allocator was found. */
EXPORT int native_alloc(long count, int is_cuda) {
    const allocator *source = find_allocator(is_cuda);
    if (!source)
        return -1;
    for (long i = 0; count < 0 || i < count; i++)
        take_and_give_back(source);
    return 0;
}

static void *load(void *path) {
    dlopen(path, RTLD_NOW);
    return NULL;
}

/* Loads a library on another thread; path must stay valid. */
EXPORT int native_dlopen(const char *path) {
    pthread_t thread;
    return pthread_create(&thread, NULL, load, (void *)(uintptr_t)path);
}
