/* SPDX-License-Identifier: MIT
 *
 * A program that uses the fake libraries as Python uses the real ones. Argument: the scenario. Prints facts as
 * "name value" lines.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void *load(const char *name) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(99);
    }
    return handle;
}

static long value_of(void *handle, const char *name) {
    return *(long *)dlsym(handle, name);
}

static void torch(void) {
    void *cuda = load("libc10_cuda.so"), *c10 = load("libc10.so");
    void (*event)(uint64_t, int64_t, size_t, size_t, int);
    void (*oom)(int64_t, size_t, size_t, int);
    *(void **)&event = dlsym(cuda, "fake_event");
    *(void **)&oom = dlsym(cuda, "fake_oom");
    size_t total = 0;
    for (int i = 0; i < 100; i++) {
        total += 512;
        event(0x1000 + 512 * (uint64_t)i, 512, total, 2 * MIB, 0);
    }
    for (int i = 0; i < 60; i++) {
        total -= 512;
        event(0x1000 + 512 * (uint64_t)i, -512, total, 2 * MIB, 0);
    }
    errno = 42;
    event(0x90000, 1024, 1024, 2 * MIB, 3);
    printf("errno %d\n", errno);
    oom(5 * (int64_t)MIB, total, 2 * MIB, 0);
    printf("reports %ld\nooms %ld\nbytes %ld\nallocated %ld\ndevice %lx\n",
           value_of(c10, "fake_reports"), value_of(c10, "fake_ooms"), value_of(c10, "fake_bytes"),
           value_of(c10, "fake_allocated"), (unsigned long)value_of(c10, "fake_device"));
    fflush(stdout);
    _exit(0); /* blocks stay live */
}

static void driver(void) {
    void *lib = load("libcublas.so");
    int (*start)(void);
    uint64_t (*take)(size_t), (*take_async)(size_t, int);
    void (*give)(uint64_t), (*give_async)(uint64_t), (*use_device)(int);
    *(void **)&start = dlsym(lib, "lib_start");
    *(void **)&take = dlsym(lib, "lib_take");
    *(void **)&take_async = dlsym(lib, "lib_take_async");
    *(void **)&give = dlsym(lib, "lib_give");
    *(void **)&give_async = dlsym(lib, "lib_give_async");
    *(void **)&use_device = dlsym(lib, "lib_use_device");
    printf("start %d\n", start());
    use_device(0);
    uint64_t first = take(64 * MIB), second = take(2 * MIB);
    give(second);
    printf("too_much %d\n", take((size_t)1 << 50) == 0);
    use_device(1);
    uint64_t third = take_async(10 * MIB, 0), fourth = take_async(20 * MIB, 1);
    give_async(third);
    /* As programs do that look the driver up themselves. */
    int (*own_alloc)(uint64_t *, size_t);
    uint64_t own;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&own_alloc = dlsym(cuda, "cuMemAlloc_v2");
    own_alloc(&own, 3 * MIB);
    /* Through the runtime: the block is ours, not the runtime's. */
    int (*runtime_alloc)(void **, size_t);
    void *block;
    *(void **)&runtime_alloc = dlsym(load("libcudart.so"), "cudaMalloc");
    runtime_alloc(&block, 5 * MIB);
    printf("calls %ld\nother %d\nall %d\n", value_of(cuda, "fake_calls"),
           dlsym(cuda, "cuDriverGetVersion") != NULL, first && fourth && own);
    fflush(stdout);
    _exit(0);
}

static void vmm(void) {
    void *lib = load("libcublas.so");
    int (*start)(void);
    uint64_t (*make)(size_t, int);
    void (*place)(uint64_t, size_t, uint64_t), (*displace)(uint64_t, size_t), (*drop)(uint64_t);
    *(void **)&start = dlsym(lib, "lib_start");
    *(void **)&make = dlsym(lib, "lib_make");
    *(void **)&place = dlsym(lib, "lib_place");
    *(void **)&displace = dlsym(lib, "lib_displace");
    *(void **)&drop = dlsym(lib, "lib_drop");
    start();
    uint64_t base = 0x500000000000, pieces[4];
    for (int i = 0; i < 4; i++) {
        pieces[i] = make(2 * MIB, 2);
        place(base + 2 * MIB * (size_t)i, 2 * MIB, pieces[i]);
    }
    drop(pieces[0]);                   /* still mapped: it lives */
    displace(base + 2 * MIB, 4 * MIB); /* pieces 1 and 2 lose their place, not their handles */
    drop(pieces[1]);                   /* gone */
    drop(pieces[3]);                   /* still mapped */
    displace(base + 6 * MIB, 2 * MIB); /* gone */
    _exit(0);
}

/* A library that binds past the preloaded one, with its slots bound at once and when they are first used. */
static void deepbind(int flags) {
    int (*take)(void **, size_t);
    void *(*address)(void), *block;
    void (*stop)(void);
    Dl_info info = {0};
    void *lib = dlopen("libdeep.so", flags | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!lib)
        exit(99);
    *(void **)&take = dlsym(lib, "deep_take");
    *(void **)&address = dlsym(lib, "deep_address");
    printf("first %d\n", take(&block, 3 * MIB));
    printf("second %d\n", take(&block, 5 * MIB));
    *(void **)&stop = dlsym(RTLD_DEFAULT, "sl_record_stop");
    stop();
    dladdr(address(), &info);
    printf("restored %d\n", info.dli_fname && strstr(info.dli_fname, "libcudart") != NULL);
    printf("third %d\n", take(&block, 7 * MIB));
    fflush(stdout);
    _exit(0);
}

static void deepbind_now(void) {
    deepbind(RTLD_NOW);
}

static void deepbind_lazy(void) {
    deepbind(RTLD_LAZY);
}

/* By calling library, and by a program that looks HIP up itself. */
static void hip(void) {
    void *lib = load("libc10_hip.so"), *runtime = load("libamdhip64.so"), *own;
    int (*calls)(void), (*pieces)(void), (*own_alloc)(void **, size_t);
    void (*tensor)(void);
    *(void **)&calls = dlsym(lib, "hip_calls");
    *(void **)&pieces = dlsym(lib, "hip_pieces");
    *(void **)&tensor = dlsym(lib, "hip_tensor");
    *(void **)&own_alloc = dlsym(runtime, "hipMalloc");
    printf("calls_failed %d\n", calls());
    printf("pieces_failed %d\n", pieces());
    printf("own %d\n", own_alloc(&own, 11 * MIB));
    tensor();
    printf("calls %ld\n", value_of(runtime, "fake_hip_calls"));
    fflush(stdout);
    _exit(0);
}

/* Two threads, each on a device of its own, at the same time; then as below. */
typedef struct device_work {
    void *lib;
    int device;
    pthread_barrier_t *both;
} device_work;

static void *use_one_device(void *arg) {
    const device_work *work = arg;
    uint64_t (*take)(size_t);
    void (*use_device)(int);
    *(void **)&take = dlsym(work->lib, "lib_take");
    *(void **)&use_device = dlsym(work->lib, "lib_use_device");
    use_device(work->device);
    for (int i = 0; i < 50; i++) {
        pthread_barrier_wait(work->both);
        take((size_t)(work->device + 1) * MIB);
    }
    return NULL;
}

static void wait_for_end(void) {
    char byte;
    puts("ready 1");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
}

static void two_devices(void) {
    int (*start)(void);
    pthread_barrier_t both;
    pthread_t threads[2];
    device_work work[2];
    void *lib = load("libcublas.so");
    *(void **)&start = dlsym(lib, "lib_start");
    start();
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++) {
        work[i] = (device_work){lib, i, &both};
        pthread_create(&threads[i], NULL, use_one_device, &work[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    wait_for_end();
    _exit(0);
}

/* One block on device 1, then waits for its standard input to end. */
static void wait_for_input(void) {
    void *cuda = load("libc10_cuda.so");
    void (*event)(uint64_t, int64_t, size_t, size_t, int);
    *(void **)&event = dlsym(cuda, "fake_event");
    event(0x1000, 512, 512, 2 * MIB, 1);
    wait_for_end();
}

/* Without a driver no lookup may find one, and dlsym must answer as if its caller had asked. */
static void without_driver(void) {
    printf("default %d\n", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == NULL && dlerror() != NULL);
    printf("runtime %d\n", dlsym(RTLD_DEFAULT, "cudaMalloc") == NULL);
    printf("next %d\n", dlsym(RTLD_NEXT, "malloc") != NULL);
    printf("none %d\n", dlsym(RTLD_NEXT, "cuMemAlloc_v2") == NULL);
    printf("plain %d\n", dlsym(RTLD_DEFAULT, "printf") != NULL);
}

static void (*report_event)(uint64_t, int64_t, size_t, size_t, int);

static void free_at_exit(void) {
    for (uint64_t i = 1; i <= 3; i++)
        report_event(i * 4096, -512, 0, 2 * MIB, 0);
}

/* What was registered before the first event runs after the recorder's function, as static objects do. */
static void exit_with_blocks(void) {
    *(void **)&report_event = dlsym(load("libc10_cuda.so"), "fake_event");
    atexit(free_at_exit);
    for (uint64_t i = 1; i <= 3; i++)
        report_event(i * 4096, 512, 512 * i, 2 * MIB, 0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {{"torch", torch},
                     {"driver", driver},
                     {"vmm", vmm},
                     {"hip", hip},
                     {"two_devices", two_devices},
                     {"deepbind_now", deepbind_now},
                     {"deepbind_lazy", deepbind_lazy},
                     {"wait", wait_for_input},
                     {"without_driver", without_driver},
                     {"exit", exit_with_blocks}};
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenarios[i].run();
            return 0;
        }
    return 98;
}
