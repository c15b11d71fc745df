/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/hooks/torch_profiler.h"
#include "record/hooks/vmm_table.h"
#include "record/stacks/row_table.h"
#include "sltest.h"

static void finds_what_was_put(void **state) {
    (void)state;
    sl_row_table table = {.row_cnt = 64};
    assert_null(sl_row_find(&table, 16));
    sl_row_put(&table, &(sl_row){16, 100, 1, 2});
    sl_row_put(&table, &(sl_row){16, 200, 3, 4}); /* again: replaced */
    const sl_row *row = sl_row_find(&table, 16);
    assert_int_equal(row->size, 200);
    assert_int_equal(table.used_cnt, 1);
    sl_row_drop(&table, row);
    assert_null(sl_row_find(&table, 16));
    assert_null(sl_row_find(&table, 0));
    munmap(table.rows, table.row_cnt * sizeof(sl_row));
}

/* Against a plain array, with runs that wrap around the end of the table. */
static void agrees_with_an_array(void **state) {
    (void)state;
    enum { KEYS = 60 };
    sl_row_table table = {.row_cnt = 64};
    uint64_t want[KEYS] = {0}, seed = 7;
    size_t want_cnt = 0;
    for (unsigned i = 0; i < 200000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        unsigned k = (unsigned)(seed >> 33) % KEYS;
        uint64_t key = (k + 1) * 16;
        if (want[k]) {
            const sl_row *row = sl_row_find(&table, key);
            assert_non_null(row);
            assert_int_equal(row->size, want[k]);
            sl_row_drop(&table, row);
            want[k] = 0;
            want_cnt--;
        } else {
            assert_null(sl_row_find(&table, key));
            sl_row_put(&table, &(sl_row){.key = key, .size = i + 1});
            bool has_room = want_cnt < table.row_cnt / 4 * 3;
            want[k] = has_room ? i + 1 : 0; /* a full table leaves it out */
            want_cnt += has_room;
        }
        assert_int_equal(table.used_cnt, want_cnt);
    }
    munmap(table.rows, table.row_cnt * sizeof(sl_row));
}

/* The thread that holds the lock is gone: the others continue without the rows it guards. */
static void gives_up_on_a_lost_lock(void **state) {
    (void)state;
    sl_row_lock lock = SL_ROW_LOCK_INIT;
    assert_true(sl_row_lock_take(&lock));
    assert_false(sl_row_lock_take(&lock));
    assert_false(sl_row_lock_take(&lock)); /* at once */
    sl_row_lock_after_fork_child(&lock);
    assert_true(sl_row_lock_take(&lock));
    sl_row_lock_give(&lock);
}

static atomic_bool must_stop;

static void *work(void *arg) {
    uint64_t base = (uint64_t)(uintptr_t)arg << 32, total;
    for (uint64_t i = 0; !atomic_load(&must_stop); i++) {
        sl_vmm_piece gone;
        uint64_t key = base + 16 * (i % 1000 + 1);
        sl_torch_profiler_add((void *)(uintptr_t)key, 1);
        sl_vmm_create(&(sl_vmm_piece){key, 2, 0});
        sl_vmm_release(key, &gone);
        sl_torch_profiler_remove((void *)(uintptr_t)key, &total);
    }
    return NULL;
}

static int use_in_child(void) {
    sl_vmm_piece gone;
    uint64_t total;
    sl_torch_profiler_after_fork_child();
    sl_vmm_after_fork_child();
    alarm(20); /* a hang ends the child, and the test fails */
    sl_torch_profiler_add((void *)16, 1);
    sl_vmm_create(&(sl_vmm_piece){16, 2, 0});
    return sl_torch_profiler_remove((void *)16, &total) && sl_vmm_release(16, &gone) ? 0 : 1;
}

/* Forks while other threads hold the locks. */
static void the_child_of_a_fork_can_use_the_table(void **state) {
    (void)state;
    enum { THREADS = 3, FORKS = 200 };
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(use_in_child());
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&must_stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_put),
        cmocka_unit_test(agrees_with_an_array),
        cmocka_unit_test(gives_up_on_a_lost_lock),
        cmocka_unit_test(the_child_of_a_fork_can_use_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
