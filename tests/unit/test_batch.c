/* SPDX-License-Identifier: MIT */
/* Another batch size: laws, the alignment of recordings, and what is refused. The traces are made
 * by the model itself. */
#include "sltest.h"

#include <string.h>

#include "whatif/batch/batch.h"

#define MIB ((uint64_t)1 << 20)

/* ---- laws ---- */

static sl_batch_estimate estimate(const uint64_t *sizes, const uint64_t *bytes, size_t cnt,
                                  uint64_t at) {
    sl_batch_point points[SL_BATCH_RECORDINGS_MAX];
    for (size_t i = 0; i < cnt; i++)
        points[i] = (sl_batch_point){sizes[i], bytes[i], false};
    return sl_batch_estimate_at(points, cnt, at, 1);
}

static void check_exact(const uint64_t *bytes, size_t cnt, sl_batch_law law, uint64_t at_48) {
    static const uint64_t sizes[] = {16, 32, 64};
    sl_batch_estimate got = estimate(sizes, bytes, cnt, 48);
    assert_int_equal(got.law, law);
    assert_int_equal(got.likely, at_48);
    assert_int_equal(got.low, at_48);
    assert_int_equal(got.high, at_48);
}

static void test_two_sizes_give_the_formula(void **state) {
    (void)state;
    check_exact((uint64_t[]){7000, 7000}, 2, SL_BATCH_CONSTANT, 7000);
    check_exact((uint64_t[]){16 * 1000, 32 * 1000}, 2, SL_BATCH_LINEAR, 48 * 1000);
    check_exact((uint64_t[]){16 * 16 * 10, 32 * 32 * 10}, 2, SL_BATCH_SQUARE, 48 * 48 * 10);
    check_exact((uint64_t[]){0, 0}, 2, SL_BATCH_CONSTANT, 0);
}

static void test_three_sizes_give_two_terms(void **state) {
    (void)state;
    check_exact((uint64_t[]){500 + 1600, 500 + 3200, 500 + 6400}, 3, SL_BATCH_MIXED, 500 + 4800);
    check_exact((uint64_t[]){500 + 256, 500 + 1024, 500 + 4096}, 3, SL_BATCH_MIXED, 500 + 48 * 48);
    check_exact((uint64_t[]){160 + 256, 320 + 1024, 640 + 4096}, 3, SL_BATCH_MIXED, 480 + 48 * 48);
}

/* 500 + 100 per size: it may stay as it is, or be proportional. */
static void test_other_has_a_range(void **state) {
    (void)state;
    static const uint64_t sizes[] = {16, 32}, grows[] = {2100, 3700}, shrinks[] = {9000, 1000};
    sl_batch_estimate got = estimate(sizes, grows, 2, 64);
    assert_int_equal(got.law, SL_BATCH_OTHER);
    assert_int_equal(got.likely, 6900);
    assert_int_equal(got.low, 3700);
    assert_int_equal(got.high, 7400);
    got = estimate(sizes, grows, 2, 24);
    assert_int_equal(got.likely, 2900);
    assert_int_equal(got.low, 2100);
    assert_int_equal(got.high, 3700);
    /* A library that took another way may take the first one again. */
    got = estimate(sizes, shrinks, 2, 64);
    assert_int_equal(got.likely, 1000);
    assert_int_equal(got.high, 36000);
    /* A recorded size is as recorded. */
    assert_int_equal(estimate(sizes, grows, 2, 32).high, 3700);
}

static void test_one_size_and_hostile_sizes(void **state) {
    (void)state;
    sl_batch_point one = {16, 1000, false};
    sl_batch_estimate got = sl_batch_estimate_at(&one, 1, 64, 1);
    assert_int_equal(got.law, SL_BATCH_ALONE);
    assert_int_equal(got.low, 1000);
    assert_int_equal(got.high, 4000);
    static const uint64_t sizes[] = {1, 2}, huge[] = {UINT64_MAX / 2, UINT64_MAX};
    assert_true(estimate(sizes, huge, 2, 16).high <= (uint64_t)1 << 56);
}

/* Blocks are rounded, so that 1,000 bytes per size are 16,384 and 32,256. */
static void test_rounded_sizes(void **state) {
    (void)state;
    sl_batch_point points[] = {{16, 16384, true}, {32, 32256, true}};
    assert_true(sl_batch_fit_exactly(points, 2));
    assert_int_equal(sl_batch_estimate_at(points, 2, 64, 1).law, SL_BATCH_LINEAR);
    points[0].is_rounded = points[1].is_rounded = false;
    assert_false(sl_batch_fit_exactly(points, 2));
}

/* ---- made recordings ---- */

typedef struct made {
    sl_trace *trace;
    sl_device_trace *device;
    sl_run *run;
    sl_alloc_model *model;
    int64_t now;
    uint32_t stacks[4];
} made;

static void push(made *m, sl_event_kind kind, uint64_t addr, uint64_t bytes, uint32_t stack) {
    sl_event event = {
        .time_us = m->now++, .addr = addr, .size_bytes = bytes, .kind = kind, .stack_id = stack};
    assert_true(sl_events_push(&m->device->events, &event));
}

static void request(made *m, uint32_t slot, uint64_t bytes, uint32_t line) {
    uint64_t before = sl_alloc_model_stats(m->model)->reserved_bytes;
    assert_int_equal(sl_alloc_request(m->model, 0, slot, bytes), SL_ALLOC_DONE);
    uint64_t after = sl_alloc_model_stats(m->model)->reserved_bytes;
    if (after > before)
        push(m, SL_EV_SEGMENT_ALLOC, sl_alloc_addr(m->model, slot), after - before,
             m->stacks[line]);
    push(m, SL_EV_ALLOC, sl_alloc_addr(m->model, slot), bytes, m->stacks[line]);
}

static void give_back(made *m, uint32_t slot, uint64_t bytes) {
    uint64_t addr = sl_alloc_addr(m->model, slot);
    push(m, SL_EV_FREE_REQUESTED, addr, bytes, 0);
    push(m, SL_EV_FREE_COMPLETED, addr, bytes, 0);
    assert_true(sl_alloc_give_back(m->model, slot));
}

static void begin(made *m) {
    sl_alloc_settings settings;
    sl_error err = SL_ERROR_INIT;
    *m = (made){.trace = sl_trace_new("made", SL_SOURCE_TORCH_SNAPSHOT)};
    m->device = sl_trace_device(m->trace, 0);
    m->trace->has_requested_sizes = m->trace->has_time = m->trace->has_event_stacks = true;
    sl_trace_stream(m->trace, 0);
    sl_trace_pool(m->trace, 0, 0);
    uint32_t file = sl_strtab_intern(&m->trace->strings, "/home/me/train.py", 17);
    uint32_t function = sl_strtab_intern(&m->trace->strings, "step", 4);
    for (uint32_t i = 1; i < SL_COUNT_OF(m->stacks); i++) {
        uint32_t frame =
            sl_stacks_intern_frame(&m->trace->stacks, (sl_frame){function, file, 10 * i});
        m->stacks[i] = sl_stacks_intern(&m->trace->stacks, &frame, 1);
    }
    sl_alloc_settings_init(&settings);
    sl_alloc_limits limits = {SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT, 0};
    assert_int_equal(sl_alloc_model_new(&settings, &limits, &(sl_alloc_places){0}, &m->model, &err),
                     SL_OK);
    assert_true(sl_alloc_model_add_group(m->model, 0));
}

/* Weights, and steps of activations that are proportional to the size and freed in the end; without stacks where
 * there is no line. `loops` allocations more each. */
static uint64_t make(made *m, uint64_t size, unsigned steps, uint64_t loops) {
    begin(m);
    for (uint32_t i = 0; i < 20; i++)
        request(m, i, 5 * MIB, 1);
    for (unsigned step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < 20; i++)
            request(m, 100 + i, size * MIB / 4 * (1 + i % 3), i % 2 ? 2 : 0);
        for (uint64_t i = 0; i < loops; i++)
            request(m, 200 + (uint32_t)i, 3 * MIB, 3);
        for (uint64_t i = 0; i < loops; i++)
            give_back(m, 200 + (uint32_t)i, 3 * MIB);
        for (uint32_t i = 0; i < 20; i++)
            give_back(m, 100 + i, size * MIB / 4 * (1 + i % 3));
    }
    return sl_alloc_model_stats(m->model)->reserved_peak;
}

static void finish(made *m) {
    sl_alloc_model_free(m->model);
    sl_run_free(m->run);
    sl_trace_free(m->trace);
}

static sl_batch *ask(made *a, uint64_t a_size, made *b, uint64_t b_size, uint64_t at,
                     uint64_t card) {
    sl_error err = SL_ERROR_INIT;
    sl_batch *batch = NULL;
    sl_batch_input inputs[2] = {{.size = b_size}, {.size = a_size}};
    made *both[2] = {b, a};
    for (size_t i = 0; i < 2; i++) {
        if (!both[i]->run)
            assert_int_equal(
                sl_run_new((const sl_trace *const *)&both[i]->trace, 1, &both[i]->run, &err),
                SL_OK);
        inputs[i].device = &both[i]->run->inputs[0].devices[0];
    }
    sl_batch_options options = {.inputs = inputs,
                                .input_cnt = 2,
                                .sizes = &at,
                                .size_cnt = at != 0,
                                .card_bytes = {card, card != 0}};
    assert_int_equal(sl_batch_new(&options, &batch, &err), SL_OK);
    return batch;
}

static void test_another_size(void **state) {
    (void)state;
    made a, b, real;
    make(&a, 8, 3, 0);
    make(&b, 16, 3, 0);
    uint64_t peak = make(&real, 40, 3, 0);
    sl_batch *batch = ask(&a, 8, &b, 16, 40, peak - 1);
    assert_string_equal(batch->refusal, "");
    assert_int_equal(batch->recordings[0].size, 8);
    assert_int_equal(batch->aligned_cnt, batch->request_cnt);
    assert_int_equal(batch->law_cnt[SL_BATCH_CONSTANT], 20);
    assert_int_equal(batch->law_cnt[SL_BATCH_LINEAR], 60);
    assert_int_equal(batch->rows.at[0].peak, peak);
    assert_int_equal(batch->rows.at[0].verdict, SL_BATCH_MAY_FIT); /* if the cache is flushed */
    assert_true(batch->largest.at[0].size < 40);
    sl_batch_free(batch);
    batch = ask(&a, 8, &b, 16, 40, peak);
    assert_int_equal(batch->rows.at[0].verdict, SL_BATCH_FITS);
    assert_true(batch->largest.at[0].size >= 40);
    assert_true(batch->largest.at[0].high <= peak);
    sl_batch_free(batch);
    batch = ask(&a, 8, &b, 16, 40, 50 * MIB);
    assert_int_equal(batch->rows.at[0].verdict, SL_BATCH_FAILS);
    assert_int_equal(batch->largest.at[0].size, 0);
    sl_batch_free(batch);
    finish(&a);
    finish(&b);
    finish(&real);
}

static void test_sizes_far_beyond_the_recorded_are_refused(void **state) {
    (void)state;
    made a, b;
    sl_error err = SL_ERROR_INIT;
    make(&a, 8, 2, 0);
    make(&b, 16, 2, 0);
    sl_batch *batch = ask(&a, 8, &b, 16, 0, (uint64_t)1 << 40);
    assert_int_equal(batch->largest.at[0].size, 16 * SL_BATCH_REACH);
    assert_true(batch->largest.at[0].is_capped);
    sl_batch_free(batch);
    sl_batch_input inputs[] = {{&a.run->inputs[0].devices[0], 8},
                               {&b.run->inputs[0].devices[0], 16}};
    uint64_t far = 16 * SL_BATCH_REACH + 1;
    sl_batch_options options = {.inputs = inputs, .input_cnt = 2, .sizes = &far, .size_cnt = 1};
    assert_int_equal(sl_batch_new(&options, &batch, &err), SL_E_USAGE);
    finish(&a);
    finish(&b);
}

/* The longer recording is cut where the shorter one ends. */
static void test_more_steps(void **state) {
    (void)state;
    made a, b, real;
    make(&a, 8, 3, 0);
    make(&b, 16, 5, 0);
    uint64_t peak = make(&real, 32, 4, 0);
    sl_batch *batch = ask(&a, 8, &b, 16, 32, 0);
    assert_string_equal(batch->refusal, "");
    assert_int_equal(batch->rows.at[0].peak, peak);
    sl_batch_free(batch);
    finish(&a);
    finish(&b);
    finish(&real);
}

/* A few requests that only one recording has do not shift the pairs after them. */
static void test_a_few_more_requests(void **state) {
    (void)state;
    made a, b;
    make(&a, 8, 3, 0);
    make(&b, 16, 3, 2);
    sl_batch *batch = ask(&a, 8, &b, 16, 32, 0);
    assert_string_equal(batch->refusal, "");
    assert_int_equal(batch->law_cnt[SL_BATCH_ALONE], 6);
    assert_int_equal(batch->law_cnt[SL_BATCH_LINEAR], 60);
    sl_batch_free(batch);
    finish(&a);
    finish(&b);
}

static void test_a_loop_is_refused(void **state) {
    (void)state;
    made a, b;
    make(&a, 40, 3, 200);
    make(&b, 80, 3, 400);
    sl_batch *batch = ask(&a, 40, &b, 80, 160, 0);
    assert_non_null(strstr(batch->refusal, "train.py:30"));
    assert_non_null(strstr(batch->refusal, "600 times with 40 and 1200 times with 80"));
    assert_non_null(strstr(batch->refusal, "loops over the size"));
    assert_int_equal(batch->rows.cnt, 0);
    sl_batch_free(batch);
    finish(&a);
    finish(&b);
}

static void test_a_failed_request_is_refused(void **state) {
    (void)state;
    made a, b;
    make(&a, 8, 3, 0);
    make(&b, 16, 3, 0);
    push(&b, SL_EV_OOM, 1, 999 * MIB, 0);
    sl_batch *batch = ask(&a, 8, &b, 16, 32, 0);
    assert_non_null(strstr(batch->refusal, "a request failed in the recording of 16"));
    sl_batch_free(batch);
    finish(&a);
    finish(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sizes_give_the_formula),
        cmocka_unit_test(test_three_sizes_give_two_terms),
        cmocka_unit_test(test_other_has_a_range),
        cmocka_unit_test(test_one_size_and_hostile_sizes),
        cmocka_unit_test(test_rounded_sizes),
        cmocka_unit_test(test_another_size),
        cmocka_unit_test(test_sizes_far_beyond_the_recorded_are_refused),
        cmocka_unit_test(test_more_steps),
        cmocka_unit_test(test_a_few_more_requests),
        cmocka_unit_test(test_a_loop_is_refused),
        cmocka_unit_test(test_a_failed_request_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
