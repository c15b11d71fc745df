/* SPDX-License-Identifier: MIT
 *
 * A library that finds the driver as libcudart, libcublasLt and libnccl do: dlopen, dlsym for
 * cuGetProcAddress_v2, then that function's address from itself, then everything else from that.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef int (*get_fn)(const char *, void **, int, uint64_t, void *);

EXPORT int (*lib_alloc)(uint64_t *, size_t);
EXPORT int (*lib_free)(uint64_t);
EXPORT int (*lib_alloc_async)(uint64_t *, size_t, void *);
EXPORT int (*lib_alloc_async_ptsz)(uint64_t *, size_t, void *);
EXPORT int (*lib_free_async)(uint64_t, void *);
EXPORT int (*lib_create)(uint64_t *, size_t, const void *, unsigned long long);
EXPORT int (*lib_release)(uint64_t);
EXPORT int (*lib_map)(uint64_t, size_t, size_t, uint64_t, unsigned long long);
EXPORT int (*lib_unmap)(uint64_t, size_t);
EXPORT int (*lib_retain)(void **, int);
EXPORT int (*lib_set_current)(void *);

static get_fn get;

static void *find(const char *name, uint64_t flags) {
    void *found = NULL;
    get(name, &found, 13000, flags, NULL);
    return found;
}

EXPORT int lib_start(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    get_fn first;
    if (!driver)
        return 1;
    *(void **)&first = dlsym(driver, "cuGetProcAddress_v2");
    if (!first || first("cuGetProcAddress", (void **)&get, 13000, 0, NULL) != 0)
        return 2;
    *(void **)&lib_alloc = find("cuMemAlloc", 0);
    *(void **)&lib_free = find("cuMemFree", 0);
    *(void **)&lib_alloc_async = find("cuMemAllocAsync", 0);
    *(void **)&lib_alloc_async_ptsz = find("cuMemAllocAsync", 2);
    *(void **)&lib_free_async = find("cuMemFreeAsync", 0);
    *(void **)&lib_create = find("cuMemCreate", 0);
    *(void **)&lib_release = find("cuMemRelease", 0);
    *(void **)&lib_map = find("cuMemMap", 0);
    *(void **)&lib_unmap = find("cuMemUnmap", 0);
    *(void **)&lib_retain = find("cuDevicePrimaryCtxRetain", 0);
    *(void **)&lib_set_current = find("cuCtxSetCurrent", 0);
    return 0;
}

/* The calls are here so that this library is the one that makes them. */
EXPORT uint64_t lib_take(size_t size) {
    uint64_t address = 0;
    return lib_alloc(&address, size) == 0 ? address : 0;
}

EXPORT void lib_give(uint64_t address) {
    lib_free(address);
}

EXPORT uint64_t lib_take_async(size_t size, int is_ptsz) {
    uint64_t address = 0;
    (is_ptsz ? lib_alloc_async_ptsz : lib_alloc_async)(&address, size, NULL);
    return address;
}

EXPORT void lib_give_async(uint64_t address) {
    lib_free_async(address, NULL);
}

EXPORT uint64_t lib_make(size_t size, int device) {
    int prop[4] = {1, 0, 1, device};
    uint64_t handle = 0;
    lib_create(&handle, size, prop, 0);
    return handle;
}

EXPORT void lib_place(uint64_t address, size_t size, uint64_t handle) {
    lib_map(address, size, 0, handle, 0);
}

EXPORT void lib_displace(uint64_t address, size_t size) {
    lib_unmap(address, size);
}

EXPORT void lib_drop(uint64_t handle) {
    lib_release(handle);
}

EXPORT void lib_use_device(int device) {
    void *context = NULL;
    lib_retain(&context, device);
    lib_set_current(context);
}
