/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_counters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/write/log_writer_impl.h"
#include "model/counter_series.h"
#include "slog_load.h"

#define MIB UINT64_C(1048576)

static char path[100];

static sl_log *create(uint64_t ring_bytes) {
    sl_log *log = NULL;
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .ring_bytes = ring_bytes,
                        .chunk_bytes = 1024,
                        .live_cap = 64,
                        .live_levels = 1,
                        .overwrite = true};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    return log;
}

static uint32_t string_of(sl_log *log, const char *text) {
    return sl_log_string(log, text, strlen(text));
}

static void driver_event(sl_log *log, uint8_t kind, const char *library, uint64_t addr,
                         uint64_t size) {
    sl_log_event event = {.kind = kind,
                          .device = 0,
                          .label = sl_log_label(log, library, strlen(library)),
                          .addr = addr,
                          .size = size,
                          .total_allocated = SL_LOG_UNKNOWN,
                          .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(log, &event);
}

static uint64_t last_of(const sl_trace *trace, const char *name) {
    const sl_counter_series *series = sl_series_find(trace, 0, name);
    assert_non_null(series);
    assert_true(sl_series_last(series).known);
    return sl_series_last(series).value;
}

static void test_curves_and_their_names(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(1u << 20);
    int used = sl_log_counter(log, SL_COUNTER_DEVICE_USED, 0, 0);
    int others = sl_log_counter(log, SL_COUNTER_CUSTOM, 0, string_of(log, "other_processes"));
    int gone = sl_log_counter(log, SL_COUNTER_PROCESS_USED, 0, 0);
    sl_log_counter_set(log, used, 700);
    sl_log_counter_set(log, used, 900);
    sl_log_counter_set(log, used, 800);
    sl_log_counter_set(log, others, 5);
    sl_log_counter_set(log, gone, 6);
    sl_log_counter_unavailable(log, gone, string_of(log, "not allowed here"));
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(last_of(trace, SL_SERIES_DEVICE_USED), 800);
    assert_int_equal(last_of(trace, SL_SERIES_OTHER_PROCESSES), 5);
    const sl_counter_series *series = sl_series_find(trace, 0, SL_SERIES_DEVICE_USED);
    uint64_t low = 0, high = 0;
    assert_true(sl_series_range(series, INT64_MIN, INT64_MAX, &low, &high));
    assert_int_equal(low, 700);
    assert_int_equal(high, 900);
    assert_string_equal(sl_strtab_get(&trace->strings, series->unit).ptr, "bytes");
    series = sl_series_find(trace, 0, SL_SERIES_OTHER_PROCESSES);
    assert_string_equal(sl_strtab_get(&trace->strings, series->unit).ptr, "bytes");
    series = sl_series_find(trace, 0, SL_SERIES_PROCESS_USED);
    assert_false(sl_series_last(series).known);
    assert_string_equal(sl_strtab_get(&trace->strings, series->why).ptr, "not allowed here");
    sl_trace_free(trace);
}

static void test_blocks_belong_to_the_library_that_allocated_them(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(1u << 20);
    driver_event(log, SL_EV_DRIVER_ALLOC, "libnccl", 0x1000, 2 * MIB);
    driver_event(log, SL_EV_DRIVER_ALLOC, "libcublas", 0x2000, 64 * MIB);
    driver_event(log, SL_EV_DRIVER_ALLOC, "libnccl", 0x3000, 4 * MIB);
    driver_event(log, SL_EV_DRIVER_FREE, "libcudart", 0x1000, 2 * MIB); /* freed by another */
    driver_event(log, SL_EV_DRIVER_FREE, "libnccl", 0x9000, MIB);       /* of nothing */
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(last_of(trace, SL_SERIES_LIBRARY "libnccl"), 4 * MIB);
    assert_int_equal(last_of(trace, SL_SERIES_LIBRARY "libcublas"), 64 * MIB);
    assert_null(sl_series_find(trace, 0, SL_SERIES_LIBRARY "libcudart"));
    const sl_counter_series *nccl = sl_series_find(trace, 0, SL_SERIES_LIBRARY "libnccl");
    assert_int_equal(nccl->readings.at[0].last, 0); /* nothing before the first event */
    uint64_t low = 0, high = 0;
    assert_true(sl_series_range(nccl, INT64_MIN, INT64_MAX, &low, &high));
    assert_int_equal(high, 6 * MIB);
    sl_trace_free(trace);
}

/* A ring that has wrapped: the curve has what the libraries held before, down to their first
 * allocation. */
static void test_libraries_after_losses(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(4096);
    usleep(150000); /* so that the first allocation is not in the curve's first bin */
    driver_event(log, SL_EV_DRIVER_ALLOC, "libnccl", 0x1000, 7 * MIB);
    usleep(150000);
    for (uint64_t i = 0; i < 1000; i++) {
        driver_event(log, SL_EV_DRIVER_ALLOC, "libcublas", 0x2000, MIB);
        driver_event(log, SL_EV_DRIVER_FREE, "libcublas", 0x2000, MIB);
    }
    driver_event(log, SL_EV_DRIVER_ALLOC, "libnccl", 0x3000, 5 * MIB);
    sl_trace *trace = close_and_load(log, path);
    const sl_counter_series *nccl = sl_series_find(trace, 0, SL_SERIES_LIBRARY "libnccl");
    assert_non_null(nccl);
    int64_t first_us = trace->devices.at[0]->events.time_us[0];
    assert_true(trace->devices.at[0]->dropped_events > 1000);
    assert_int_equal(nccl->readings.at[0].last, 0);
    assert_true(nccl->readings.at[1].to_us < first_us);
    assert_int_equal(nccl->readings.at[1].last, 7 * MIB);
    assert_int_equal(sl_series_at(nccl, first_us).value, 7 * MIB);
    assert_int_equal(sl_series_last(nccl).value, 12 * MIB);
    assert_int_equal(last_of(trace, SL_SERIES_LIBRARY "libcublas"), 0);
    sl_trace_free(trace);
}

static void test_alerts_in_order(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(1u << 20);
    sl_log_alert alert = {.rule = string_of(log, "device_nearly_full"),
                          .text = string_of(log, "less than a twentieth of the card is free"),
                          .device = 0,
                          .severity = 1,
                          .value = 97,
                          .threshold = 95};
    sl_log_alert_add(log, &alert);
    alert.device = -1;
    alert.severity = 2;
    sl_log_alert_add(log, &alert);
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(trace->alerts.cnt, 2);
    const sl_alert *first = &trace->alerts.at[0], *second = &trace->alerts.at[1];
    assert_true(first->time_us <= second->time_us);
    assert_int_equal(first->device + second->device, -1);
    assert_int_equal(first->value, 97);
    assert_int_equal(first->threshold, 95);
    assert_string_equal(sl_strtab_get(&trace->strings, first->text).ptr,
                        "less than a twentieth of the card is free");
    assert_string_equal(sl_strtab_get(&trace->strings, second->severity).ptr, "critical");
    sl_trace_free(trace);
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/stormlog-slog-counters-%d.slog", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves_and_their_names),
        cmocka_unit_test(test_blocks_belong_to_the_library_that_allocated_them),
        cmocka_unit_test(test_libraries_after_losses),
        cmocka_unit_test(test_alerts_in_order),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
