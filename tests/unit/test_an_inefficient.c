/* SPDX-License-Identifier: MIT */
/* Late frees: last step's blocks on the peak, and what only looks like them. */
#include <string.h>

#include "sltest.h"

#include "analyze/analysis.h"
#include "synth.h"

#define STEPS       30
#define BATCH_BYTES ((uint64_t)128 << 20)

static synth *begin(void) {
    synth *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->seed = 1;
    s->next_addr = (uint64_t)0x7f0000000000;
    s->now_us = 1700000000000000;
    s->trace = sl_trace_new("synthetic", SL_SOURCE_TORCH_SNAPSHOT);
    s->trace->has_requested_sizes = s->trace->has_time = s->trace->has_event_stacks = true;
    s->device = sl_trace_device(s->trace, 0);
    (void)sl_trace_stream(s->trace, 0);
    return s;
}

/* Forward and backward of a step: all of it is gone at the end. */
static void work(synth *s) {
    for (uint32_t i = 0; i < 4; i++) {
        synth_block out = synth_alloc(s, 4096 + 512 * i, synth_stack(s, 40 + i, 0));
        synth_free(s, synth_alloc(s, 1 << 20, synth_stack(s, 50 + i, 0)));
        synth_free(s, out);
    }
}

static const sl_finding *find_late(const sl_report *report) {
    for (size_t i = 0; i < report->findings.cnt; i++)
        if (report->findings.at[i].kind == SL_FINDING_INEFFICIENT)
            return &report->findings.at[i];
    return NULL;
}

static sl_report *finish(synth *s, sl_trace **trace) {
    sl_report *report = NULL;
    sl_error err = SL_ERROR_INIT;
    *trace = s->trace;
    const sl_trace *const traces[] = {*trace};
    free(s);
    if (sl_analyze_traces(traces, 1, NULL, &report, &err) != SL_OK)
        fail_msg("%s", err.text);
    return report;
}

/* `batch = next(loader)`: the old one lives until the new one is there. */
static void test_the_previous_batch_is_a_late_free(void **state) {
    (void)state;
    synth *s = begin();
    sl_trace *trace;
    synth_block held = {0, 0};
    for (int step = 0; step < STEPS; step++) {
        synth_block batch = synth_alloc(s, BATCH_BYTES, synth_stack(s, 30, 0));
        if (held.addr)
            synth_free(s, held);
        held = batch;
        work(s);
    }
    sl_report *report = finish(s, &trace);
    const sl_finding *late = find_late(report);
    assert_non_null(late);
    assert_string_equal(late->subkind, "late free");
    assert_int_equal(late->bytes.value, BATCH_BYTES);
    assert_int_equal(late->blocks.value, 1);
    sl_report_free(report);
    sl_trace_free(trace);
}

/* A list that an error frees in the last step is a leak, and not also thirty late frees. */
static void test_a_list_freed_at_the_end_is_not_a_late_free(void **state) {
    (void)state;
    synth *s = begin();
    sl_trace *trace;
    for (int step = 0; step < STEPS; step++) {
        synth_keep(s, synth_alloc(s, BATCH_BYTES, synth_stack(s, 30, 0)));
        work(s);
    }
    while (s->kept_cnt)
        synth_let_go_oldest(s);
    sl_report *report = finish(s, &trace);
    const sl_finding *late = find_late(report);
    if (late)
        fail_msg("%s", late->title);
    sl_report_free(report);
    sl_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_previous_batch_is_a_late_free),
        cmocka_unit_test(test_a_list_freed_at_the_end_is_not_a_late_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
