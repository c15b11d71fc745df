/* SPDX-License-Identifier: MIT */
#include "log/write/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "log/read/log_fsck.h"
#include "log/write/log_writer_impl.h"
#include "sltest.h"

static char path[200];

static sl_log_options small(void) {
    return (sl_log_options){.struct_size = sizeof(sl_log_options),
                            .path = path,
                            .ring_bytes = 1u << 20,
                            .chunk_bytes = 4096,
                            .string_bytes = 65536,
                            .live_cap = 64,
                            .live_levels = 3,
                            .overwrite = true};
}

static sl_log *create(const sl_log_options *options) {
    sl_log *log = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_log_create(options, &log, &err), SL_OK);
    return log;
}

static sl_log_reader *open_log(void) {
    sl_log_reader *r = NULL;
    sl_error err = SL_ERROR_INIT;
    if (sl_log_open(path, &r, &err) < 0)
        print_message("# %s\n", err.text);
    assert_non_null(r);
    return r;
}

static void write_one(sl_log *log, uint8_t kind, uint64_t addr, uint64_t size, uint32_t stack) {
    sl_log_write(log, &(sl_log_event){.kind = kind,
                                      .addr = addr,
                                      .size = size,
                                      .stack = stack,
                                      .total_allocated = SL_LOG_UNKNOWN,
                                      .total_reserved = SL_LOG_UNKNOWN});
}

static void names_are_interned_once(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    sl_log *log = create(&o);
    uint32_t a = sl_log_string(log, "train.py", 8), b = sl_log_string(log, "model.py", 8);
    assert_int_equal(a, sl_log_string(log, "train.py", 8));
    assert_int_not_equal(a, b);
    assert_int_equal(sl_log_string(log, "", 0), 0);
    sl_log_frame f = {a, b, 7, SL_FRAME_PYTHON};
    uint32_t frame = sl_log_frame_id(log, &f);
    assert_int_equal(frame, sl_log_frame_id(log, &f));
    uint32_t outer = sl_log_stack_child(log, 0, frame),
             inner = sl_log_stack_child(log, outer, frame);
    assert_int_equal(outer, sl_log_stack_child(log, 0, frame));
    assert_int_not_equal(outer, inner);
    assert_true(outer < inner);
    assert_int_equal(sl_log_label(log, "libnccl", 7), sl_log_label(log, "libnccl", 7));
    sl_log_close(log);

    sl_log_reader *r = open_log();
    sl_fmt_frame got;
    uint32_t caller;
    assert_int_equal(sl_log_load_names(r, NULL), SL_OK);
    assert_true(sl_log_get_frame(r, inner, &got, &caller));
    assert_int_equal(caller, outer);
    assert_int_equal(got.line, 7);
    assert_memory_equal(sl_log_get_string(r, got.function).ptr, "train.py", 8);
    assert_false(sl_log_get_frame(r, 0, &got, &caller));
    assert_false(sl_log_get_frame(r, 99, &got, &caller));
    sl_log_reader_close(r);
}

static void names_that_do_not_fit_are_counted(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    o.string_bytes = 256;
    o.reserve_all = true;
    sl_log *log = create(&o);
    char name[40];
    uint32_t last = 1;
    for (int i = 0; i < 20; i++)
        last = sl_log_string(log, name,
                             (size_t)snprintf(name, sizeof name, "a rather long name %d", i));
    assert_int_equal(last, 0);
    /* A frame whose name does not fit is refused with its stack; one without a name is not. */
    sl_str known = SL_STR("a rather long name 0"),
           too_long = SL_STR("a rather long name for a frame");
    assert_int_equal(sl_log_frame_of(log, known, too_long, 1, SL_FRAME_PYTHON), 0);
    assert_int_equal(sl_log_frame_of(log, too_long, known, 1, SL_FRAME_PYTHON), 0);
    uint32_t frame = sl_log_frame_of(log, known, SL_STR(""), 1, SL_FRAME_PYTHON);
    uint32_t stack = sl_log_stack_child(log, 0, frame);
    assert_int_not_equal(frame, 0);
    assert_int_not_equal(stack, 0);
    assert_int_equal(sl_log_stack_child(log, stack, 0), 0);
    sl_log_close(log);
    sl_log_reader *r = open_log();
    assert_true(sl_log_state(r)->health[SL_HEALTH_STRING_OVERFLOW] > 0);
    sl_log_reader_close(r);
}

/* The word is shared by all events of a stack, also by those of another device, for which it is wrong. */
static void a_remembered_site_is_checked(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    sl_log *log = create(&o);
    sl_log_frame frame = {.function = sl_log_string(log, "f", 1), .kind = SL_FRAME_PYTHON};
    uint32_t memo = 0, stack = sl_log_stack_child(log, 0, sl_log_frame_id(log, &frame));
    for (uint64_t i = 0; i < 30; i++) {
        sl_log_event event = {.kind = SL_EV_ALLOC,
                              .device = (int8_t)(i % 3),
                              .stack = stack,
                              .addr = 0x1000 * (i + 1),
                              .size = 10 + i % 3,
                              .total_allocated = SL_LOG_UNKNOWN,
                              .total_reserved = SL_LOG_UNKNOWN,
                              .site_memo = &memo};
        sl_log_expect(log, &event);
        sl_log_write(log, &event);
        assert_int_not_equal(memo, 0);
        if (i %
            2) /* the next one is of a device that is not the remembered one, or is without memory */
            memo = 0;
    }
    sl_log_close(log);
    sl_log_reader *r = open_log();
    sl_log_tables t;
    assert_int_equal(sl_log_load_tables(r, &t, NULL), SL_OK);
    assert_int_equal(t.sites.cnt, 3);
    for (size_t i = 0; i < t.sites.cnt; i++) {
        assert_int_equal(t.sites.at[i].alloc_cnt, 10);
        assert_int_equal(t.sites.at[i].alloc_bytes, 10 * (10 + (uint64_t)t.sites.at[i].device));
    }
    sl_log_tables_fini(&t);
    sl_log_reader_close(r);
}

static void totals_follow_the_events(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    sl_log *log = create(&o);
    write_one(log, SL_EV_ALLOC, 0x1000, 100, 0);
    write_one(log, SL_EV_ALLOC, 0x2000, 50, 0);
    write_one(log, SL_EV_FREE, 0x1000, 0, 0);  /* the size comes from the table */
    write_one(log, SL_EV_FREE, 0x2000, 49, 0); /* and wins over a wrong one */
    write_one(log, SL_EV_ALLOC, 0x3000, 10, 0);
    write_one(log, SL_EV_ALLOC, 0x3000, 20, 0);           /* its free was missed */
    write_one(log, SL_EV_FREE, 0x9000, 5, 0);             /* never allocated */
    write_one(log, SL_EV_SEGMENT_ALLOC, 0x3000, 4096, 0); /* another domain, same address */
    write_one(log, SL_EV_ALLOC, 0, 5, 0);                 /* no address */
    write_one(log, 200, 0x1, 1, 0);                       /* no kind */
    write_one(log, SL_EV_ALLOC, 0x4000, UINT64_MAX, 0);
    sl_log_close(log);

    sl_log_reader *r = open_log();
    sl_log_tables t;
    assert_int_equal(sl_log_load_tables(r, &t, NULL), SL_OK);
    assert_int_equal(t.sites.cnt, 2);
    const sl_log_site *s = &t.sites.at[0];
    assert_int_equal(s->alloc_cnt, 5);
    assert_int_equal(s->free_cnt, 3);
    assert_int_equal(s->live_cnt, 2);
    assert_int_equal(s->free_bytes, 160);
    assert_int_equal(s->live_bytes, 20 + SL_SIZE_MASK);
    assert_int_equal(s->peak_bytes, 20 + SL_SIZE_MASK);
    assert_int_equal(t.sites.at[1].domain, SL_DOMAIN_SEGMENT);
    assert_int_equal(t.blocks.cnt, 3);
    const uint64_t *health = sl_log_state(r)->health;
    assert_int_equal(health[SL_HEALTH_UNKNOWN_FREE], 1);
    assert_int_equal(health[SL_HEALTH_DOUBLE_ALLOC], 1);
    assert_int_equal(health[SL_HEALTH_SIZE_MISMATCH], 1);
    assert_int_equal(health[SL_HEALTH_BAD_EVENT], 2);
    assert_int_equal(health[SL_HEALTH_SIZE_CLAMPED], 1);
    sl_log_tables_fini(&t);

    sl_fsck_report report;
    assert_int_equal(sl_log_fsck(r, &report, NULL), SL_OK);
    assert_int_equal(report.problems.cnt, 0);
    assert_int_equal(report.replay, SL_FSCK_REPLAY_EQUAL);
    assert_int_equal(report.ending, SL_LOG_CLOSED);
    sl_log_fsck_fini(&report);
    sl_log_reader_close(r);
}

static void the_live_table_uses_further_levels(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    sl_log *log = create(&o);
    for (uint64_t i = 1; i <= 200; i++) {
        write_one(log, SL_EV_ALLOC, i * 512, i, 0);
        sl_log_maintain(log);
    }
    for (uint64_t i = 1; i <= 200; i += 2)
        write_one(log, SL_EV_FREE, i * 512, i, 0);
    sl_log_close(log);
    sl_log_reader *r = open_log();
    sl_log_tables t;
    assert_int_equal(sl_log_load_tables(r, &t, NULL), SL_OK);
    assert_int_equal(t.blocks.cnt, 100);
    assert_int_equal(t.sites.at[0].live_cnt, 100);
    assert_int_equal(sl_log_state(r)->health[SL_HEALTH_LIVE_OVERFLOW], 0);
    sl_log_tables_fini(&t);
    sl_log_reader_close(r);
}

static void a_second_writer_is_refused(void **state) {
    SL_UNUSED(state);
    char expected[300];
    sl_log_options o = small();
    sl_log *log = create(&o), *second = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_log_create(&o, &second, &err), SL_E_BUSY);
    snprintf(expected, sizeof expected, "cannot write '%s': process %d already writes to it", path,
             (int)getpid());
    assert_string_equal(err.text, expected);
    assert_null(second);
    sl_log_reader *r = open_log();
    assert_int_equal(sl_log_get_ending(r), SL_LOG_LIVE);
    sl_log_reader_close(r);
    sl_log_close(log);
    log = create(&o); /* nobody writes it any more */
    sl_log_close(log);
    o.overwrite = false;
    assert_int_equal(sl_log_create(&o, &second, &err), SL_E_OPEN);
    assert_non_null(strstr(err.text, "it exists"));
}

static void the_child_of_a_fork_does_not_affect_the_recording(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    sl_log *log = create(&o);
    write_one(log, SL_EV_ALLOC, 0x1000, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        sl_log_after_fork_child(log, false);
        pause();
    }
    write_one(log, SL_EV_ALLOC, 0x2000, 1, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    sl_log_close(log);
    sl_log_reader *r = open_log();
    sl_fsck_report report;
    assert_int_equal(sl_log_fsck(r, &report, NULL), SL_OK);
    assert_int_equal(report.events, 2);
    assert_int_equal(report.ending, SL_LOG_CLOSED);
    sl_log_fsck_fini(&report);
    sl_log_reader_close(r);
}

typedef struct ending_thread {
    sl_log *log;
    int tid, no;
} ending_thread;

static void *write_and_end(void *arg) {
    ending_thread *t = arg;
    t->tid = gettid();
    write_one(t->log, SL_EV_ALLOC, 0x1000u * (unsigned)t->no, 8, 0);
    return NULL;
}

/* Many more threads than slots and chunks, one after the other: the sweep frees what they held. */
static void slots_of_ended_threads_are_reused(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    o.thread_cap = 4;
    o.ring_bytes = 8 * 4096;
    sl_log *log = create(&o);
    for (int i = 1; i <= 40; i++) {
        pthread_t id;
        ending_thread t = {log, 0, i};
        pthread_create(&id, NULL, write_and_end, &t);
        pthread_join(id, NULL);
        while (sl_sys_thread_alive(t.tid) == 1) /* the kernel removes it a moment after the join */
            sched_yield();
        sl__ring_sweep(log);
    }
    sl_log_close(log);
    sl_log_reader *r = open_log();
    const uint64_t *health = sl_log_state(r)->health;
    assert_int_equal(health[SL_HEALTH_THREAD_OVERFLOW], 0);
    assert_int_equal(health[SL_HEALTH_DROPPED], 0);
    sl_fsck_report report;
    assert_int_equal(sl_log_fsck(r, &report, NULL), SL_OK);
    assert_int_equal(report.problems.cnt, 0);
    assert_int_equal(report.threads, 4);
    assert_int_equal(report.live_blocks, 40);
    assert_int_equal(report.events + report.lost, 40);
    sl_log_fsck_fini(&report);
    sl_log_reader_close(r);
}

/* Its low 48 bits would be 0. */
static void a_request_beyond_the_largest_size_is_not_cut_to_its_low_bits(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    sl_log *log = create(&o);
    sl_log_oom_add(log, &(sl_log_oom){.device = -1, .requested = UINT64_C(1) << 48});
    sl_log_close(log);
    sl_log_reader *r = open_log();
    sl_log_cursor *cursor;
    sl_log_record record;
    assert_int_equal(sl_log_cursor_new(r, &cursor, NULL), SL_OK);
    assert_int_equal(sl_log_cursor_next(cursor, &record, NULL), 1);
    assert_int_equal(record.kind, SL_EV_OOM);
    assert_int_equal(record.size, (UINT64_C(1) << 48) - 1);
    sl_log_cursor_free(cursor);
    sl_log_reader_close(r);
}

/* An optimizer ends a step, or a few, before the program says that one of its own has ended. */
static void steps_are_the_programs_or_the_recorders(void **state) {
    SL_UNUSED(state);
    for (uint64_t given = 1; given < 5; given++) {
        sl_log_options o = small();
        o.mark_cap = 10;
        sl_log *log = create(&o);
        uint32_t name = sl_log_string(log, "step", 4);
        for (uint64_t i = 1; i <= 2; i++)
            sl_log_step(log, i, 0);
        sl_log_mark(log, SL_EV_ANNOTATE, name);
        for (uint64_t i = 0; i < given; i++)
            sl_log_step(log, 1000 + i, name);
        sl_log_close(log);
        sl_log_reader *r = open_log();
        sl_log_marks marks;
        assert_int_equal(sl_log_load_all_marks(r, &marks, NULL), SL_OK);
        assert_int_equal(marks.cnt, 3 + given);
        sl_vec_free(&marks);
        assert_int_equal(sl_log_load_marks(r, &marks, NULL), SL_OK);
        assert_int_equal(marks.cnt, given < 2 ? 3 : 1 + given);
        assert_int_equal(marks.at[marks.cnt - (given < 2 ? 2 : 1)].step,
                         given < 2 ? 1 : 999 + given);
        sl_vec_free(&marks);
        sl_log_reader_close(r);
    }
}

static void lists_keep_the_newest(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    o.mark_cap = 10;
    o.oom_cap = 2;
    sl_log *log = create(&o);
    for (uint64_t i = 0; i < 25; i++)
        sl_log_step(log, i, 0);
    write_one(log, SL_EV_ALLOC, 0x5000, 77, 0);
    for (uint64_t i = 0; i < 3; i++)
        sl_log_oom_add(log,
                       &(sl_log_oom){.device = 0, .requested = i, .device_free = SL_LOG_UNKNOWN});
    sl_log_alert_add(log, &(sl_log_alert){.value = 3, .device = -1});
    sl_log_close(log);
    sl_log_reader *r = open_log();
    sl_log_marks marks;
    assert_int_equal(sl_log_load_marks(r, &marks, NULL), SL_OK);
    assert_int_equal(marks.cnt, 10);
    for (size_t i = 0; i < marks.cnt; i++)
        assert_int_equal(marks.at[i].step, 14 + i); /* counted from 1 in the file */
    assert_false(marks.at[0].value.known);
    sl_vec_free(&marks);
    sl_log_ooms ooms;
    assert_int_equal(sl_log_load_ooms(r, &ooms, NULL), SL_OK);
    assert_int_equal(ooms.cnt, 2);
    assert_int_equal(ooms.at[1].requested, 2);
    assert_int_equal(ooms.at[1].holder_cnt, 1);
    assert_int_equal(ooms.at[1].holders[0].bytes, 77);
    sl_vec_free(&ooms);
    sl_log_alerts alerts;
    assert_int_equal(sl_log_load_alerts(r, &alerts, NULL), SL_OK);
    assert_int_equal(alerts.cnt, 1);
    sl_vec_free(&alerts);
    sl_log_reader_close(r);
}

static void a_reader_follows_and_notices_overwritten_events(void **state) {
    SL_UNUSED(state);
    sl_log_options o = small();
    o.ring_bytes = 4 * 1024;
    o.chunk_bytes = 1024; /* 30 records in each of 4 chunks */
    sl_log *log = create(&o);
    sl_log_reader *r = open_log();
    sl_log_cursor *c;
    sl_log_record record;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_log_cursor_new(r, &c, &err), SL_OK);
    assert_int_equal(sl_log_cursor_next(c, &record, &err), 0);
    for (uint64_t i = 1; i <= 50; i++)
        write_one(log, SL_EV_SAMPLE, i, i, 0);
    assert_int_equal(sl_log_cursor_follow(c, &err), SL_OK);
    for (uint64_t i = 1; i <= 50; i++) {
        assert_int_equal(sl_log_cursor_next(c, &record, &err), 1);
        assert_int_equal(record.addr, i);
    }
    assert_int_equal(sl_log_cursor_next(c, &record, &err), 0);
    for (uint64_t i = 51; i <= 1000; i++)
        write_one(log, SL_EV_SAMPLE, i, i, 0);
    assert_int_equal(sl_log_cursor_follow(c, &err), SL_OK);
    assert_int_equal(sl_log_cursor_next(c, &record, &err), SL_E_LAPPED);
    uint64_t lost = sl_log_cursor_lost(c), seen = 0;
    while (sl_log_cursor_next(c, &record, &err) == 1) {
        assert_int_equal(record.addr, 50 + lost + seen + 1);
        seen++;
    }
    assert_int_equal(50 + lost + seen, 1000);
    sl_log_cursor_free(c);
    sl_log_reader_close(r);
    sl_log_close(log);
}

static void identity_is_stored_and_long_names_are_cut(void **state) {
    SL_UNUSED(state);
    char longer[3000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    sl_log_identity id = {
        .job = "job 7", .cmdline = longer, .rank = 3, .local_rank = 1, .world_size = 16};
    sl_log_options o = small();
    o.identity = &id;
    sl_log *log = create(&o);
    sl_log_set_rank(log, 4, 2, 32);
    sl_log_close(log);
    sl_log_reader *r = open_log();
    const sl_fmt_header *h = sl_log_header(r);
    assert_string_equal(h->job, "job 7");
    assert_true(h->host[0] != 0);
    assert_non_null(strstr(h->exe, "test_log_writer"));
    assert_int_equal(strlen(h->cmdline), sizeof h->cmdline - 1);
    assert_string_equal(h->cmdline + sizeof h->cmdline - 4, "\xe2\x80\xa6");
    assert_int_equal(sl_log_rank(r), 4);
    assert_int_equal(sl_log_local_rank(r), 2);
    assert_int_equal(sl_log_world_size(r), 32);
    sl_log_reader_close(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_interned_once),
        cmocka_unit_test(names_that_do_not_fit_are_counted),
        cmocka_unit_test(a_remembered_site_is_checked),
        cmocka_unit_test(totals_follow_the_events),
        cmocka_unit_test(the_live_table_uses_further_levels),
        cmocka_unit_test(a_second_writer_is_refused),
        cmocka_unit_test(the_child_of_a_fork_does_not_affect_the_recording),
        cmocka_unit_test(slots_of_ended_threads_are_reused),
        cmocka_unit_test(lists_keep_the_newest),
        cmocka_unit_test(steps_are_the_programs_or_the_recorders),
        cmocka_unit_test(a_request_beyond_the_largest_size_is_not_cut_to_its_low_bits),
        cmocka_unit_test(a_reader_follows_and_notices_overwritten_events),
        cmocka_unit_test(identity_is_stored_and_long_names_are_cut),
    };
    snprintf(path, sizeof path, "/tmp/stormlog-test-%d.slog", (int)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
