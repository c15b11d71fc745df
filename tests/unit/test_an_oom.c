/* SPDX-License-Identifier: MIT */
/* The cause of a failed request, on runs made so that exactly one fits. */
#include <string.h>

#include "sltest.h"

#include "fake_alloc.h"
#include "made_report.h"
#include "synth.h"

static void fail_request(sl_trace *trace, uint64_t size, uint64_t device_free) {
    sl_events *events = &trace->devices.at[0]->events;
    sl_event ev = {events->time_us[events->cnt - 1] + 1,
                   device_free,
                   size,
                   0,
                   0,
                   0,
                   SL_EV_OOM,
                   SL_TAG_UNKNOWN};
    assert_true(sl_events_push(events, &ev));
}

static void check_cause(synth_habit habit, uint64_t request, const char *cause) {
    sl_trace *trace = synth_run(habit, 80, 1, true);
    fail_request(trace, request, 1 << 20);
    sl_report *report = report_of(trace, NULL);
    assert_int_equal(report->verdict, SL_VERDICT_OOM);
    assert_true(report->oom.present);
    assert_string_equal(sl_oom_cause_name(report->oom.cause), cause);
    assert_int_equal(report->oom.requested_bytes, request);
    assert_int_equal(report->oom.device_free_bytes.value, 1 << 20);
    assert_true(report->oom.holders.cnt > 0);
    uint64_t held = report->oom.holders.other_bytes;
    for (size_t i = 0; i < report->oom.holders.cnt; i++)
        held += report->oom.holders.at[i].bytes;
    assert_int_equal(held, report->devices.at[0].live_requested_bytes);
    sl_report_free(report);
    sl_trace_free(trace);
}

static void test_causes(void **state) {
    (void)state;
    check_cause(SYNTH_EVERY_STEP, 4 << 20, "leak");
    check_cause(SYNTH_PLAIN, (uint64_t)1 << 32, "spike");
    check_cause(SYNTH_PLAIN, 1 << 20, "capacity");
}

/* 200 blocks, of which every n-th one is freed. */
static fake_alloc *every_freed(int n) {
    fake_alloc *fake = fake_new(1);
    uint64_t addr[200];
    for (int i = 0; i < 200; i++)
        addr[i] = fake_malloc(fake, 5 * FAKE_MIB, 0);
    for (int i = 0; i < 200; i += n)
        fake_free(fake, addr[i]);
    return fake;
}

/* Half of many blocks freed: much is unused, but in holes. */
static void test_fragmentation(void **state) {
    (void)state;
    fake_alloc *fake = every_freed(2);
    fake_event(fake, SL_EV_OOM, 1 << 20, 200 * FAKE_MIB, 0);
    fake_finish(fake);
    sl_report *report = report_of(fake->trace, NULL);
    assert_string_equal(sl_oom_cause_name(report->oom.cause), "fragmentation");
    const sl_fragmentation *f = &report->devices.at[0].fragmentation;
    assert_int_equal(f->inactive_bytes.value, fake->reserved - fake->active);
    assert_int_equal(f->private_pool_bytes.value, 0);
    assert_true(f->largest_free_bytes.value >= 5 * FAKE_MIB &&
                f->largest_free_bytes.value < 200 * FAKE_MIB);
    sl_report_free(report);
    fake_free_all(fake);
}

/* The card was not full: the request hit a limit of the process. */
static void test_limit(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 80, 1, true);
    fail_request(trace, 16 << 20, (uint64_t)100 << 30);
    sl_report *report = report_of(trace, NULL);
    assert_non_null(strstr(report->oom.explanation, "set_per_process_memory_fraction"));
    assert_false(report->oom.limit_bytes.known);
    sl_report_free(report);
    sl_analysis_options options = {
        .oom_text =
            "CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of "
            "139.80 GiB of which 100.00 GiB is free. 2.00 GiB allowed; Of the allocated "
            "memory 1.00 GiB is allocated by PyTorch, and 9.68 MiB is reserved by PyTorch "
            "but unallocated."};
    report = report_of(trace, &options);
    assert_int_equal(report->oom.limit_bytes.value, (uint64_t)2 << 30);
    sl_report_free(report);
    sl_trace_free(trace);
}

/* With capacity, free and own bytes known, the rest belongs to other processes. */
static void test_other_process(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_PLAIN, 80, 1, true);
    fail_request(trace, 1 << 20, 1 << 20);
    sl_analysis_options options = {.capacity_bytes = sl_known_u64((uint64_t)80 << 30)};
    sl_report *report = report_of(trace, &options);
    assert_string_equal(sl_oom_cause_name(report->oom.cause), "other-process");
    sl_report_free(report);
    sl_trace_free(trace);
}

/* A text without its event, and a text about another device. */
static void test_error_text_without_an_event(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_PLAIN, 40, 1, true);
    sl_analysis_options options = {
        .oom_text = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.70 GiB total "
                    "capacity; 20.10 GiB already allocated; 1.25 GiB free; 20.50 GiB reserved in "
                    "total by PyTorch)"};
    sl_report *report = report_of(trace, &options);
    assert_int_equal(report->verdict, SL_VERDICT_OOM);
    assert_int_equal(report->oom.requested_bytes, (uint64_t)2 << 30);
    sl_report_free(report);
    options.oom_text = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity "
                       "of 23.70 GiB of which 1.25 GiB is free.";
    report = report_of(trace, &options);
    assert_int_equal(report->verdict, SL_VERDICT_HEALTHY);
    assert_false(report->oom.present);
    sl_report_free(report);
    sl_trace_free(trace);
}

/* The host has no card; a request that no machine could serve is not given as a multiple. */
static void test_the_host_has_no_card(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_PLAIN, 80, 1, true);
    trace->devices.at[0]->device = SL_DEVICE_HOST;
    trace->devices.at[0]->capacity_bytes = sl_known_u64((uint64_t)47 << 29);
    fail_request(trace, (uint64_t)1 << 42, 0);
    sl_report *report = report_of(trace, NULL);
    assert_string_equal(sl_oom_cause_name(report->oom.cause), "capacity");
    assert_non_null(strstr(report->oom.explanation, "larger than this machine's 23.5 GiB"));
    assert_null(strstr(report->oom.explanation, "times"));
    for (size_t i = 0; i < report->findings.cnt; i++)
        assert_null(strstr(report->findings.at[i].advice, "card"));
    sl_report_free(report);
    sl_trace_free(trace);
}

/* A trace whose stacks pass through torch_npu is of an NPU, which has settings of its own. */
static void test_npu(void **state) {
    (void)state;
    fake_alloc *fake = every_freed(2);
    fake_event(fake, SL_EV_OOM, 1 << 20, 200 * FAKE_MIB, 0);
    fake_finish(fake);
    static const char file[] = "/venv/torch_npu/npu/memory.py";
    assert_true(sl_strtab_intern(&fake->trace->strings, file, sizeof file - 1) != SL_STR_NONE);
    sl_report *report = report_of(fake->trace, NULL);
    assert_true(report->findings.cnt > 0);
    assert_non_null(strstr(report->findings.at[0].advice, "No allocator setting helps"));
    for (size_t i = 0; i < report->findings.cnt; i++)
        assert_null(strstr(report->findings.at[i].advice, "CUDA"));
    sl_report_free(report);
    fake_free_all(fake);
}

/* Everything freed leaves whole segments, which is a cache; every other block freed leaves pieces. */
static void test_whole_segments_are_a_cache_and_not_fragmentation(void **state) {
    (void)state;
    for (int step = 1; step <= 2; step++) {
        fake_alloc *fake = every_freed(step);
        fake_finish(fake);
        sl_report *report = report_of(fake->trace, NULL);
        const sl_finding *found = find_kind(report, SL_FINDING_FRAGMENTATION);
        assert_int_equal(found != NULL, step == 2);
        sl_report_free(report);
        fake_free_all(fake);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_fragmentation),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_other_process),
        cmocka_unit_test(test_error_text_without_an_event),
        cmocka_unit_test(test_the_host_has_no_card),
        cmocka_unit_test(test_npu),
        cmocka_unit_test(test_whole_segments_are_a_cache_and_not_fragmentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
