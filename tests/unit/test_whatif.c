/* SPDX-License-Identifier: MIT */
/* From a trace to an answer: the proof and its thresholds, limits, cards, failures. The traces are
 * made by the model itself. */
#include "sltest.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "made_trace.h"
#include "whatif/whatif.h"

#define MIB      MADE_MIB
#define LIVE     40
#define REQUESTS 4000

typedef struct made {
    made_trace t;
    sl_run *run;
    uint64_t peak;
} made;

/* Of every `wrong_each` requests one is recorded at an address where the allocator would not have
 * put it; 0 = none. */
static void make(made *m, unsigned wrong_each) {
    uint64_t sizes[LIVE] = {0}, shown[LIVE] = {0};
    unsigned seed = 5, cnt = 0;
    *m = (made){0};
    made_begin(&m->t, false);
    while (cnt < REQUESTS) {
        uint32_t slot = (uint32_t)rand_r(&seed) % LIVE;
        if (sizes[slot]) {
            made_give_at(&m->t, slot, sizes[slot], shown[slot]);
            sizes[slot] = 0;
            continue;
        }
        sizes[slot] = ((uint64_t)rand_r(&seed) % 64 + 1) << (8 + rand_r(&seed) % 12);
        shown[slot] = wrong_each && cnt % wrong_each == 0 ? 4096 * (cnt + 1) : 0;
        made_take_at(&m->t, slot, sizes[slot], shown[slot]);
        cnt++;
    }
    m->peak = sl_alloc_model_stats(m->t.model)->reserved_peak;
}

static sl_whatif *answer(made *m, const char *conf, uint64_t card) {
    sl_alloc_settings settings;
    sl_error err = SL_ERROR_INIT;
    sl_whatif *result = NULL;
    sl_whatif_options options = {.thread_cnt = 2, .placement_cnt = 3, .wants_cards = card == 0};
    sl_alloc_settings_init(&settings);
    if (conf) {
        assert_int_equal(sl_alloc_settings_parse(&settings, sl_str_of(conf), &err), SL_OK);
        options.settings = &settings;
        options.setting_cnt = 1;
    }
    if (card)
        options.card_bytes = sl_known_u64(card);
    assert_int_equal(sl_run_new((const sl_trace *const *)&m->t.trace, 1, &m->run, &err), SL_OK);
    if (sl_whatif_new(&m->run->inputs[0].devices[0], &options, &result, &err) < 0)
        fail_msg("%s", err.text);
    return result;
}

static void drop(made *m, sl_whatif *result) {
    sl_whatif_free(result);
    sl_run_free(m->run);
    made_free(&m->t);
}

static void test_an_exact_replay_is_proven(void **state) {
    (void)state;
    made m;
    make(&m, 0);
    sl_whatif *w = answer(&m, NULL, 0);
    assert_true(w->proof.is_exact && w->proof.has_same_curve && w->proof.has_same_peak);
    assert_int_equal(w->proof.pass.placed_cnt, REQUESTS);
    assert_string_equal(w->refusal, "");
    assert_true(w->rows.cnt > 10);
    assert_int_equal(w->rows.at[0].kind, SL_WHATIF_RECORDED);
    assert_int_equal(w->rows.at[0].pass.stats.reserved_peak, m.peak);
    for (size_t i = 0; i < w->rows.cnt; i++) {
        const sl_whatif_row *row = &w->rows.at[i];
        assert_true(row->peak_low <= row->pass.stats.reserved_peak);
        assert_true(row->peak_high >= row->pass.stats.reserved_peak);
        assert_true(row->peak_low >= w->floor_bytes);
        assert_true(row->card_bytes.known && row->card_bytes.value >= w->floor_bytes);
    }
    drop(&m, w);
}

static void test_error_bar(void **state) {
    (void)state;
    made m;
    make(&m, 50);
    sl_whatif *w = answer(&m, "expandable_segments:True", 0);
    assert_true(!w->proof.is_exact && w->proof.is_good);
    assert_int_equal(w->proof.pass.same_cnt, REQUESTS - REQUESTS / 50);
    assert_int_equal(w->rows.cnt, 2);
    drop(&m, w);
}

static void test_a_replay_that_is_not_exact_is_refused(void **state) {
    (void)state;
    made m;
    make(&m, 10);
    sl_whatif *w = answer(&m, NULL, 0);
    assert_false(w->proof.is_good);
    assert_int_equal(w->rows.cnt, 0);
    assert_non_null(strstr(w->refusal, "only 90.0 % of the addresses"));
    drop(&m, w);
}

static void test_card(void **state) {
    (void)state;
    made m;
    sl_error err = SL_ERROR_INIT;
    make(&m, 0);
    sl_whatif *w = answer(&m, "expandable_segments:True", 0);
    for (size_t i = 0; i < w->rows.cnt; i++) {
        const sl_whatif_row *row = &w->rows.at[i];
        sl_pass_options options = sl_whatif_pass(w, &row->settings);
        sl_pass pass;
        options.limit_bytes = row->card_bytes.value;
        assert_int_equal(sl_pass_run(w->calls, &options, &pass, &err), SL_OK);
        assert_false(pass.has_failed);
        assert_true(pass.stats.reserved_peak <= row->card_bytes.value);
        options.limit_bytes -= MIB;
        assert_int_equal(sl_pass_run(w->calls, &options, &pass, &err), SL_OK);
        assert_true(pass.has_failed);
    }
    uint64_t card = w->rows.at[0].card_bytes.value;
    sl_whatif_free(w);
    sl_run_free(m.run);
    w = answer(&m, "expandable_segments:True", card - MIB);
    const sl_pass *pass = &w->rows.at[0].pass;
    assert_true(pass->has_failed && pass->fail_event < m.t.device->events.cnt);
    assert_int_equal(m.t.device->events.kind[pass->fail_event], SL_EV_ALLOC);
    assert_int_equal(m.t.device->events.size_bytes[pass->fail_event], pass->fail_bytes);
    drop(&m, w);
}

/* A request that fails although the card has room met a limit of the process. */
static void test_failure_with_room(void **state) {
    (void)state;
    made m;
    make(&m, 0);
    uint64_t bytes = m.peak; /* whole MiB */
    made_push(&m.t, SL_EV_OOM, (uint64_t)100 << 30, bytes);
    sl_whatif *w = answer(&m, "expandable_segments:True", 0);
    assert_int_equal(w->limit_bytes, m.peak);
    assert_int_equal(w->calls->limit_below_bytes, m.peak + bytes);
    assert_true(w->failure.is_known);
    assert_int_equal(w->failure.bytes, bytes);
    assert_true(w->rows.at[0].pass.has_failed);
    assert_int_equal(w->rows.at[0].pass.fail_event, w->failure.event);
    drop(&m, w);
}

static void test_full_card(void **state) {
    (void)state;
    made m;
    make(&m, 0);
    made_push(&m.t, SL_EV_OOM, 10 * MIB, 200 * MIB);
    sl_whatif *w = answer(&m, "no_caching:True", 0);
    uint64_t limit = m.peak + 10 * MIB;
    assert_int_equal(w->limit_bytes, limit);
    assert_int_equal(w->calls->limit_below_bytes, limit + 1);
    uint64_t need = w->failure.active_bytes + 200 * MIB;
    assert_int_equal(w->failure.missing_bytes, need > limit ? need - limit : 0);
    drop(&m, w);
}

/* Absurd addresses and sizes end in a refusal or a figure, never in a crash or a loop. */
static void test_an_absurd_trace_does_not_crash(void **state) {
    (void)state;
    made m;
    make(&m, 0);
    for (uint64_t i = 0; i < 64; i++) {
        made_push(&m.t, SL_EV_ALLOC, UINT64_MAX - i, UINT64_MAX >> i);
        made_push(&m.t, SL_EV_SEGMENT_ALLOC, UINT64_MAX << i, UINT64_MAX >> (i / 2));
        made_push(&m.t, SL_EV_SEGMENT_MAP, i, UINT64_MAX);
        made_push(&m.t, SL_EV_SEGMENT_FREE, UINT64_MAX << i, UINT64_MAX >> (i / 3));
        made_push(&m.t, SL_EV_SEGMENT_UNMAP, i * MIB, UINT64_MAX / 2);
        made_push(&m.t, SL_EV_FREE_COMPLETED, UINT64_MAX - i / 2, 0);
        made_push(&m.t, SL_EV_OOM, UINT64_MAX, UINT64_MAX);
    }
    sl_whatif *w = answer(&m, NULL, 0);
    assert_true(w->proof.pass.placed_cnt >= REQUESTS);
    drop(&m, w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_exact_replay_is_proven),
        cmocka_unit_test(test_error_bar),
        cmocka_unit_test(test_a_replay_that_is_not_exact_is_refused),
        cmocka_unit_test(test_card),
        cmocka_unit_test(test_failure_with_room),
        cmocka_unit_test(test_full_card),
        cmocka_unit_test(test_an_absurd_trace_does_not_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
