/* SPDX-License-Identifier: MIT */
/* Which blocks are overdue, and when a repaired program frees them: the rules of
 * whatif/whatif_repair.h one by one. */
#include "sltest.h"

#include <stdlib.h>
#include <string.h>

#include "whatif/whatif.h"

#define MIB   ((uint64_t)1 << 20)
#define STEPS 8

/* Each line of the made-up program makes blocks of one size, so that a block is known by its size. */
enum { WEIGHT = 1, KEPT = 2, HELD = 3, TEMP = 4, CACHE = 5, SHRINKS = 6 };

typedef struct made {
    sl_trace *trace;
    sl_device_trace *device;
    sl_alloc_model *model;
    sl_run *run;
    sl_calls *calls;
    sl_repairs repairs;
    uint32_t stacks[8];
    uint64_t bytes[64]; /* by slot */
    int64_t now_us;
} made;

static void push(made *m, sl_event_kind kind, uint64_t addr, uint64_t bytes, uint32_t stack) {
    sl_event event = {
        .time_us = m->now_us++, .addr = addr, .size_bytes = bytes, .stack_id = stack, .kind = kind};
    assert_true(sl_events_push(&m->device->events, &event));
}

static void take(made *m, uint32_t slot, unsigned line, uint64_t bytes) {
    uint64_t before = sl_alloc_model_stats(m->model)->reserved_bytes;
    assert_int_equal(sl_alloc_request(m->model, 0, slot, bytes), SL_ALLOC_DONE);
    uint64_t more = sl_alloc_model_stats(m->model)->reserved_bytes - before;
    if (more)
        push(m, SL_EV_SEGMENT_ALLOC, sl_alloc_addr(m->model, slot), more, m->stacks[line]);
    push(m, SL_EV_ALLOC, sl_alloc_addr(m->model, slot), bytes, m->stacks[line]);
    m->bytes[slot] = bytes;
}

static void give(made *m, uint32_t slot) {
    uint64_t addr = sl_alloc_addr(m->model, slot);
    push(m, SL_EV_FREE_REQUESTED, addr, m->bytes[slot], 0);
    push(m, SL_EV_FREE_COMPLETED, addr, m->bytes[slot], 0);
    assert_true(sl_alloc_give_back(m->model, slot));
}

static uint32_t make_stack(made *m, uint32_t line) {
    static const char file[] = "/home/user/train.py", name[] = "step";
    sl_frame frame = {sl_strtab_intern(&m->trace->strings, name, strlen(name)),
                      sl_strtab_intern(&m->trace->strings, file, strlen(file)), line};
    uint32_t id = sl_stacks_intern_frame(&m->trace->stacks, frame);
    return sl_stacks_intern(&m->trace->stacks, &id, 1);
}

static void make_step(made *m, uint32_t step) {
    if (step)
        assert_true(
            sl_vec_push(&m->trace->marks,
                        ((sl_mark){.time_us = m->now_us++, .number = step, .kind = SL_MARK_STEP})));
    take(m, 10 + step % 2, TEMP, 40 * MIB); /* gone within its step */
    give(m, 10 + step % 2);
    take(m, 20 + step, KEPT, 20 * MIB); /* never freed */
    take(m, 2 + step % 2, HELD, 30 * MIB);
    take(m, 40 + step % 4, CACHE, 50 * MIB);
    if (step >= 3)
        give(m, 40 + (step + 1) % 4); /* three are kept */
    take(m, 50 + step, SHRINKS,
         (uint64_t)(64 * MIB) >> 2 * step); /* each far smaller than the last */
    if (step)
        give(m, 2 + (step - 1) % 2); /* the one of the step before, after its successor */
}

static void make(made *m) {
    sl_error err = SL_ERROR_INIT;
    sl_alloc_settings settings;
    sl_alloc_limits limits = {SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT, 0};
    *m = (made){.trace = sl_trace_new("made", SL_SOURCE_TORCH_SNAPSHOT), .now_us = 1};
    m->device = sl_trace_device(m->trace, 0);
    m->trace->has_requested_sizes = m->trace->has_time = m->trace->has_event_stacks = true;
    sl_trace_stream(m->trace, 0);
    sl_trace_pool(m->trace, 0, 0);
    sl_alloc_settings_init(&settings);
    assert_int_equal(sl_alloc_model_new(&settings, &limits, &(sl_alloc_places){0}, &m->model, &err),
                     SL_OK);
    assert_true(sl_alloc_model_add_group(m->model, 0));
    for (uint32_t i = 1; i < 8; i++)
        m->stacks[i] = make_stack(m, 10 * i);
    take(m, 0, WEIGHT, 10 * MIB);
    for (uint32_t step = 0; step < STEPS; step++)
        make_step(m, step);
    assert_int_equal(sl_run_new((const sl_trace *const *)&m->trace, 1, &m->run, &err), SL_OK);
    assert_int_equal(sl_calls_new(&m->run->inputs[0].devices[0], &m->calls, &err), SL_OK);
    assert_int_equal(sl_repairs_init(&m->repairs, m->calls, &err), SL_OK);
}

static void unmake(made *m) {
    sl_repairs_fini(&m->repairs);
    sl_calls_free(m->calls);
    sl_run_free(m->run);
    sl_alloc_model_free(m->model);
    sl_trace_free(m->trace);
}

/* How many blocks of a line are overdue in this way. */
static size_t count(const made *m, unsigned line, sl_overdue how) {
    const sl_replay *replay = m->calls->replay;
    size_t cnt = 0;
    for (size_t i = 0; i < replay->lives.cnt; i++)
        cnt += replay->lives.at[i].stack_id == m->stacks[line] && m->repairs.overdue[i] == how;
    return cnt;
}

static void test_overdue(void **state) {
    (void)state;
    made m;
    make(&m);
    assert_true(m.repairs.step_cnt >= STEPS - 1);
    assert_int_equal(count(&m, WEIGHT, SL_OVERDUE_NOT), 1);
    assert_int_equal(count(&m, TEMP, SL_OVERDUE_NOT), STEPS);
    assert_int_equal(count(&m, SHRINKS, SL_OVERDUE_NOT), STEPS);
    assert_true(count(&m, KEPT, SL_OVERDUE_NEVER) >= STEPS - 3);
    assert_int_equal(count(&m, KEPT, SL_OVERDUE_KEPT), 0);
    assert_true(count(&m, HELD, SL_OVERDUE_LATE) >= STEPS - 2);
    assert_int_equal(count(&m, HELD, SL_OVERDUE_KEPT) + count(&m, HELD, SL_OVERDUE_NEVER), 0);
    assert_true(count(&m, CACHE, SL_OVERDUE_KEPT) >= 3);
    unmake(&m);
}

/* (L2): with marked steps, the first event of the next one. */
static void test_end_of_step(void **state) {
    (void)state;
    made m;
    const sl_steps *steps;
    sl_error err = SL_ERROR_INIT;
    make(&m);
    assert_int_equal(sl_run_steps(&m.run->inputs[0].devices[0], &steps, &err), SL_OK);
    assert_true(steps->is_marked);
    for (size_t i = 0; i < m.calls->replay->lives.cnt; i++) {
        uint32_t event = m.repairs.free_event[i];
        if (!m.repairs.overdue[i]) {
            assert_int_equal(event, SL_EVENT_NEVER);
            continue;
        }
        const sl_life *life = &m.calls->replay->lives.at[i];
        size_t step = sl_steps_at(steps, life->begin_event);
        assert_int_equal(event, steps->borders.at[step + 1]);
        assert_true(event > life->begin_event && event < life->drop_event);
    }
    unmake(&m);
}

/* A repair that is replayed and one that has become part of the calls are the same. */
static void test_apply(void **state) {
    (void)state;
    made m;
    sl_error err = SL_ERROR_INIT;
    sl_repair late = {0};
    sl_pass recorded, replayed, applied;
    uint64_t freed_cnt;
    make(&m);
    sl_pass_options options = {.settings = m.calls->settings, .limit_bytes = SL_ALLOC_NO_LIMIT};
    assert_int_equal(sl_pass_run(m.calls, &options, &recorded, &err), SL_OK);
    assert_true(sl_repair_add_late(&late, &m.repairs));
    options.repair = &late;
    assert_int_equal(sl_pass_run(m.calls, &options, &replayed, &err), SL_OK);
    assert_true(replayed.stats.active_peak < recorded.stats.active_peak);
    assert_int_equal(replayed.request_cnt, recorded.request_cnt);
    size_t call_cnt = m.calls->list.cnt;
    assert_int_equal(sl_calls_apply(m.calls, &late, &freed_cnt, &err), SL_OK);
    assert_int_equal(freed_cnt, late.frees.cnt);
    assert_int_equal(m.calls->list.cnt, call_cnt); /* frees have moved */
    options.repair = NULL;
    assert_int_equal(sl_pass_run(m.calls, &options, &applied, &err), SL_OK);
    assert_memory_equal(&applied.stats, &replayed.stats, sizeof applied.stats);
    sl_repair_fini(&late);
    unmake(&m);
}

static void test_answer(void **state) {
    (void)state;
    made m;
    sl_error err = SL_ERROR_INIT;
    sl_whatif *answer;
    make(&m);
    sl_whatif_options options = {.thread_cnt = 2, .placement_cnt = 1, .wants_lines = true};
    assert_int_equal(sl_whatif_new(&m.run->inputs[0].devices[0], &options, &answer, &err), SL_OK);
    assert_true(answer->lines.is_known && answer->lines.at.cnt >= 2);
    unsigned leaks = 0, others = 0;
    for (size_t i = 0; i < answer->lines.at.cnt; i++) {
        const sl_whatif_line *line = &answer->lines.at.at[i];
        bool is_kept = line->site.stack_id == m.stacks[KEPT];
        assert_int_equal(line->kind, is_kept ? SL_REPAIR_LEAK : SL_REPAIR_EARLY);
        *(is_kept ? &leaks : &others) += 1;
        assert_int_equal(line->saves + line->peak, answer->lines.peak);
    }
    assert_int_equal(leaks, 1);
    assert_true(others >= 1);
    sl_whatif_free(answer);
    unmake(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overdue),
        cmocka_unit_test(test_end_of_step),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
