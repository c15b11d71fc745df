/* SPDX-License-Identifier: MIT
 *
 * A program without Python whose own functions take memory, in the ways that are hard to walk. Argument: the
 * scenario. Prints facts as "name value" lines.
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

typedef void (*event_fn)(uint64_t, int64_t, size_t, size_t, int);

static volatile int sink; /* keeps calls from becoming jumps */
static event_fn event;

/* --- What the recorder must not call while it records --------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t cnt, size_t size);
void *__libc_realloc(void *at, size_t size);

static _Thread_local long malloc_cnt, lock_cnt;

void *malloc(size_t size) {
    malloc_cnt++;
    return __libc_malloc(size);
}

void *calloc(size_t cnt, size_t size) {
    malloc_cnt++;
    return __libc_calloc(cnt, size);
}

void *realloc(void *at, size_t size) {
    malloc_cnt++;
    return __libc_realloc(at, size);
}

static int (*real_lock)(pthread_mutex_t *);

/* Before main there is only one thread, so no lock is needed. */
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    lock_cnt++;
    return real_lock ? real_lock(mutex) : 0;
}

/* --- Scenarios ------------------------------------------------------------------------------------ */

static void *load(const char *name, int flags) {
    void *handle = dlopen(name, RTLD_NOW | flags);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(99);
    }
    return handle;
}

static void load_events(void) {
    *(void **)&event = dlsym(load("libc10_cuda.so", RTLD_LOCAL), "fake_event");
}

static __attribute__((noinline)) void inner_take(uint64_t addr) {
    event(addr, 512, 512, 2 * MIB, 0);
    sink++;
}

static __attribute__((noinline)) void outer_take(uint64_t addr) {
    inner_take(addr);
    sink++;
}

static void give(uint64_t addr) {
    event(addr, -512, 0, 2 * MIB, 0);
}

static void user(void) {
    load_events();
    outer_take(0x1000);
    fflush(stdout);
    _exit(0);
}

/* Through the CUDA runtime, whose frames must not count as the user's code. */
static __attribute__((noinline)) int own_buffers(int (*alloc)(void **, size_t)) {
    void *block;
    int result = alloc(&block, 3 * MIB);
    sink++;
    return result;
}

static void runtime(void) {
    int (*alloc)(void **, size_t);
    *(void **)&alloc = dlsym(load("libcudart.so", RTLD_LOCAL), "cudaMalloc");
    printf("result %d\n", own_buffers(alloc));
    fflush(stdout);
    _exit(0);
}

/* A thread that has recorded its stacks once may make no system call any more: the kernel kills the process
 * if it does. Memory and locks are counted. */
#define STEADY_CNT 20000

/* Not the kernel's strict mode: that one takes the clock away, too. */
static int forbid_system_calls(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *steady_main(void *pipe_end) {
    static char text[200];
    for (int i = 0; i < 2; i++) {
        outer_take(0x1000);
        give(0x1000);
    }
    long mallocs = malloc_cnt, locks = lock_cnt;
    if (!forbid_system_calls())
        exit(97);
    for (int i = 0; i < STEADY_CNT; i++) {
        outer_take(0x1000);
        give(0x1000);
    }
    int len = snprintf(text, sizeof text, "mallocs %ld\nlocks %ld\n", malloc_cnt - mallocs,
                       lock_cnt - locks);
    if (write(*(int *)pipe_end, text, (size_t)len) != len)
        return NULL;
    syscall(SYS_exit, 0); /* of this thread; anything else would need another system call */
    return NULL;
}

static void steady(void) {
    int ends[2];
    char text[200];
    pthread_t thread;
    load_events();
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, steady_main, &ends[1]) != 0)
        exit(96);
    ssize_t len = read(ends[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    fputs(text, stdout);
    fflush(stdout);
    _exit(0);
}

/* Code as a JIT compiler makes it, with a table registered for it as LLVM does: an empty one. */
static void jit(void) {
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                         0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
    static const uint32_t no_frames[4];
    void (*run)(void (*)(uint64_t), uint64_t), (*add_frames)(const void *);
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    load_events();
    memcpy(at, code, sizeof code);
    mprotect(at, 4096, PROT_READ | PROT_EXEC);
    *(void **)&add_frames = dlsym(load("libgcc_s.so.1", RTLD_GLOBAL), "__register_frame");
    add_frames(no_frames);
    *(void **)&run = at;
    run(inner_take, 0x1000);
    fflush(stdout);
    _exit(0);
}

/* Another library at the place of an earlier one. */
static void reload(void) {
    static const char *const names[] = {"libplugin_a.so", "libplugin_b.so"};
    void *places[2];
    load_events();
    for (int i = 0; i < 2; i++) {
        void (*take)(event_fn, uint64_t);
        void *handle = load(names[i], RTLD_LOCAL);
        *(void **)&take = places[i] = dlsym(handle, "plugin_entry");
        take(event, 0x1000 + 512 * (uint64_t)i);
        dlclose(handle);
    }
    printf("same_place %d\n",
           ((uintptr_t)places[0] & ~0xfffful) == ((uintptr_t)places[1] & ~0xfffful));
    fflush(stdout);
    _exit(0);
}

/* The parent's names are known by then, the child's recording is a new one. */
static void fork_and_take(void) {
    load_events();
    outer_take(0x1000);
    pid_t child = fork();
    if (child == 0) {
        outer_take(0x2000);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    fflush(stdout);
    _exit(0);
}

static void *take_in_thread(void *addr) {
    outer_take((uint64_t)(uintptr_t)addr);
    return NULL;
}

static void threads(void) {
    pthread_t all[16];
    load_events();
    for (uintptr_t i = 0; i < 16; i++)
        pthread_create(&all[i], NULL, take_in_thread, (void *)(0x1000 + 512 * i));
    for (int i = 0; i < 16; i++)
        pthread_join(all[i], NULL);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {{"user", user},     {"runtime", runtime}, {"steady", steady},     {"jit", jit},
                     {"reload", reload}, {"threads", threads}, {"fork", fork_and_take}};
    *(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenarios[i].run();
            return 0;
        }
    return 98;
}
