/* SPDX-License-Identifier: MIT */
/* The walk against the C++ runtime's own unwinder (glibc's backtrace), through the kinds of frames compilers
 * make. */
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "record/stacks/native_stack.h"
#include "sltest.h"

#define CAP 256

static sl_native_stack walked;
static void *expected[CAP];
static int expected_cnt;
static volatile int sink; /* keeps calls from becoming jumps */

static uintptr_t looked_from; /* where look() returns to */

static __attribute__((noinline)) void look(void) {
    looked_from = (uintptr_t)__builtin_return_address(0);
    sl_native_walk(&walked);
    expected_cnt = backtrace(expected, CAP);
    sink++;
}

/* From look()'s caller outwards; inside it the two were called from different instructions. */
static void compare(uint32_t depth_min) {
    uint32_t got = 0, want = 0;
    assert_int_equal(walked.end, SL_NATIVE_COMPLETE);
    while (got < walked.depth && walked.at[got] != looked_from)
        got++;
    while (want < (uint32_t)expected_cnt && (uintptr_t)expected[want] != looked_from)
        want++;
    assert_true(walked.depth - got >= depth_min);
    assert_int_equal(walked.depth - got, (uint32_t)expected_cnt - want);
    for (; got < walked.depth; got++, want++)
        if (walked.at[got] != (uintptr_t)expected[want])
            fail_msg("frame %u is %#lx, want %#lx", got, (unsigned long)walked.at[got],
                     (unsigned long)(uintptr_t)expected[want]);
}

static __attribute__((noinline)) void plain(void) {
    look();
    sink++;
}

/* A stack that moves: addressed by the frame pointer. */
static __attribute__((noinline)) void with_alloca(int size) {
    char *room = alloca((size_t)size);
    memset(room, size, (size_t)size);
    plain();
    sink += room[size / 2];
}

/* Aligned beyond the ABI's promise, with arguments on the stack and a stack that moves: the caller's address
 * must be fetched from memory. */
static __attribute__((noinline)) void aligned(long a, long b, long c, long d, long e, long f,
                                              long g, long h) {
    _Alignas(64) char room[128];
    char *more = alloca((size_t)h);
    memset(room, (int)(a + b + c + d + e + f), sizeof room);
    memset(more, 0, (size_t)h);
    with_alloca((int)g);
    sink += room[h % 128] + more[g % h];
}

static __attribute__((noinline)) void large(int size) {
    char room[3000];
    memset(room, size, sizeof room);
    aligned(1, 2, 3, 4, 5, 6, size, 70);
    sink += room[size];
}

static int compare_and_look(const void *a, const void *b) {
    large(100);
    return *(const int *)a - *(const int *)b;
}

static void follows_every_kind_of_frame(void **state) {
    (void)state;
    int numbers[] = {2, 1};
    qsort(numbers, 2, sizeof numbers[0], compare_and_look); /* through libc's code */
    compare(8);
}

static void *thread_main(void *arg) {
    large(*(int *)arg);
    return NULL;
}

static void stacks_of_threads_reach_their_start(void **state) {
    (void)state;
    pthread_t thread;
    int size = 40;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, &size), 0);
    pthread_join(thread, NULL);
    compare(5); /* the outermost frame of a thread ends the walk */
}

static __attribute__((noinline)) void recurse(int depth) {
    if (depth == 0)
        look();
    else
        recurse(depth - 1);
    sink++;
}

static void cuts_stacks_that_are_too_deep(void **state) {
    (void)state;
    recurse(SL_NATIVE_DEPTH_MAX + 20);
    assert_int_equal(walked.end, SL_NATIVE_TOO_DEEP);
    assert_int_equal(walked.depth, SL_NATIVE_DEPTH_MAX);
}

/* As a JIT compiler does it: code that belongs to no library. push rbp; mov rbp, rsp; call rdi; pop; ret. */
static void stops_at_code_outside_any_library(void **state) {
    (void)state;
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*run)(void (*)(void));
    assert_true(at != MAP_FAILED);
    memcpy(at, code, sizeof code);
    assert_int_equal(mprotect(at, 4096, PROT_READ | PROT_EXEC), 0);
    *(void **)&run = at;
    run(plain);
    assert_int_equal(walked.end, SL_NATIVE_NO_OBJECT);
    assert_true(walked.depth >= 2); /* look and plain */
    munmap(at, 4096);
}

static void equal_stacks_have_equal_keys(void **state) {
    (void)state;
    uint64_t keys[3];
    for (volatile int i = 0; i < 2; i++) { /* one place in the code, not two */
        with_alloca(16);
        keys[i] = walked.key;
    }
    with_alloca(16);
    keys[2] = walked.key;
    assert_true(keys[0] == keys[1]);
    assert_true(keys[0] != keys[2]);
}

static int attach(void **state) {
    (void)state;
    return sl_native_attach() == SL_NATIVE_ON ? 0 : -1;
}

static void is_refused_with_a_reason(void **state) {
    (void)state;
    if (sl_native_attach() == SL_NATIVE_REFUSED)
        assert_true(strlen(sl_native_get_reason()) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_every_kind_of_frame),
        cmocka_unit_test(stacks_of_threads_reach_their_start),
        cmocka_unit_test(cuts_stacks_that_are_too_deep),
        cmocka_unit_test(stops_at_code_outside_any_library),
        cmocka_unit_test(equal_stacks_have_equal_keys),
    };
    const struct CMUnitTest refused[] = {cmocka_unit_test(is_refused_with_a_reason)};
    /* Another processor, or a glibc before 2.35: only the refusal can be tested. */
    if (sl_native_attach() != SL_NATIVE_ON)
        return cmocka_run_group_tests(refused, NULL, NULL);
    return cmocka_run_group_tests(tests, attach, NULL);
}
