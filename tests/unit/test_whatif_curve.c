/* SPDX-License-Identifier: MIT */
/* The curves of the settings: none loses a peak, equal ones are one, and a failure ends them. */
#include "sltest.h"

#include <string.h>

#include "made_trace.h"
#include "whatif/facts/whatif_curve.h"

#define BINS 16

typedef struct asked {
    made_trace of;
    sl_run *run;
    sl_whatif *answer;
    sl_whatif_curves *curves;
} asked;

/* Blocks in pieces, one that fits into none of them, then many small ones. */
static void ask(asked *a, uint64_t card, uint32_t bin_max) {
    sl_whatif_options options = {.thread_cnt = 2, .placement_cnt = 1};
    sl_error err = SL_ERROR_INIT;
    made_pieces(&a->of, false);
    made_take(&a->of, 200, 250 * MADE_MIB);
    for (uint32_t i = 0; i < 300; i++) {
        made_take(&a->of, 100 + i % 7, (i % 5 + 1) * 3 * MADE_MIB);
        made_give(&a->of, 100 + i % 7, (i % 5 + 1) * 3 * MADE_MIB);
    }
    if (card)
        options.card_bytes = sl_known_u64(card);
    assert_int_equal(sl_run_new((const sl_trace *const *)&a->of.trace, 1, &a->run, &err), SL_OK);
    if (sl_whatif_new(&a->run->inputs[0].devices[0], &options, &a->answer, &err) < 0 ||
        sl_whatif_curves_new(a->answer, bin_max, &a->curves, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(a->answer->refusal, "");
}

static void drop(asked *a) {
    sl_whatif_curves_free(a->curves);
    sl_whatif_free(a->answer);
    sl_run_free(a->run);
    made_free(&a->of);
}

static void test_curves_keep_every_peak(void **state) {
    (void)state;
    asked a = {0};
    ask(&a, 0, BINS);
    assert_int_equal(a.curves->bin_cnt, BINS);
    assert_int_equal(a.curves->list.at[0].row, 0);
    assert_true(a.answer->best > 0);
    assert_int_equal(a.curves->list.at[1].row, a.answer->best);
    size_t cnt = 0;
    for (size_t i = 0; i < a.answer->rows.cnt; i++) {
        uint32_t at = a.curves->curve_of_row[i];
        if (a.answer->rows.at[i].kind == SL_WHATIF_BOUND) {
            assert_int_equal(at, SL_IDX_NONE);
            continue;
        }
        assert_true(at < a.curves->list.cnt);
        assert_int_equal(a.curves->list.at[at].peak_bytes,
                         a.answer->rows.at[i].pass.stats.reserved_peak);
        cnt++;
    }
    for (size_t i = 0; i < a.curves->list.cnt; i++)
        cnt -= 1 + a.curves->list.at[i].also_cnt;
    assert_int_equal(cnt, 0);
    drop(&a);
}

/* With a bin for each event the recorded curve is that of the trace. */
static void test_recorded_curve_equals_the_trace(void **state) {
    (void)state;
    asked a = {0};
    ask(&a, 0, UINT32_MAX);
    const sl_replay *replay = a.answer->calls->replay;
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    assert_int_equal(a.curves->bin_cnt, replay->event_cnt);
    for (uint32_t i = 0; sl_replay_walk_next(&walk); i++) {
        assert_int_equal(sl_whatif_curve_event(a.curves, i), i);
        /* A segment's own event is before that of the request that takes it. */
        if (replay->device->events.kind[i] == SL_EV_ALLOC)
            assert_int_equal(a.curves->list.at[0].bytes[i], walk.totals.reserved_bytes);
    }
    drop(&a);
}

static void test_a_failure_ends_a_curve(void **state) {
    (void)state;
    asked a = {0};
    ask(&a, 1300 * MADE_MIB, BINS);
    const sl_pass *recorded = &a.answer->rows.at[0].pass;
    assert_true(recorded->has_failed);
    assert_int_equal(a.curves->list.at[0].bytes[BINS - 1], SL_WHATIF_ENDED);
    for (uint32_t i = 0; i < BINS; i++) {
        bool is_over = sl_whatif_curve_event(a.curves, i) > recorded->fail_event;
        assert_true((a.curves->list.at[0].bytes[i] == SL_WHATIF_ENDED) == is_over);
    }
    const sl_whatif_curve *best = &a.curves->list.at[1];
    assert_int_equal(best->row, a.answer->best);
    assert_true(best->bytes[BINS - 1] != SL_WHATIF_ENDED);
    drop(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves_keep_every_peak),
        cmocka_unit_test(test_recorded_curve_equals_the_trace),
        cmocka_unit_test(test_a_failure_ends_a_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
