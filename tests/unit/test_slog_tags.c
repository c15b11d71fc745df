/* SPDX-License-Identifier: MIT */
/* Recordings written by hand, read back: which tag each block gets. Also sl_log_annotate, which
 * the tags depend on. */
#include "read/slog/slog_tags.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/read/log_fsck.h"
#include "log/write/log_writer.h"
#include "model/torch_frames.h"
#include "slog_load.h"

static char path[200];

typedef struct writer {
    sl_log *log;
    uint16_t phases[SL_PHASE_LIMIT]; /* labels */
    uint16_t tags[SL_TAG_LIMIT];
    uint32_t build_stack; /* of nn.Linear's constructor */
} writer;

static uint16_t label(sl_log *log, const char *name) {
    return sl_log_label(log, name, strlen(name));
}

static uint32_t stack_of(sl_log *log, const char *function, const char *file) {
    sl_log_frame frame = {.function = sl_log_string(log, function, strlen(function)),
                          .file = sl_log_string(log, file, strlen(file)),
                          .line = 1,
                          .kind = SL_FRAME_PYTHON};
    return sl_log_stack_child(log, 0, sl_log_frame_id(log, &frame));
}

static writer begin(uint64_t ring_bytes) {
    sl_log_options options = {.struct_size = sizeof options,
                              .path = path,
                              .ring_bytes = ring_bytes,
                              .chunk_bytes = 1024,
                              .overwrite = true};
    sl_error err = SL_ERROR_INIT;
    writer w = {0};
    if (sl_log_create(&options, &w.log, &err) < 0)
        fail_msg("%s", err.text);
    for (unsigned i = 0; i < SL_PHASE_LIMIT; i++)
        w.phases[i] = label(w.log, sl_train_phase_name((sl_train_phase)i));
    for (unsigned i = 1; i < SL_TAG_LIMIT; i++)
        w.tags[i] = label(w.log, sl_tag_name((sl_tag)i));
    w.build_stack = stack_of(w.log, "Linear.__init__", "/x/torch/nn/modules/linear.py");
    return w;
}

static void write_event(writer *w, uint8_t kind, uint64_t addr, uint16_t tag, uint32_t stack) {
    sl_log_event event = {.kind = kind, .addr = addr, .tag = tag, .stack = stack};
    event.size = kind == SL_EV_ALLOC ? 64 : 0;
    event.total_allocated = event.total_reserved = SL_LOG_UNKNOWN;
    sl_log_write(w->log, &event);
}

static void make(writer *w, uint64_t addr, sl_train_phase phase) {
    write_event(w, SL_EV_ALLOC, addr, phase ? w->phases[phase] : 0, 0);
}

static void drop(writer *w, uint64_t addr) {
    write_event(w, SL_EV_FREE, addr, 0, 0);
}

static void enter(writer *w, sl_train_phase phase) {
    write_event(w, SL_EV_ANNOTATE, 0, w->phases[phase], 0);
}

/* Tag of the last alloc of an address, and of the end state's block where it has one. */
static sl_tag tag_of(const sl_trace *trace, uint64_t addr) {
    const sl_device_trace *device = trace->devices.at[0];
    sl_tag tag = SL_TAG_LIMIT;
    for (size_t i = 0; i < device->events.cnt; i++)
        if (device->events.addr[i] == addr && device->events.kind[i] == SL_EV_ALLOC)
            tag = (sl_tag)device->events.tag[i];
    for (size_t i = 0; i < device->blocks.cnt; i++)
        if (device->blocks.at[i].addr == addr) {
            if (tag != SL_TAG_LIMIT)
                assert_int_equal(device->blocks.at[i].tag, tag);
            tag = (sl_tag)device->blocks.at[i].tag;
        }
    return tag;
}

static void one_step_of_training(void **state) {
    (void)state;
    writer w = begin(0);
    make(&w, 0x1000, SL_PHASE_NONE); /* before anything is known */
    write_event(&w, SL_EV_ALLOC, 0x2000, 0, w.build_stack);
    make(&w, 0x3000, SL_PHASE_FORWARD);
    make(&w, 0x4000, SL_PHASE_NONE);
    make(&w, 0x5000, SL_PHASE_BACKWARD);
    make(&w, 0x6000, SL_PHASE_BACKWARD);
    drop(&w, 0x6000);
    enter(&w, SL_PHASE_OPTIMIZER);
    make(&w, 0x7000, SL_PHASE_OPTIMIZER);
    make(&w, 0x8000, SL_PHASE_OPTIMIZER);
    drop(&w, 0x8000);
    enter(&w, SL_PHASE_NONE);
    make(&w, 0x9000, SL_PHASE_BACKWARD); /* the next step's, cut short */
    sl_trace *trace = close_and_load(w.log, path);
    assert_true(trace->has_tags);
    static const struct {
        uint64_t addr;
        sl_tag tag;
    } rows[] = {
        {0x1000, SL_TAG_UNKNOWN},         {0x2000, SL_TAG_PARAMETER}, {0x3000, SL_TAG_ACTIVATION},
        {0x4000, SL_TAG_INPUT},           {0x5000, SL_TAG_GRADIENT},  {0x6000, SL_TAG_OTHER},
        {0x7000, SL_TAG_OPTIMIZER_STATE}, {0x8000, SL_TAG_OTHER},     {0x9000, SL_TAG_OTHER},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_int_equal(tag_of(trace, rows[i].addr), rows[i].tag);
    sl_trace_free(trace);
}

static void an_annotation_applies_from_the_allocation_on(void **state) {
    (void)state;
    writer w = begin(0);
    make(&w, 0x1000, SL_PHASE_NONE);
    make(&w, 0x2000, SL_PHASE_FORWARD);
    assert_true(sl_log_annotate(w.log, 0x1000, 0, w.tags[SL_TAG_PARAMETER]));
    assert_true(sl_log_annotate(w.log, 0x2000, 0, w.tags[SL_TAG_OPTIMIZER_STATE]));
    drop(&w, 0x2000);
    make(&w, 0x2000, SL_PHASE_FORWARD); /* another block at the address: the tag is not its */
    sl_trace *trace = close_and_load(w.log, path);
    const sl_events *events = &trace->devices.at[0]->events;
    assert_int_equal(tag_of(trace, 0x1000), SL_TAG_PARAMETER);
    assert_int_equal(tag_of(trace, 0x2000), SL_TAG_ACTIVATION);
    assert_int_equal(events->tag[1], SL_TAG_OPTIMIZER_STATE);
    sl_trace_free(trace);
}

/* Everything happened long ago; `is_looked_at`: the recorder scanned optimizers. */
static void check_outlived(bool is_looked_at) {
    writer w = begin(4096);
    write_event(&w, SL_EV_ALLOC, 0x2000, 0, w.build_stack);
    make(&w, 0x1000, SL_PHASE_NONE);
    make(&w, 0x3000, SL_PHASE_FORWARD);
    make(&w, 0x5000, SL_PHASE_BACKWARD);
    make(&w, 0x7000, SL_PHASE_OPTIMIZER);
    make(&w, 0x6000, SL_PHASE_BACKWARD);
    if (is_looked_at) {
        assert_true(sl_log_annotate(w.log, 0x1000, 0, w.tags[SL_TAG_PARAMETER]));
        assert_true(sl_log_annotate(w.log, 0x6000, 0, w.tags[SL_TAG_GRADIENT]));
    }
    sl_log_step(w.log, 1, 0);
    sl_log_step(w.log, 2, 0);
    for (int i = 0; i < 1000; i++) {
        make(&w, 0x100000, SL_PHASE_NONE);
        drop(&w, 0x100000);
    }
    make(&w, 0x4000, SL_PHASE_NONE);
    sl_trace *trace = close_and_load(w.log, path);
    const sl_device_trace *device = trace->devices.at[0];
    assert_true(device->dropped_events > 0 && device->blocks.cnt == 7);
    assert_int_equal(tag_of(trace, 0x1000), is_looked_at ? SL_TAG_PARAMETER : SL_TAG_UNKNOWN);
    assert_int_equal(tag_of(trace, 0x2000), SL_TAG_PARAMETER);
    assert_int_equal(tag_of(trace, 0x3000), SL_TAG_OTHER);
    assert_int_equal(tag_of(trace, 0x4000), SL_TAG_INPUT);
    assert_int_equal(tag_of(trace, 0x5000), is_looked_at ? SL_TAG_OTHER : SL_TAG_GRADIENT);
    assert_int_equal(tag_of(trace, 0x6000), SL_TAG_GRADIENT);
    assert_int_equal(tag_of(trace, 0x7000), SL_TAG_OPTIMIZER_STATE);
    sl_trace_free(trace);
}

static void tags_are_kept_when_the_ring_has_wrapped(void **state) {
    (void)state;
    check_outlived(true);
    check_outlived(false);
}

/* A backward pass without an optimizer for very long, then one. */
static void gradients_are_tagged_however_late_the_optimizer_runs(void **state) {
    (void)state;
    writer w = begin(0);
    make(&w, 0x1000, SL_PHASE_BACKWARD);
    for (int i = 0; i < 5000; i++) {
        make(&w, 0x100000, SL_PHASE_BACKWARD);
        drop(&w, 0x100000);
    }
    make(&w, 0x2000, SL_PHASE_BACKWARD);
    enter(&w, SL_PHASE_OPTIMIZER);
    sl_trace *trace = close_and_load(w.log, path);
    assert_int_equal(tag_of(trace, 0x1000), SL_TAG_GRADIENT);
    assert_int_equal(tag_of(trace, 0x2000), SL_TAG_GRADIENT);
    assert_int_equal(tag_of(trace, 0x100000), SL_TAG_OTHER);
    sl_trace_free(trace);
}

/* A library's workspace is made in a backward pass and stays; no optimizer holds it. */
static void a_block_missing_in_two_scans_is_not_a_gradient(void **state) {
    (void)state;
    writer w = begin(0);
    uint16_t looked = label(w.log, SL_TAG_LOOKED_LABEL);
    make(&w, 0x1000, SL_PHASE_BACKWARD);
    make(&w, 0x2000, SL_PHASE_BACKWARD);
    for (int i = 0; i < 2; i++) {
        make(&w, 0x3000, SL_PHASE_BACKWARD);
        enter(&w, SL_PHASE_OPTIMIZER);
        enter(&w, SL_PHASE_NONE);
        assert_true(sl_log_annotate(w.log, 0x2000, 0, w.tags[SL_TAG_GRADIENT]));
        write_event(&w, SL_EV_ANNOTATE, 0, looked, 0);
        if (i == 0)
            drop(&w, 0x3000);
    }
    sl_trace *trace = close_and_load(w.log, path);
    assert_int_equal(tag_of(trace, 0x1000), SL_TAG_OTHER);
    assert_int_equal(tag_of(trace, 0x2000), SL_TAG_GRADIENT);
    assert_int_equal(tag_of(trace, 0x3000), SL_TAG_GRADIENT); /* one look says nothing yet */
    sl_trace_free(trace);
}

/* A workspace made in a forward pass, outputs that a program collects: no activation, no input. */
static void a_block_older_than_two_steps_is_other(void **state) {
    (void)state;
    writer w = begin(0);
    make(&w, 0x1000, SL_PHASE_FORWARD);
    make(&w, 0x2000, SL_PHASE_NONE);
    sl_log_step(w.log, 1, 0);
    make(&w, 0x3000, SL_PHASE_FORWARD);
    make(&w, 0x4000, SL_PHASE_NONE);
    make(&w, 0x5000, SL_PHASE_FORWARD);
    drop(&w, 0x5000);
    sl_log_step(w.log, 2, 0);
    sl_trace *trace = close_and_load(w.log, path);
    assert_int_equal(tag_of(trace, 0x1000), SL_TAG_OTHER);
    assert_int_equal(tag_of(trace, 0x2000), SL_TAG_OTHER);
    assert_int_equal(tag_of(trace, 0x3000), SL_TAG_ACTIVATION); /* of one step, so far */
    assert_int_equal(tag_of(trace, 0x4000), SL_TAG_INPUT);      /* a batch fetched ahead */
    assert_int_equal(tag_of(trace, 0x5000), SL_TAG_ACTIVATION);
    sl_trace_free(trace);
}

static void without_phases_there_are_no_tags(void **state) {
    (void)state;
    writer w = begin(0);
    make(&w, 0x1000, SL_PHASE_NONE);
    write_event(&w, SL_EV_ALLOC, 0x2000, label(w.log, "libnccl"), 0);
    sl_trace *trace = close_and_load(w.log, path);
    assert_false(trace->has_tags);
    sl_trace_free(trace);
}

static void annotate_finds_only_live_blocks(void **state) {
    (void)state;
    writer w = begin(0);
    make(&w, 0x1000, SL_PHASE_NONE);
    uint16_t tag = w.tags[SL_TAG_GRADIENT];
    assert_false(sl_log_annotate(w.log, 0x2000, 0, tag));
    assert_false(sl_log_annotate(w.log, 0x1000, 1, tag)); /* another device */
    assert_true(sl_log_annotate(w.log, 0x1000, 0, tag));
    assert_true(sl_log_annotate(w.log, 0x1000, 0, tag)); /* again: nothing is written */
    drop(&w, 0x1000);
    assert_false(sl_log_annotate(w.log, 0x1000, 0, tag));
    sl_log_close(w.log);
    sl_log_reader *reader;
    sl_log_cursor *cursor;
    sl_log_record record;
    size_t annotated = 0;
    assert_int_equal(sl_log_open(path, &reader, NULL), SL_OK);
    assert_int_equal(sl_log_cursor_new(reader, &cursor, NULL), SL_OK);
    while (sl_log_cursor_next(cursor, &record, NULL) == 1)
        annotated += record.kind == SL_EV_ANNOTATE && record.size == 64 && record.tag == tag;
    assert_int_equal(annotated, 1);
    sl_log_cursor_free(cursor);
    sl_log_reader_close(reader);
}

/* One thread allocates and frees while another annotates the same addresses: totals stay exact. */
typedef struct race {
    writer *w;
    atomic_bool is_over;
    atomic_ullong hits;
} race;

static void *annotate_all(void *race_ptr) {
    race *r = race_ptr;
    for (uint64_t i = 0; !atomic_load(&r->is_over); i++)
        if (sl_log_annotate(r->w->log, 0x1000 + i % 16 * 64, 0, r->w->tags[1 + i / 16 % 3]))
            atomic_fetch_add(&r->hits, 1);
    return NULL;
}

static void annotating_during_frees_keeps_the_totals(void **state) {
    (void)state;
    writer w = begin(1u << 20);
    race r = {.w = &w};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, annotate_all, &r), 0);
    while (atomic_load(&r.hits) == 0) { /* until the other thread has had its turn */
        make(&w, 0x1000, SL_PHASE_FORWARD);
        sched_yield();
        drop(&w, 0x1000);
    }
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t addr = 0x1000 + i % 16 * 64;
        make(&w, addr, i % 2 ? SL_PHASE_FORWARD : SL_PHASE_BACKWARD);
        if (i % 16 != 3 || i < 199900)
            drop(&w, addr);
    }
    atomic_store(&r.is_over, true);
    pthread_join(thread, NULL);
    sl_log_close(w.log);
    sl_log_reader *reader;
    sl_fsck_report report;
    assert_int_equal(sl_log_open(path, &reader, NULL), SL_OK);
    assert_int_equal(sl_log_fsck(reader, &report, NULL), SL_OK);
    assert_int_equal(report.problems.cnt, 0);
    sl_log_fsck_fini(&report);
    sl_log_reader_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_of_training),
        cmocka_unit_test(an_annotation_applies_from_the_allocation_on),
        cmocka_unit_test(tags_are_kept_when_the_ring_has_wrapped),
        cmocka_unit_test(gradients_are_tagged_however_late_the_optimizer_runs),
        cmocka_unit_test(a_block_missing_in_two_scans_is_not_a_gradient),
        cmocka_unit_test(a_block_older_than_two_steps_is_other),
        cmocka_unit_test(without_phases_there_are_no_tags),
        cmocka_unit_test(annotate_finds_only_live_blocks),
        cmocka_unit_test(annotating_during_frees_keeps_the_totals),
    };
    snprintf(path, sizeof path, "/tmp/stormlog-tags-%d.slog", (int)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
