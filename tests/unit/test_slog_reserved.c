/* SPDX-License-Identifier: MIT */
/* The allocator's reserved total of a recording: its moments, and what is done where none are known. */
#include "read/slog/slog_reserved.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/write/log_writer.h"
#include "slog_load.h"

#define MIB   UINT64_C(1048576)
#define MS_NS UINT64_C(1000000)

static char path[100];

static sl_log *create(void) {
    sl_log *log = NULL;
    sl_log_options o = {.struct_size = sizeof o, .path = path, .overwrite = true};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    return log;
}

/* A segment of PyTorch's, and at once a block in it, with whose report its new total comes. */
static void take(sl_log *log, const char *library, uint64_t ms, uint64_t addr, uint64_t reserved) {
    sl_log_event event = {.kind = SL_EV_DRIVER_ALLOC,
                          .addr = addr,
                          .size = 20 * MIB,
                          .time_ns = ms * MS_NS,
                          .total_allocated = SL_LOG_UNKNOWN,
                          .total_reserved = SL_LOG_UNKNOWN};
    if (library) {
        event.label = sl_log_label(log, library, strlen(library));
        sl_log_write(log, &event);
    }
    event.kind = SL_EV_ALLOC;
    event.label = 0;
    event.size = MIB;
    event.time_ns += 1000;
    event.total_reserved = reserved;
    sl_log_write(log, &event);
}

/* The total that the events say at a time after the first event. */
static uint64_t reserved_at(const sl_trace *trace, int64_t after_us) {
    const sl_events *events = &trace->devices.at[0]->events;
    uint64_t reserved = 0;
    for (size_t i = 0; i < events->cnt; i++)
        if (events->kind[i] == SL_EV_RESERVED &&
            events->time_us[i] - events->time_us[0] <= after_us)
            reserved = events->size_bytes[i];
    return reserved;
}

static void test_changes_within_a_bin_have_their_time(void **state) {
    SL_UNUSED(state);
    sl_log *log = create();
    take(log, "libc10_cuda", 5, 0x1000, 20 * MIB);
    take(log, "libcublas", 8, 0x2000, 20 * MIB); /* not the allocator's */
    take(log, "libc10_cuda", 20, 0x3000, 40 * MIB);
    take(log, "libc10_cuda", 60, 0x4000, 60 * MIB);
    take(log, "libc10_cuda", 150, 0x5000, 80 * MIB); /* the next bin */
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(reserved_at(trace, 10000), 20 * MIB);
    assert_int_equal(reserved_at(trace, 30000), 40 * MIB);
    assert_int_equal(reserved_at(trace, 56000), 60 * MIB);
    assert_int_equal(reserved_at(trace, 140000), 60 * MIB);
    assert_int_equal(reserved_at(trace, 146000), 80 * MIB);
    sl_trace_free(trace);
}

/* The driver's calls were not recorded: the bin's largest value is used from its beginning. */
static void test_without_driver_events_the_bin_is_used(void **state) {
    SL_UNUSED(state);
    sl_log *log = create();
    take(log, NULL, 5, 0x1000, 20 * MIB);
    take(log, NULL, 60, 0x4000, 60 * MIB);
    take(log, NULL, 150, 0x5000, 80 * MIB);
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(reserved_at(trace, 10000), 60 * MIB);
    assert_int_equal(reserved_at(trace, 146000), 80 * MIB);
    sl_trace_free(trace);
}

/* A segment was not recorded: the sum does not reach the total, and is not used. */
static void test_an_incomplete_sum_is_not_used(void **state) {
    SL_UNUSED(state);
    sl_log *log = create();
    take(log, "libc10_cuda", 5, 0x1000, 20 * MIB);
    take(log, NULL, 20, 0x3000, 40 * MIB);
    take(log, "libc10_cuda", 60, 0x4000, 60 * MIB);
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(reserved_at(trace, 10000), 60 * MIB);
    sl_trace_free(trace);
}

static int make_path(void **state) {
    SL_UNUSED(state);
    snprintf(path, sizeof path, "/tmp/stormlog-reserved-%d.slog", (int)getpid());
    return 0;
}

static int remove_path(void **state) {
    SL_UNUSED(state);
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_within_a_bin_have_their_time),
        cmocka_unit_test(test_without_driver_events_the_bin_is_used),
        cmocka_unit_test(test_an_incomplete_sum_is_not_used),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
