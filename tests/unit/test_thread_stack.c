/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "record/stacks/thread_stack.h"
#include "sltest.h"

static uintptr_t here(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

/* What pthread says about the calling thread's stack. */
static uintptr_t end_by_pthread(void) {
    pthread_attr_t attr;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &size);
    pthread_attr_destroy(&attr);
    return (uintptr_t)low + size;
}

/* Pages beyond are other memory that happens to be adjacent, and readable. */
static void check_here(void) {
    uintptr_t sp = here(), end = sl_thread_stack_end(sp);
    assert_true(end >= end_by_pthread());
    assert_true(*(volatile char *)(end - 1) | 1);
    assert_int_equal(sl_thread_stack_end(sp), end);
}

static void finds_the_stack_of_the_first_thread(void **state) {
    (void)state;
    check_here();
}

static __attribute__((noinline)) uintptr_t deep(int depth) {
    volatile char room[4000];
    room[0] = (char)depth;
    return depth ? deep(depth - 1) + (room[0] & 0) : sl_thread_stack_end(here());
}

/* The first thread's stack grows after it was looked up. */
static void grows(void **state) {
    (void)state;
    assert_int_equal(deep(1000), sl_thread_stack_end(here()));
}

static void *in_thread(void *ok) {
    uintptr_t sp = here(), end = sl_thread_stack_end(sp);
    *(bool *)ok = end >= end_by_pthread() && end > sp;
    return NULL;
}

static void finds_the_stack_of_another_thread(void **state) {
    (void)state;
    pthread_t thread;
    bool ok = false;
    assert_int_equal(pthread_create(&thread, NULL, in_thread, &ok), 0);
    pthread_join(thread, NULL);
    assert_true(ok);
}

/* A stack the program made itself, and then the thread's own again. */
static void finds_the_stack_of_a_fiber(void **state) {
    (void)state;
    enum { SIZE = 1 << 16 };
    char *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(own != MAP_FAILED);
    uintptr_t end = sl_thread_stack_end((uintptr_t)own + SIZE / 2);
    assert_true(end >= (uintptr_t)own + SIZE);
    check_here();
    munmap(own, SIZE);
}

static void unknown_memory_is_not_a_stack(void **state) {
    (void)state;
    assert_int_equal(sl_thread_stack_end(16), 0);
    static const char constant[4096] = {1}; /* readable, but no stack */
    assert_int_equal(sl_thread_stack_end((uintptr_t)constant), 0);
    check_here();
}

/* A thread that keeps changing stacks is not looked up again: no file is read for every event. */
static void gives_up_on_a_thread_that_changes_stacks(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++)
        sl_thread_stack_end(16);
    assert_int_equal(sl_thread_stack_end(here()), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_stack_of_the_first_thread),
        cmocka_unit_test(grows),
        cmocka_unit_test(finds_the_stack_of_another_thread),
        cmocka_unit_test(finds_the_stack_of_a_fiber),
        cmocka_unit_test(unknown_memory_is_not_a_stack),
        cmocka_unit_test(gives_up_on_a_thread_that_changes_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
