/* SPDX-License-Identifier: MIT */
/* What would fail first, and why, from real logs of one card of 10,000 MiB. */
#include "api/live/live_failure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/write/log_writer.h"
#include "model/counter_series.h"
#include "sltest.h"

#define MIB (UINT64_C(1) << 20)

static char path[200];

typedef struct card {
    uint64_t free_mib, others_mib, reserved_mib;
    const char *settings; /* PYTORCH_CUDA_ALLOC_CONF; NULL = none */
    bool has_failed;      /* a request failed although the card had room */
    bool has_segments;
} card;

static void put(sl_log *log, uint8_t kind, uint64_t addr, uint64_t size, uint32_t stack,
                uint64_t reserved) {
    sl_log_write(log, &(sl_log_event){.kind = kind,
                                      .addr = addr,
                                      .size = size,
                                      .stack = stack,
                                      .total_allocated = SL_LOG_UNKNOWN,
                                      .total_reserved = reserved});
}

/* Two requests of 200 MiB from train.py:41, the first of them freed; weights of 900 MiB, made once. With segments: one of
 * 1,500 MiB, in which 400 MiB are free in pieces of 200 MiB. */
static void fill(sl_log *log, const card *c) {
    uint64_t base = UINT64_C(0x7f0000000000), reserved = c->reserved_mib * MIB;
    uint32_t file = sl_log_string(log, "/home/user/train.py", 19);
    uint32_t name = sl_log_string(log, "step", 4);
    uint32_t weights = sl_log_stack_child(
        log, 0, sl_log_frame_id(log, &(sl_log_frame){name, file, 7, SL_FRAME_PYTHON}));
    uint32_t step = sl_log_stack_child(
        log, 0, sl_log_frame_id(log, &(sl_log_frame){name, file, 41, SL_FRAME_PYTHON}));
    if (c->has_segments)
        put(log, SL_EV_SEGMENT_ALLOC, base, 1500 * MIB, 0, reserved);
    put(log, SL_EV_ALLOC, base, 900 * MIB, weights, reserved);
    put(log, SL_EV_ALLOC, base + 900 * MIB, 200 * MIB, step, reserved);
    put(log, SL_EV_ALLOC, base + 1100 * MIB, 200 * MIB, step, reserved);
    put(log, SL_EV_FREE, base + 900 * MIB, 200 * MIB, 0, reserved);
    const struct {
        sl_counter_kind kind;
        const char *name;
        uint64_t value;
    } rows[] = {{SL_COUNTER_DEVICE_TOTAL, NULL, 10000 * MIB},
                {SL_COUNTER_DEVICE_USED, NULL, (10000 - c->free_mib) * MIB},
                {SL_COUNTER_CUSTOM, SL_SERIES_OTHER_PROCESSES, c->others_mib * MIB}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        const char *text = rows[i].name ? rows[i].name : "";
        int counter = sl_log_counter(log, rows[i].kind, 0, sl_log_string(log, text, strlen(text)));
        sl_log_counter_set(log, counter, rows[i].value);
    }
    if (c->settings)
        sl_log_mark_number(log, SL_EV_SETTINGS, 0,
                           sl_log_string(log, c->settings, strlen(c->settings)));
    if (c->has_failed)
        sl_log_oom_add(log, &(sl_log_oom){.requested = 200 * MIB,
                                          .allocated = 1100 * MIB,
                                          .reserved = reserved,
                                          .device_free = 5000 * MIB,
                                          .device_total = 10000 * MIB});
}

static sl_live_failure ask(card c) {
    sl_log_options o = {.struct_size = sizeof o, .path = path, .overwrite = true};
    sl_log *log = NULL;
    sl_log_reader *reader = NULL;
    sl_log_tables tables = {0};
    sl_log_counters counters = {0};
    sl_live_failure failure;
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    fill(log, &c);
    sl_log_maintain(log);
    assert_int_equal(sl_log_open(path, &reader, NULL), SL_OK);
    assert_true(sl_log_load_names(reader, NULL) >= 0);
    assert_true(sl_log_load_tables(reader, &tables, NULL) >= 0);
    assert_true(sl_log_load_counters(reader, &counters, NULL) >= 0);
    assert_int_equal(sl_live_failure_find(reader, &counters, &tables, 0, &failure, NULL), SL_OK);
    sl_log_tables_fini(&tables);
    sl_vec_free(&counters);
    sl_log_reader_close(reader);
    sl_log_close(log);
    return failure;
}

static void test_card_full(void **state) {
    (void)state;
    char text[SL_FAILURE_TEXT_CAP];
    sl_live_failure f = ask((card){.free_mib = 50, .reserved_mib = 1500});
    assert_true(f.is_known && sl_live_failure_is_near(&f));
    assert_int_equal(f.cause, SL_FAILURE_CARD);
    assert_string_equal(f.line, "train.py:41"); /* the weights are larger, but do not recur */
    assert_int_equal(f.request_bytes, 200 * MIB);
    assert_int_equal(f.largest_bytes, 50 * MIB);
    assert_false(f.cached_bytes.known); /* without segments nobody knows */
    assert_string_equal(
        sl_live_failure_text(text, &f),
        "if it failed now: train.py:41: the card is full; it asks for 200 MiB, 50.0 MiB fits");
    f = ask((card){.free_mib = 5000, .reserved_mib = 1500});
    assert_false(sl_live_failure_is_near(&f));
    assert_string_equal(
        sl_live_failure_text(text, &f),
        "largest request: train.py:41 asks for 200 MiB, 4.88 GiB fits before the card is full");
}

static void test_pieces(void **state) {
    (void)state;
    sl_live_failure f = ask((card){.free_mib = 50, .reserved_mib = 1500, .has_segments = true});
    assert_int_equal(f.cached_bytes.value, 400 * MIB);
    assert_int_equal(f.piece_bytes.value, 200 * MIB);
    assert_int_equal(f.largest_bytes, 200 * MIB);
    assert_false(sl_live_failure_is_near(&f)); /* one of the pieces is just large enough */
    assert_int_equal(f.cause, SL_FAILURE_FRAGMENTATION);
}

static void test_others(void **state) {
    (void)state;
    sl_live_failure f = ask((card){.free_mib = 50, .others_mib = 8000, .reserved_mib = 1500});
    assert_int_equal(f.cause, SL_FAILURE_OTHERS);
    f = ask((card){.free_mib = 50, .others_mib = 900, .reserved_mib = 1500}); /* not a tenth */
    assert_int_equal(f.cause, SL_FAILURE_CARD);
}

static void test_limit_of_the_process(void **state) {
    (void)state;
    const char *settings = "expandable_segments:True,per_process_memory_fraction:0.16";
    sl_live_failure f = ask((card){.free_mib = 5000, .reserved_mib = 1500, .settings = settings});
    assert_int_equal(f.cause, SL_FAILURE_LIMIT);
    assert_int_equal(f.largest_bytes, 100 * MIB);
    assert_true(sl_live_failure_is_near(&f));
    /* Learnt from a request that failed. */
    f = ask((card){.free_mib = 5000, .reserved_mib = 1500, .has_failed = true});
    assert_int_equal(f.cause, SL_FAILURE_LIMIT);
    assert_int_equal(f.largest_bytes, 0);
}

static void test_nothing_known(void **state) {
    (void)state;
    sl_log_reader *reader = NULL;
    sl_log_tables tables = {0};
    sl_log_counters counters = {0};
    sl_live_failure f;
    char text[SL_FAILURE_TEXT_CAP];
    ask((card){.free_mib = 50});
    assert_int_equal(sl_log_open(path, &reader, NULL), SL_OK);
    assert_int_equal(sl_live_failure_find(reader, &counters, &tables, 0, &f, NULL), SL_OK);
    assert_false(f.is_known);
    assert_string_equal(sl_live_failure_text(text, &f), "");
    sl_log_reader_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_card_full),     cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_others),        cmocka_unit_test(test_limit_of_the_process),
        cmocka_unit_test(test_nothing_known),
    };
    snprintf(path, sizeof path, "/tmp/stormlog-failure-%d.slog", (int)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
