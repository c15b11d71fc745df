/* SPDX-License-Identifier: MIT */
/* Roles and parents of the processes of a run (P1 to P5), from facts as a reader leaves them. */
#include "run/process_tree.h"
#include "sltest.h"

#define MAX 8

static sl_trace *traces[MAX];
static sl_process_place places[MAX];
static size_t cnt;

static sl_process *add(const char *path, uint32_t pid, uint32_t parent_pid, int64_t start_us) {
    sl_trace *trace = sl_trace_new(path, SL_SOURCE_SLOG);
    assert_non_null(trace);
    trace->process = (sl_process){.is_known = true,
                                  .pid = pid,
                                  .parent_pid = parent_pid,
                                  .host = "here",
                                  .command = "python3 train.py",
                                  .job = "",
                                  .start_us = start_us,
                                  .end = SL_PROCESS_END_EXITED};
    traces[cnt++] = trace;
    return &trace->process;
}

static void find(void) {
    sl_process_tree_find((const sl_trace *const *)traces, cnt, places);
}

static int end_of_test(void **state) {
    (void)state;
    while (cnt)
        sl_trace_free(traces[--cnt]);
    return 0;
}

#define IS(i, wanted_role, wanted_parent, wanted_depth)             \
    do {                                                            \
        assert_int_equal(places[i].role, SL_PROCESS_##wanted_role); \
        assert_int_equal(places[i].parent, (wanted_parent));        \
        assert_int_equal(places[i].depth, (wanted_depth));          \
    } while (0)

static void workers_are_children_of_their_rank(void **state) {
    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        add("r/rank", 10 + rank, 1, 100)->rank = (sl_maybe_i32){(int32_t)rank, true};
        sl_process *worker = add("r/worker", 20 + rank, 10 + rank, 200);
        worker->rank = (sl_maybe_i32){(int32_t)rank, true};
        worker->is_loader_worker = true;
    }
    find();
    IS(0, RANK, SL_IDX_NONE, 0);
    IS(1, WORKER, 0, 1);
    IS(2, RANK, SL_IDX_NONE, 0);
    IS(3, WORKER, 2, 1);
}

/* Children of one process set their ranks; a child that inherits its rank is not a rank. */
static void a_rank_is_the_topmost_process_with_its_number(void **state) {
    (void)state;
    add("r/main", 10, 1, 100);
    add("r/a", 11, 10, 200)->rank = (sl_maybe_i32){0, true};
    add("r/b", 12, 11, 300)->rank = (sl_maybe_i32){0, true};
    sl_process *other = add("r/c", 13, 12, 400);
    other->command = "ffmpeg -i x";
    find();
    IS(0, MAIN, SL_IDX_NONE, 0);
    IS(1, RANK, 0, 1);
    IS(2, CHILD, 1, 2);
    IS(3, HELPER, 2, 3);
}

/* Pids are reused, and equal pids of other hosts or folders are other processes. */
static void a_parent_is_the_newest_process_that_began_before(void **state) {
    (void)state;
    add("r/old", 10, 1, 100);
    add("r/new", 10, 2, 300);
    add("r/later", 10, 3, 900);
    add("r/child", 11, 10, 500);
    add("s/child", 11, 10, 500);
    add("r/far", 11, 10, 500)->host = "there";
    find();
    IS(3, CHILD, 1, 1);
    IS(4, MAIN, SL_IDX_NONE, 0);
    IS(5, MAIN, SL_IDX_NONE, 0);
}

static void exec_leaves_one_main_process(void **state) {
    (void)state;
    add("r/p-10.slog", 10, 1, 100)->end = SL_PROCESS_END_KILLED;
    add("r/p-10.1.slog", 10, 1, 200)->end = SL_PROCESS_END_KILLED;
    find();
    assert_int_equal(places[0].end, SL_PROCESS_END_REPLACED);
    IS(0, HELPER, SL_IDX_NONE, 0);
    assert_int_equal(places[1].end, SL_PROCESS_END_KILLED);
    IS(1, MAIN, SL_IDX_NONE, 0);
}

/* Two that claim to be each other's parent, in the same microsecond. */
static void cycles_of_parents_are_broken(void **state) {
    (void)state;
    add("r/a", 10, 11, 100);
    add("r/b", 11, 10, 100);
    add("r/c", 12, 12, 100);
    traces[cnt++] = sl_trace_new("r/snap.pickle", SL_SOURCE_TORCH_SNAPSHOT);
    find();
    for (size_t i = 0; i < 3; i++)
        assert_true(places[i].depth <= 1);
    IS(2, MAIN, SL_IDX_NONE, 0);
    IS(3, NONE, SL_IDX_NONE, 0);
}

static void labels(void **state) {
    (void)state;
    char buf[SL_PROCESS_LABEL_CAP];
    add("r/main", 10, 1, 100)->command = "/usr/bin/python3 -u /home/me/train.py --lr 1";
    add("r/rank", 11, 10, 200)->rank = (sl_maybe_i32){3, true};
    add("r/worker", 12, 10, 200)->is_loader_worker = true;
    add("r/bare", 13, 1, 200)->command = "";
    find();
    const char *expected[] = {"main process 10 (train.py)", "rank 3", "DataLoader worker 12",
                              "main process 13"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(sl_process_label(buf, traces[i], &places[i]), expected[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(workers_are_children_of_their_rank, end_of_test),
        cmocka_unit_test_teardown(a_rank_is_the_topmost_process_with_its_number, end_of_test),
        cmocka_unit_test_teardown(a_parent_is_the_newest_process_that_began_before, end_of_test),
        cmocka_unit_test_teardown(exec_leaves_one_main_process, end_of_test),
        cmocka_unit_test_teardown(cycles_of_parents_are_broken, end_of_test),
        cmocka_unit_test_teardown(labels, end_of_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
