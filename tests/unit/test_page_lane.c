/* SPDX-License-Identifier: MIT */
#include "page/page_lane.h"

#include <string.h>

#include "sltest.h"

typedef struct bench {
    sl_trace *trace;
    sl_device_trace *device;
    sl_run *run;
    sl_page_names names;
    sl_page_source source;
    sl_page_lane lane;
} bench;

static const sl_page_budget roomy = {.bins = 1000,
                                     .columns = 100,
                                     .blocks = 1000,
                                     .stacks = 100,
                                     .cells = 10000,
                                     .segments = 100,
                                     .end_blocks = 100};

static void open_bench(bench *b) {
    *b = (bench){.trace = sl_trace_new("x", SL_SOURCE_TORCH_SNAPSHOT)};
    b->trace->has_time = b->trace->has_requested_sizes = b->trace->has_event_stacks = true;
    b->device = sl_trace_device(b->trace, 0);
    sl_trace_stream(b->trace, 0);
}

static uint32_t stack_at(bench *b, uint32_t line) {
    sl_frame frame = {sl_strtab_intern(&b->trace->strings, "f", 1),
                      sl_strtab_intern(&b->trace->strings, "a.py", 4), line};
    uint32_t id = sl_stacks_intern_frame(&b->trace->stacks, frame);
    return sl_stacks_intern(&b->trace->stacks, &id, 1);
}

static void push(bench *b, sl_event_kind kind, uint64_t addr, uint64_t size, uint32_t line) {
    sl_event event = {.time_us = 1000 + (int64_t)b->device->events.cnt * 10,
                      .addr = addr,
                      .size_bytes = size,
                      .stack_id = line ? stack_at(b, line) : SL_STACK_EMPTY,
                      .kind = kind};
    assert_true(sl_events_push(&b->device->events, &event));
}

/* The same inside a module, with a tag. */
static void push_tagged(bench *b, uint64_t addr, uint64_t size, sl_tag tag, const char *module) {
    uint32_t frames[2];
    size_t depth = 0;
    if (module) {
        sl_frame frame = {sl_strtab_intern(&b->trace->strings, module, strlen(module)),
                          sl_strtab_intern(&b->trace->strings, SL_MODULE_FRAME_FILE,
                                           sizeof SL_MODULE_FRAME_FILE - 1),
                          0};
        frames[depth++] = sl_stacks_intern_frame(&b->trace->stacks, frame);
    }
    uint32_t line = stack_at(b, 1); /* grows the tables */
    frames[depth++] = b->trace->stacks.frame_ids.at[b->trace->stacks.spans.at[line].first];
    sl_event event = {.time_us = 1000 + (int64_t)b->device->events.cnt * 10,
                      .addr = addr,
                      .size_bytes = size,
                      .stack_id = sl_stacks_intern(&b->trace->stacks, frames, depth),
                      .kind = SL_EV_ALLOC,
                      .tag = tag};
    b->trace->has_tags = true;
    assert_true(sl_events_push(&b->device->events, &event));
}

static void build(bench *b, sl_page_budget budget) {
    const sl_trace *trace = b->trace;
    const sl_sites *lines;
    assert_int_equal(sl_run_new(&trace, 1, &b->run, NULL), SL_OK);
    assert_int_equal(sl_run_lines(&b->run->inputs[0], &lines, NULL), SL_OK);
    sl_page_names_init(&b->names);
    assert_true(sl_page_source_init(&b->source, &b->names, lines));
    b->lane.of = &b->run->inputs[0].devices[0];
    b->lane.trace = b->trace;
    b->lane.device = b->device;
    b->lane.source = &b->source;
    b->lane.budget = budget;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_page_lane_build(&b->lane, &err), SL_OK);
}

static void close_bench(bench *b) {
    sl_page_lane_fini(&b->lane);
    sl_page_source_fini(&b->source);
    sl_page_names_fini(&b->names);
    sl_run_free(b->run);
    sl_trace_free(b->trace);
}

/* Value number `at` of a column, decoded as the page does. */
static int64_t value_at(const bench *b, sl_page_column column, bool is_delta, size_t at) {
    const sl_page_bytes *bytes = &b->lane.columns.at[column];
    int64_t value = 0;
    const uint8_t *next = bytes->bytes.at;
    assert_true(at < bytes->cnt);
    for (size_t i = 0; i <= at; i++) {
        uint64_t raw = 0;
        for (int shift = 0;; shift += 7) {
            raw |= (uint64_t)(*next & 0x7f) << shift;
            if (!(*next++ & 0x80))
                break;
        }
        if (is_delta)
            value += (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
        else
            value = (int64_t)raw;
    }
    return value;
}

static size_t count(const bench *b, sl_page_column column) {
    return b->lane.columns.at[column].cnt;
}

static void a_curve_keeps_every_event_where_there_is_room(void **state) {
    SL_UNUSED(state);
    static bench b; /* too large for a stack frame */
    open_bench(&b);
    push(&b, SL_EV_ALLOC, 4096, 1000, 1);
    push(&b, SL_EV_ALLOC, 8192, 500, 2);
    push(&b, SL_EV_FREE, 4096, 1000, 1);
    build(&b, roomy);
    assert_int_equal(b.lane.bin_events, 1);
    static const int64_t last[] = {1000, 1500, 500};
    for (size_t i = 0; i < SL_COUNT_OF(last); i++)
        assert_int_equal(value_at(&b, SL_PAGE_CURVE_LAST, true, i), last[i]);
    assert_int_equal(value_at(&b, SL_PAGE_CURVE_TIME, true, 2), 20);
    assert_int_equal(b.lane.peak.bytes, 1500);
    close_bench(&b);
}

static void a_bin_keeps_a_peak_that_is_over_within_it(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    push(&b, SL_EV_ALLOC, 4096, 100, 1);
    push(&b, SL_EV_ALLOC, 8192, 9000, 2);
    push(&b, SL_EV_FREE, 8192, 9000, 2);
    push(&b, SL_EV_FREE, 4096, 100, 1);
    sl_page_budget tight = roomy;
    tight.bins = 1;
    build(&b, tight);
    assert_int_equal(b.lane.bin_events, 4);
    assert_int_equal(value_at(&b, SL_PAGE_CURVE_MAX, true, 0), 9100);
    assert_int_equal(value_at(&b, SL_PAGE_CURVE_AT, false, 0), 1);
    assert_int_equal(value_at(&b, SL_PAGE_CURVE_MIN, true, 0), 0);
    assert_int_equal(value_at(&b, SL_PAGE_CURVE_LAST, true, 0), 0);
    close_bench(&b);
}

static void blocks_from_before_and_never_freed_are_distinguished(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    push(&b, SL_EV_FREE, 4096, 300, 0);
    push(&b, SL_EV_ALLOC, 8192, 500, 2);
    build(&b, roomy);
    assert_int_equal(count(&b, SL_PAGE_BLOCKS_BEGIN), 2);
    assert_int_equal(value_at(&b, SL_PAGE_BLOCKS_BEGIN, true, 0), -1);
    assert_int_equal(value_at(&b, SL_PAGE_BLOCKS_LIFE, false, 0), 1);
    assert_int_equal(value_at(&b, SL_PAGE_BLOCKS_FLAGS, false, 0), 1);
    assert_int_equal(value_at(&b, SL_PAGE_BLOCKS_BEGIN, true, 1), 1);
    assert_int_equal(value_at(&b, SL_PAGE_BLOCKS_FLAGS, false, 1), 2);
    assert_int_equal(b.lane.start.requested_bytes, 300);
    close_bench(&b);
}

/* Steps of ten equal blocks: a tenth of the budget each, not the first steps in full. */
static void equal_blocks_are_sampled_evenly(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint64_t i = 0; i < 1000; i++) {
        push(&b, SL_EV_ALLOC, 4096 + i * 512, 512, 1);
        push(&b, SL_EV_FREE, 4096 + i * 512, 512, 1);
    }
    sl_page_budget tight = roomy;
    tight.blocks = 100;
    build(&b, tight);
    assert_int_equal(b.lane.blocks_kept, 100);
    assert_int_equal(b.lane.blocks_total, 1000);
    assert_int_equal(b.lane.largest_left_bytes, 512);
    size_t in_last_tenth = 0;
    for (size_t i = 0; i < 100; i++)
        in_last_tenth += value_at(&b, SL_PAGE_BLOCKS_BEGIN, true, i) >= 1800;
    assert_in_range(in_last_tenth, 8, 12);
    close_bench(&b);
}

static void the_largest_blocks_are_kept_first(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint64_t i = 0; i < 500; i++) {
        push(&b, SL_EV_ALLOC, 65536 * (i + 1), 1 + i * 37 % 500, 1);
        push(&b, SL_EV_FREE, 65536 * (i + 1), 1 + i * 37 % 500, 1);
    }
    sl_page_budget tight = roomy;
    tight.blocks = 40;
    build(&b, tight);
    size_t largest = 0;
    for (size_t i = 0; i < 40; i++)
        largest += value_at(&b, SL_PAGE_BLOCKS_SIZE, false, i) > 480;
    assert_int_equal(largest, 20);
    assert_int_equal(b.lane.blocks_kept, 40);
    close_bench(&b);
}

/* Without room for every block, exact sums are at checkpoints, from before the start to the end. */
static void checkpoints_add_up_to_the_totals(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint64_t i = 0; i < 300; i++)
        push(&b, SL_EV_ALLOC, 4096 + i * 512, 100 + i, 1 + (uint32_t)(i % 3));
    sl_page_budget tight = roomy;
    tight.blocks = 10;
    build(&b, tight);
    size_t rows = count(&b, SL_PAGE_MATRIX_STACK), columns = count(&b, SL_PAGE_MATRIX_EVENT);
    assert_int_equal(rows, 3);
    assert_int_equal(value_at(&b, SL_PAGE_MATRIX_EVENT, true, 0), -1);
    assert_int_equal(value_at(&b, SL_PAGE_MATRIX_EVENT, true, columns - 1), 299);
    int64_t first = 0, last = 0, allocs = 0;
    for (size_t row = 0; row < rows; row++) {
        first += value_at(&b, SL_PAGE_MATRIX_LIVE, true, row * columns);
        last += value_at(&b, SL_PAGE_MATRIX_LIVE, true, row * columns + columns - 1);
        allocs += value_at(&b, SL_PAGE_MATRIX_ALLOCS, true, row * columns + columns - 1);
    }
    assert_int_equal(first, 0);
    assert_int_equal(last, b.lane.end.requested_bytes);
    assert_int_equal(allocs, 300);
    close_bench(&b);
}

static void lines_have_their_own_peak_and_median_life(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint64_t i = 0; i < 3; i++) {
        push(&b, SL_EV_ALLOC, 4096, 700, 1);
        push(&b, SL_EV_FREE, 4096, 700, 1);
    }
    push(&b, SL_EV_ALLOC, 8192, 50, 2);
    build(&b, roomy);
    assert_int_equal(count(&b, SL_PAGE_SITES_FRAME), 2);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_PEAK, false, 0), 700);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_LIVE, false, 0), 0);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_MEDIAN_LIFE_US, false, 0), 10);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_ALLOC_BYTES, false, 0), 2100);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_BLOCKS, false, 1), 1);
    close_bench(&b);
}

/* More stacks than are kept whole: the others are folded, and no byte is lost. */
static void folded_stacks_keep_their_line(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint32_t i = 0; i < 50; i++)
        push(&b, SL_EV_ALLOC, 4096 + (uint64_t)i * 512, 512 - i, 1 + i);
    sl_page_budget tight = roomy;
    tight.stacks = 10;
    build(&b, tight);
    assert_int_equal(b.lane.stacks_met, 50);
    assert_int_equal(b.lane.stacks_kept, 10);
    assert_int_equal(count(&b, SL_PAGE_SITES_FRAME), 50);
    close_bench(&b);
}

/* Value of group `label` in the last column. */
static int64_t last_of_group(const bench *b, const sl_page_groups *groups, sl_page_column column,
                             const char *label) {
    size_t columns = count(b, SL_PAGE_GROUPS_EVENT);
    for (size_t g = 0; g < groups->cnt; g++)
        if (strcmp(groups->at[g].label, label) == 0)
            return value_at(b, column, true, g * columns + columns - 1);
    fail_msg("no group '%s'", label);
    return -1;
}

static void bytes_split_by_tag_and_by_module(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    push_tagged(&b, 4096, 1000, SL_TAG_PARAMETER, NULL);
    push_tagged(&b, 8192, 300, SL_TAG_ACTIVATION, "encoder.0");
    push_tagged(&b, 16384, 40, SL_TAG_ACTIVATION, "encoder.1");
    push_tagged(&b, 32768, 5, SL_TAG_UNKNOWN, "encoder.1");
    build(&b, roomy);
    assert_int_equal(b.lane.tags.cnt, 3);
    assert_string_equal(b.lane.tags.at[0].label, "parameter");
    assert_string_equal(b.lane.tags.at[2].label, "unknown"); /* last, though it is tag 0 */
    assert_int_equal(last_of_group(&b, &b.lane.tags, SL_PAGE_GROUPS_TAG, "parameter"), 1000);
    assert_int_equal(last_of_group(&b, &b.lane.tags, SL_PAGE_GROUPS_TAG, "activation"), 340);
    assert_int_equal(last_of_group(&b, &b.lane.tags, SL_PAGE_GROUPS_TAG, "unknown"), 5);
    assert_int_equal(b.lane.modules.cnt, 3);
    assert_int_equal(last_of_group(&b, &b.lane.modules, SL_PAGE_GROUPS_MODULE, "encoder.1"), 45);
    assert_int_equal(
        last_of_group(&b, &b.lane.modules, SL_PAGE_GROUPS_MODULE, "outside any module"), 1000);
    assert_int_equal(value_at(&b, SL_PAGE_BLOCKS_TAG, false, 1), SL_TAG_ACTIVATION);
    close_bench(&b);
}

/* A line has the tag of most of its bytes, and the set of all tags of its blocks. */
static void a_line_has_the_tags_of_its_bytes(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    push_tagged(&b, 4096, 10, SL_TAG_PARAMETER, NULL);
    push_tagged(&b, 8192, 300, SL_TAG_GRADIENT, NULL);
    push_tagged(&b, 16384, 5, SL_TAG_UNKNOWN, NULL);
    build(&b, roomy);
    assert_int_equal(count(&b, SL_PAGE_SITES_TAG), 1);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_TAG, false, 0), SL_TAG_GRADIENT);
    assert_int_equal(value_at(&b, SL_PAGE_SITES_TAGS, false, 0),
                     1 << SL_TAG_PARAMETER | 1 << SL_TAG_GRADIENT | 1 << SL_TAG_UNKNOWN);
    close_bench(&b);
}

static void without_tags_and_modules_there_are_no_such_columns(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    push(&b, SL_EV_ALLOC, 4096, 10, 1);
    build(&b, roomy);
    assert_int_equal(count(&b, SL_PAGE_GROUPS_TAG) + count(&b, SL_PAGE_GROUPS_MODULE), 0);
    assert_int_equal(count(&b, SL_PAGE_BLOCKS_TAG) + count(&b, SL_PAGE_SITES_TAG), 0);
    assert_int_equal(b.lane.tags.cnt + b.lane.modules.cnt, 0);
    assert_int_equal(count(&b, SL_PAGE_GROUPS_LINE), 1);
    close_bench(&b);
}

/* Bytes of all groups of the split by module in its last column. */
static int64_t module_sum(bench *b) {
    size_t columns = count(b, SL_PAGE_GROUPS_EVENT);
    int64_t sum = 0;
    for (size_t g = 0; g < b->lane.modules.cnt; g++)
        sum += value_at(b, SL_PAGE_GROUPS_MODULE, true, g * columns + columns - 1);
    return sum;
}

/* More modules than groups: the smallest share the last one, and no byte is lost. */
static void the_largest_modules_have_a_group_each(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint64_t i = 0; i < 20; i++) {
        char module[32];
        snprintf(module, sizeof module, "layer.%u", (unsigned)i);
        push_tagged(&b, 4096 * (i + 1), i < 9 ? 100 + i : 1000 + i, SL_TAG_ACTIVATION, module);
    }
    build(&b, roomy);
    const sl_page_groups *modules = &b.lane.modules;
    assert_int_equal(modules->cnt, SL_PAGE_GROUPS);
    assert_string_equal(modules->at[0].label, "layer.19");
    assert_string_equal(modules->at[SL_PAGE_GROUPS - 1].label, "9 more, the largest 108 B");
    assert_true(modules->at[SL_PAGE_GROUPS - 1].is_rest && !modules->at[0].is_rest);
    assert_int_equal(module_sum(&b), b.lane.end.requested_bytes);
    close_bench(&b);
}

/* Where that would hide more than a quarter of the memory, more of them have a group. */
static void the_last_group_is_less_than_a_quarter(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    for (uint64_t i = 0; i < 36; i++) {
        char module[32];
        snprintf(module, sizeof module, "layer.%u", (unsigned)i);
        push_tagged(&b, 4096 * (i + 1), 100, SL_TAG_ACTIVATION, module);
    }
    build(&b, roomy);
    assert_int_equal(b.lane.modules.cnt, 27 + 1);
    assert_string_equal(b.lane.modules.at[27].label, "9 more, the largest 100 B");
    assert_int_equal(module_sum(&b), b.lane.end.requested_bytes);
    close_bench(&b);
}

static void an_empty_device_has_no_columns(void **state) {
    SL_UNUSED(state);
    static bench b;
    open_bench(&b);
    build(&b, roomy);
    assert_int_equal(count(&b, SL_PAGE_CURVE_TIME), 0);
    assert_int_equal(count(&b, SL_PAGE_BLOCKS_BEGIN), 0);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_keeps_every_event_where_there_is_room),
        cmocka_unit_test(a_bin_keeps_a_peak_that_is_over_within_it),
        cmocka_unit_test(blocks_from_before_and_never_freed_are_distinguished),
        cmocka_unit_test(equal_blocks_are_sampled_evenly),
        cmocka_unit_test(the_largest_blocks_are_kept_first),
        cmocka_unit_test(checkpoints_add_up_to_the_totals),
        cmocka_unit_test(lines_have_their_own_peak_and_median_life),
        cmocka_unit_test(folded_stacks_keep_their_line),
        cmocka_unit_test(bytes_split_by_tag_and_by_module),
        cmocka_unit_test(a_line_has_the_tags_of_its_bytes),
        cmocka_unit_test(without_tags_and_modules_there_are_no_such_columns),
        cmocka_unit_test(the_largest_modules_have_a_group_each),
        cmocka_unit_test(the_last_group_is_less_than_a_quarter),
        cmocka_unit_test(an_empty_device_has_no_columns),
    };
    return cmocka_run_group_tests_name("page_lane", tests, NULL, NULL);
}
