/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "record/core/guard.h"
#include "sltest.h"

static void refuses_reentry_and_keeps_errno(void **state) {
    (void)state;
    sl_guard outer, inner;
    errno = 42;
    assert_true(sl_guard_enter(&outer));
    assert_false(sl_guard_enter(&inner));
    errno = 5;
    sl_guard_leave(&outer);
    assert_int_equal(errno, 42);
    assert_true(sl_guard_enter(&outer));
    sl_guard_leave(&outer);
}

typedef struct visitor {
    sem_t is_inside, may_leave;
} visitor;

static void *visit(void *arg) {
    visitor *v = arg;
    sl_guard guard;
    if (sl_guard_enter(&guard)) {
        sem_post(&v->is_inside);
        sem_wait(&v->may_leave);
        sl_guard_leave(&guard);
    }
    return NULL;
}

static void waits_until_other_threads_have_left(void **state) {
    (void)state;
    visitor v;
    pthread_t thread;
    sem_init(&v.is_inside, 0, 0);
    sem_init(&v.may_leave, 0, 0);
    assert_true(sl_guard_wait_empty(0));
    pthread_create(&thread, NULL, visit, &v);
    sem_wait(&v.is_inside);
    assert_false(sl_guard_wait_empty(5));
    sem_post(&v.may_leave);
    assert_true(sl_guard_wait_empty(60000));
    pthread_join(thread, NULL);
}

static atomic_int ended_cnt;

static void count_end(void) {
    atomic_fetch_add(&ended_cnt, 1);
}

static void *touch(void *arg) {
    (void)arg;
    sl_guard guard;
    if (sl_guard_enter(&guard))
        sl_guard_leave(&guard);
    return NULL;
}

/* Far more threads than slots, one after the other: slots come back. */
static void slots_of_ended_threads_are_used_again(void **state) {
    (void)state;
    sl_guard_on_thread_exit(count_end);
    for (int i = 0; i < 5000; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, touch, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(atomic_load(&ended_cnt), 5000);
    assert_int_equal(sl_guard_get_refused_cnt(), 0);
    sl_guard_on_thread_exit(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_reentry_and_keeps_errno),
        cmocka_unit_test(waits_until_other_threads_have_left),
        cmocka_unit_test(slots_of_ended_threads_are_used_again),
    };
    sl_guard_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
