/* SPDX-License-Identifier: MIT */
/* Advice about allocator settings is what a replay proved, or says why there is none. The traces are made by the
 * allocator's model itself, so that they can be proven, or with one wrong address in three, so that they cannot. */
#include "sltest.h"

#include <string.h>

#include "analyze/analysis.h"
#include "made_trace.h"
#include "whatif/facts/whatif_fact.h"

#define MIB MADE_MIB

typedef struct made {
    made_trace of;
    sl_run *run;
    sl_report *report;
} made;

/* A request fails: `room` bytes were left on the card. */
static void fail_request(made *m, uint64_t bytes, uint64_t room) {
    m->of.device->capacity_bytes = sl_known_u64(2000 * MIB);
    made_push(&m->of, SL_EV_OOM, room, bytes);
}

static const sl_finding *find(made *m, sl_finding_kind kind, sl_run_effort effort) {
    static const sl_thresholds *t = &sl_thresholds_initial;
    sl_analysis_options options = {.thresholds = t};
    sl_error err = SL_ERROR_INIT;
    m->of.trace->devices.at[0]->has_end_state = false;
    assert_int_equal(sl_run_new((const sl_trace *const *)&m->of.trace, 1, &m->run, &err), SL_OK);
    m->run->effort = effort;
    if (sl_analyze(m->run, &options, &m->report, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < m->report->findings.cnt; i++)
        if (m->report->findings.at[i].kind == kind)
            return &m->report->findings.at[i];
    fail_msg("no finding of kind %s", sl_finding_kind_name(kind));
    return NULL;
}

static void drop(made *m) {
    sl_report_free(m->report);
    sl_run_free(m->run);
    made_free(&m->of);
}

static void expect(const sl_finding *finding, sl_trial_result result, const char *words) {
    if (finding->trial.result != result || !strstr(finding->advice, words))
        fail_msg("%s instead of %s: '%s' lacks '%s'", sl_trial_result_name(finding->trial.result),
                 sl_trial_result_name(result), finding->advice, words);
}

/* 800 MiB in use and 400 in pieces; 250 more fit into 1,200 with expandable segments only. */
static void test_a_setting_that_helps_is_advised(void **state) {
    (void)state;
    made m = {0};
    made_pieces(&m.of, false);
    fail_request(&m, 250 * MIB, MIB);
    const sl_finding *oom = find(&m, SL_FINDING_OOM, (sl_run_effort){.thread_cnt = 2});
    expect(oom, SL_TRIAL_HELPS,
           "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: in the replay every request is "
           "served, with at most 1.17 GiB reserved.");
    assert_string_equal(oom->trial.settings, "expandable_segments:True");
    assert_int_equal(oom->trial.reserved_peak_bytes.value, 1200 * MIB);
    assert_false(oom->trial.recorded_peak_bytes.known);
    drop(&m);
}

/* 800 MiB in use and 500 more are above every limit of 1,200. */
static void test_no_setting_helps(void **state) {
    (void)state;
    made m = {0};
    made_pieces(&m.of, false);
    fail_request(&m, 500 * MIB, MIB);
    const sl_finding *oom = find(&m, SL_FINDING_OOM, (sl_run_effort){0});
    expect(oom, SL_TRIAL_NO_HELP,
           "No allocator setting helps: at least 99.0 MiB must be freed before the request fits.");
    assert_null(oom->trial.settings);
    assert_null(strstr(oom->advice, "expandable"));
    drop(&m);
}

static void test_without_a_proof_there_is_no_advice(void **state) {
    (void)state;
    made m = {0};
    made_pieces(&m.of, true);
    fail_request(&m, 250 * MIB, MIB);
    const sl_finding *oom = find(&m, SL_FINDING_OOM, (sl_run_effort){0});
    expect(oom, SL_TRIAL_NOT_PROVEN, "Which allocator setting helps could not be proven: only ");
    assert_null(strstr(oom->advice, "expandable"));
    drop(&m);
}

static void test_advice_can_be_switched_off(void **state) {
    (void)state;
    made m = {0};
    made_pieces(&m.of, false);
    fail_request(&m, 250 * MIB, MIB);
    const sl_finding *oom = find(&m, SL_FINDING_OOM, (sl_run_effort){.no_whatif = true});
    expect(oom, SL_TRIAL_NOT_TRIED, "'stormlog whatif' tries them");
    assert_null(strstr(oom->advice, "expandable"));
    drop(&m);
}

static void test_a_long_trace_is_not_replayed(void **state) {
    (void)state;
    made m = {0};
    made_pieces(&m.of, false);
    for (uint32_t i = 0; i < SL_WHATIF_EVENTS_MAX / 3; i++) {
        made_take(&m.of, 100, 512);
        made_give(&m.of, 100, 512);
    }
    fail_request(&m, 250 * MIB, MIB);
    const sl_finding *oom = find(&m, SL_FINDING_OOM, (sl_run_effort){0});
    expect(oom, SL_TRIAL_NOT_TRIED, "and 500000 is the limit; 'stormlog whatif' has no limit.");
    drop(&m);
}

/* Of several inputs the first ones are replayed, until their sum reaches the limit. */
static void test_several_inputs_share_one_limit(void **state) {
    (void)state;
    made_trace m[2];
    sl_run *run;
    sl_error err = SL_ERROR_INIT;
    const sl_whatif_fact *facts[2];
    const sl_trace *traces[2];
    for (int i = 0; i < 2; i++) {
        made_pieces(&m[i], false);
        for (uint32_t k = 0; k < SL_WHATIF_EVENTS_MAX / 3 - 100; k++)
            made_push(&m[i], SL_EV_OOM, 0, 1);
        for (uint32_t k = 0; k < SL_WHATIF_EVENTS_MAX / 3 - 100; k++)
            made_push(&m[i], SL_EV_RESERVED, 0, 1);
        traces[i] = m[i].trace;
    }
    assert_int_equal(sl_run_new(traces, 2, &run, &err), SL_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sl_whatif_of(&run->inputs[i].devices[0], &facts[i], &err), SL_OK);
    assert_non_null(facts[0]->answer);
    assert_int_equal(facts[1]->state, SL_WHATIF_TOO_LONG);
    assert_non_null(strstr(facts[1]->why, "were replayed already"));
    const sl_whatif_fact *again;
    assert_int_equal(sl_whatif_of(&run->inputs[0].devices[0], &again, &err), SL_OK);
    assert_ptr_equal(again, facts[0]);
    sl_run_free(run);
    for (int i = 0; i < 2; i++)
        made_free(&m[i]);
}

/* torch_npu reads another variable, and an XPU has none. */
static void test_the_variable_depends_on_the_device(void **state) {
    (void)state;
    static const struct {
        const char *file, *variable;
    } rows[] = {{"/venv/torch_npu/npu/memory.py", "Set PYTORCH_NPU_ALLOC_CONF=expandable"},
                {"/venv/intel_extension_for_pytorch/x.py", NULL}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        made m = {0};
        made_pieces(&m.of, false);
        fail_request(&m, 250 * MIB, MIB);
        assert_true(sl_strtab_intern(&m.of.trace->strings, rows[i].file, strlen(rows[i].file)) !=
                    SL_STR_NONE);
        const sl_finding *oom = find(&m, SL_FINDING_OOM, (sl_run_effort){0});
        if (rows[i].variable)
            expect(oom, SL_TRIAL_HELPS, rows[i].variable);
        else
            expect(oom, SL_TRIAL_NONE, "");
        assert_null(strstr(oom->advice, "CUDA"));
        drop(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_setting_that_helps_is_advised),
        cmocka_unit_test(test_no_setting_helps),
        cmocka_unit_test(test_without_a_proof_there_is_no_advice),
        cmocka_unit_test(test_advice_can_be_switched_off),
        cmocka_unit_test(test_a_long_trace_is_not_replayed),
        cmocka_unit_test(test_several_inputs_share_one_limit),
        cmocka_unit_test(test_the_variable_depends_on_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
