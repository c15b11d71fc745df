/* SPDX-License-Identifier: MIT */
/* The replay against an allocator that knows the truth, against a naive replay, and against the
 * numbers PyTorch printed on the H200. */
#include <stdio.h>
#include <string.h>

#include "sltest.h"

#include "fake_alloc.h"
#include "read/core/source.h"
#include "run/blocks/replay.h"

typedef struct held {
    uint64_t addr[512];
    size_t cnt;
} held;

static uint64_t random_size(fake_alloc *fake) {
    switch (fake_random(&fake->seed, 4)) {
    case 0: return 1 + fake_random(&fake->seed, 2000);
    case 1: return 1 + fake_random(&fake->seed, FAKE_MIB);
    case 2: return FAKE_MIB + fake_random(&fake->seed, 9 * FAKE_MIB);
    default: return 10 * FAKE_MIB + fake_random(&fake->seed, 30 * FAKE_MIB);
    }
}

/* One random thing; pending frees come in pairs that are apart. */
static void random_event(fake_alloc *fake, held *live, held *pending) {
    uint64_t what = fake_random(&fake->seed, 100);
    if (live->cnt < 300 && (what < 52 || !live->cnt)) {
        live->addr[live->cnt++] =
            fake_malloc(fake, random_size(fake), (uint32_t)fake_random(&fake->seed, 1));
        return;
    }
    size_t i = (size_t)fake_random(&fake->seed, live->cnt);
    uint64_t addr = live->addr[i];
    if (what < 90) {
        live->addr[i] = live->addr[--live->cnt];
        fake_free(fake, addr);
    } else if (what < 94 && pending->cnt < 100) {
        live->addr[i] = live->addr[--live->cnt];
        fake_drop(fake, addr);
        pending->addr[pending->cnt++] = addr;
    } else if (what < 98 && pending->cnt) {
        fake_complete(fake, pending->addr[--pending->cnt]);
    } else if (what == 99) {
        fake_empty_cache(fake);
    }
}

static fake_alloc *random_trace(uint64_t seed, size_t before, size_t recorded) {
    fake_alloc *fake = fake_new(seed);
    static held live, pending;
    live.cnt = pending.cnt = 0;
    fake->is_recording = false;
    for (size_t i = 0; i < before; i++)
        random_event(fake, &live, &pending);
    while (pending.cnt)
        fake_complete(fake, pending.addr[--pending.cnt]);
    fake->is_recording = true;
    fake_peaks(fake);
    for (size_t i = 0; i < recorded; i++)
        random_event(fake, &live, &pending);
    fake_finish(fake);
    return fake;
}

static sl_replay *replay_of(const sl_trace *trace, size_t device) {
    sl_replay *replay = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_replay_new(trace, trace->devices.at[device], &replay, &err), SL_OK);
    return replay;
}

static void test_totals_equal_those_of_the_allocator(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fake_alloc *fake = random_trace(seed, 0, 1500);
        sl_replay *replay = replay_of(fake->trace, 0);
        assert_int_equal(replay->end.requested_bytes, fake->requested);
        assert_int_equal(replay->end.active_bytes, fake->active);
        assert_int_equal(replay->end.allocated_bytes, fake->allocated);
        assert_int_equal(replay->end.reserved_bytes, fake->reserved);
        assert_int_equal(replay->peak_requested.bytes, fake->peak_requested);
        assert_int_equal(replay->peak_active.bytes, fake->peak_active);
        assert_int_equal(replay->peak_allocated.bytes, fake->peak_allocated);
        assert_int_equal(replay->peak_reserved.bytes, fake->peak_reserved);
        assert_int_equal(replay->rounded_by_rule, 0);
        assert_int_equal(replay->lost_frees, 0);
        assert_true(replay->identity_holds);
        sl_replay_free(replay);
        fake_free_all(fake);
    }
}

/* Recording that begins late: requested bytes, the reserved curve and the end stay exact. A block
 * from before the trace that is freed in it may have been up to 1 MiB larger than its request
 * where free space lies after it, so rounded peaks may fall short by that, never exceed. */
static void test_a_trace_that_begins_late(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fake_alloc *fake = random_trace(seed, 700, 900);
        sl_replay *replay = replay_of(fake->trace, 0);
        assert_true(replay->unmatched_frees > 0);
        assert_true(replay->identity_holds);
        assert_int_equal(replay->end.requested_bytes, fake->requested);
        assert_int_equal(replay->peak_requested.bytes, fake->peak_requested);
        assert_int_equal(replay->peak_reserved.bytes, fake->peak_reserved);
        assert_int_equal(replay->end.active_bytes, fake->active);
        assert_true(replay->peak_active.bytes <= fake->peak_active);
        assert_true(replay->peak_active.bytes + replay->unmatched_frees * FAKE_MIB >=
                    fake->peak_active);
        sl_replay_free(replay);
        fake_free_all(fake);
    }
}

static bool naive_is_live(const sl_life *life, uint32_t event) {
    bool has_begun = life->begin_event == SL_EVENT_BEFORE ||
                     (event != SL_EVENT_BEFORE && life->begin_event <= event);
    bool has_ended = event != SL_EVENT_BEFORE && life->end_event <= event;
    return has_begun && !has_ended;
}

static void test_live_set_equals_a_scan(void **state) {
    (void)state;
    for (uint64_t seed = 50; seed < 60; seed++) {
        fake_alloc *fake = random_trace(seed, 300, 2500);
        sl_replay *replay = replay_of(fake->trace, 0);
        for (int q = 0; q < 60; q++) {
            uint32_t event =
                q == 0 ? SL_EVENT_BEFORE : (uint32_t)fake_random(&fake->seed, replay->event_cnt);
            sl_life_ids ids = {0};
            assert_true(sl_replay_live_at(replay, event, &ids));
            size_t next = 0;
            for (uint32_t i = 0; i < replay->lives.cnt; i++) {
                if (!naive_is_live(&replay->lives.at[i], event))
                    continue;
                assert_true(next < ids.cnt);
                assert_int_equal(ids.at[next++], i);
            }
            assert_int_equal(next, ids.cnt);
            sl_vec_free(&ids);
        }
        sl_replay_free(replay);
        fake_free_all(fake);
    }
}

static void test_iteration_agrees_with_totals_at(void **state) {
    (void)state;
    fake_alloc *fake = random_trace(77, 200, 800);
    sl_replay *replay = replay_of(fake->trace, 0);
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    while (sl_replay_walk_next(&walk)) {
        sl_replay_totals totals;
        assert_true(sl_replay_totals_at(replay, walk.next - 1, &totals));
        assert_memory_equal(&totals, &walk.totals, sizeof totals);
    }
    assert_memory_equal(&walk.totals, &replay->end, sizeof walk.totals);
    sl_replay_free(replay);
    fake_free_all(fake);
}

/* Extents tile the segments: no gap, no overlap, no two free neighbours in one segment. */
static void test_geometry_tiles_the_segments(void **state) {
    (void)state;
    for (uint64_t seed = 5; seed < 15; seed++) {
        fake_alloc *fake = random_trace(seed, 100, 900);
        sl_replay *replay = replay_of(fake->trace, 0);
        for (uint32_t event = 0; event < replay->event_cnt; event += 37) {
            sl_extents extents = {0};
            sl_replay_totals totals;
            assert_true(sl_replay_geometry_at(replay, event, &extents));
            assert_true(sl_replay_totals_at(replay, event, &totals));
            uint64_t used = 0, all = 0;
            for (size_t i = 0; i < extents.cnt; i++) {
                const sl_extent *e = &extents.at[i];
                all += e->bytes;
                used += e->life_idx == SL_IDX_NONE ? 0 : e->bytes;
                if (i == 0)
                    continue;
                const sl_extent *before = e - 1;
                assert_true(before->addr + before->bytes <= e->addr);
                if (before->segment_idx == e->segment_idx) {
                    assert_int_equal(before->addr + before->bytes, e->addr);
                    assert_true(before->life_idx != SL_IDX_NONE || e->life_idx != SL_IDX_NONE);
                }
            }
            assert_int_equal(all, totals.reserved_bytes);
            assert_int_equal(used, totals.active_bytes);
            sl_vec_free(&extents);
        }
        sl_replay_free(replay);
        fake_free_all(fake);
    }
}

static void test_curve_covers_every_event(void **state) {
    (void)state;
    fake_alloc *fake = random_trace(9, 0, 1200);
    sl_replay *replay = replay_of(fake->trace, 0);
    sl_curve_bin bins[33];
    int64_t first = sl_replay_time(replay, 0), last = sl_replay_time(replay, replay->event_cnt);
    sl_replay_curve(replay, first, last, bins, SL_COUNT_OF(bins));
    uint64_t peak = 0, reserved = 0;
    for (size_t i = 0; i < SL_COUNT_OF(bins); i++) {
        peak = bins[i].max_requested > peak ? bins[i].max_requested : peak;
        reserved = bins[i].max_reserved > reserved ? bins[i].max_reserved : reserved;
        assert_true(bins[i].min_requested <= bins[i].last_requested);
        assert_true(bins[i].last_requested <= bins[i].max_requested);
    }
    assert_int_equal(peak, replay->peak_requested.bytes);
    assert_int_equal(reserved, replay->peak_reserved.bytes);
    assert_int_equal(bins[32].last_requested, replay->end.requested_bytes);
    sl_replay_free(replay);
    fake_free_all(fake);
}

static void push(sl_trace *trace, sl_event_kind kind, uint64_t addr, uint64_t size) {
    sl_device_trace *device = sl_trace_device(trace, 0);
    sl_event ev = {(int64_t)device->events.cnt * 10, addr, size, 0, 0, 0, kind, SL_TAG_UNKNOWN};
    assert_true(sl_events_push(&device->events, &ev));
}

static void test_a_free_that_was_lost(void **state) {
    (void)state;
    sl_trace *trace = sl_trace_new("lost", SL_SOURCE_TORCH_SNAPSHOT);
    trace->has_requested_sizes = true;
    push(trace, SL_EV_ALLOC, 0x1000, 100);
    push(trace, SL_EV_ALLOC, 0x1000, 700);
    push(trace, SL_EV_FREE_REQUESTED, 0x1000, 700);
    push(trace, SL_EV_FREE_COMPLETED, 0x1000, 700);
    sl_replay *replay = replay_of(trace, 0);
    assert_int_equal(replay->lost_frees, 1);
    assert_int_equal(replay->lost_bytes, 100);
    assert_int_equal(replay->peak_requested.bytes, 700);
    assert_int_equal(replay->end.requested_bytes, 0);
    assert_false(replay->identity_holds);
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    while (sl_replay_walk_next(&walk)) {
    }
    assert_int_equal(walk.totals.requested_bytes, 0);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

/* The recorder's own traces: plain frees, rounded sizes, the reserved total as it changes. */
static void test_recorder_trace(void **state) {
    (void)state;
    sl_trace *trace = sl_trace_new("run.slog", SL_SOURCE_SLOG);
    push(trace, SL_EV_RESERVED, 0, 2 << 20);
    push(trace, SL_EV_ALLOC, 0x1000, 1024);
    push(trace, SL_EV_FREE, 0x9000, 512);
    push(trace, SL_EV_RESERVED, 0, 6 << 20);
    push(trace, SL_EV_FREE, 0x1000, 1024);
    push(trace, SL_EV_RESERVED, 0, 4 << 20);
    sl_replay *replay = replay_of(trace, 0);
    assert_int_equal(replay->start.requested_bytes, 512);
    assert_int_equal(replay->peak_active.bytes, 1536);
    assert_int_equal(replay->end.active_bytes, 0);
    assert_int_equal(replay->peak_reserved.bytes, 6 << 20);
    assert_int_equal(replay->end.reserved_bytes, 4 << 20);
    assert_int_equal(replay->rounded_by_rule, 0);
    sl_replay_totals totals;
    assert_true(sl_replay_totals_at(replay, 3, &totals));
    assert_int_equal(totals.reserved_bytes, 6 << 20);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

/* Two frees of one address without an allocation between them: both blocks existed before, as
 * far as anybody can tell, and the totals must not go below zero. */
static void test_two_frees_of_one_address(void **state) {
    (void)state;
    sl_trace *trace = sl_trace_new("twins", SL_SOURCE_TORCH_SNAPSHOT);
    push(trace, SL_EV_FREE, 0x1000, 512);
    push(trace, SL_EV_FREE, 0x1000, 1024);
    sl_replay *replay = replay_of(trace, 0);
    assert_int_equal(replay->unmatched_frees, 2);
    assert_int_equal(replay->start.requested_bytes, 1536);
    assert_int_equal(replay->end.requested_bytes, 0);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

static void test_empty_device(void **state) {
    (void)state;
    sl_trace *trace = sl_trace_new("empty", SL_SOURCE_TORCH_SNAPSHOT);
    assert_non_null(sl_trace_device(trace, 3));
    sl_replay *replay = replay_of(trace, 0);
    sl_life_ids ids = {0};
    assert_true(sl_replay_live_at(replay, SL_EVENT_BEFORE, &ids));
    assert_int_equal(ids.cnt, 0);
    assert_int_equal(sl_replay_event_at(replay, 5), SL_EVENT_BEFORE);
    assert_int_equal(sl_replay_time(replay, 0), 0);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

/* Ranges of an expandable segment: a block may span two of them, an unmap may take the middle. */
static void test_expandable_ranges(void **state) {
    (void)state;
    const uint64_t base = 0x7f0000000000, page = 20 * FAKE_MIB;
    sl_trace *trace = sl_trace_new("expandable", SL_SOURCE_TORCH_SNAPSHOT);
    trace->has_requested_sizes = true;
    sl_device_trace *device = sl_trace_device(trace, 0);
    push(trace, SL_EV_SEGMENT_MAP, base, page);
    push(trace, SL_EV_SEGMENT_MAP, base + page, page);
    push(trace, SL_EV_SEGMENT_MAP, base + 2 * page, page);
    push(trace, SL_EV_ALLOC, base, page + 512);
    push(trace, SL_EV_SEGMENT_UNMAP, base + 2 * page, page);
    device->has_end_state = true;
    sl_segment segment = {.addr = base,
                          .total_bytes = 2 * page,
                          .is_large = true,
                          .is_expandable = true,
                          .block_cnt = 2};
    assert_true(sl_vec_push(&device->segments, segment));
    sl_block used = {base, page + 512, page + 512, 0, 0, SL_BLOCK_ALLOCATED, SL_TAG_UNKNOWN};
    sl_block rest = {base + page + 512, page - 512, 0, 0, 0, SL_BLOCK_INACTIVE, SL_TAG_UNKNOWN};
    assert_true(sl_vec_push(&device->blocks, used) && sl_vec_push(&device->blocks, rest));
    sl_replay *replay = replay_of(trace, 0);
    assert_int_equal(replay->start.reserved_bytes, 0);
    assert_int_equal(replay->peak_reserved.bytes, 3 * page);
    assert_int_equal(replay->end.reserved_bytes, 2 * page);
    assert_int_equal(replay->end.active_bytes, page + 512);
    sl_extents extents = {0};
    assert_true(sl_replay_geometry_at(replay, 3, &extents));
    assert_int_equal(extents.cnt, 2);
    assert_int_equal(extents.at[1].bytes, 2 * page - 512);
    sl_vec_free(&extents);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

/* ---- real files ---- */

static char *read_text(const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in)
        return NULL;
    char *text = calloc(1, 1 << 20);
    size_t len = fread(text, 1, (1 << 20) - 1, in);
    text[len] = '\0';
    fclose(in);
    return text;
}

/* The number after the first "key": of a JSON text. */
static uint64_t number_of(const char *json, const char *key) {
    char quoted[96];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(json, quoted);
    assert_non_null(at);
    return strtoull(at + strlen(quoted), NULL, 10);
}

static void check_h200(const char *data, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/h200/%s.truth.json", data, name);
    char *truth = read_text(path);
    snprintf(path, sizeof path, "%s/h200/%s.pickle.gz", data, name);
    sl_trace *trace = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_non_null(truth);
    assert_int_equal(sl_trace_load(path, NULL, &trace, &err), SL_OK);
    sl_replay *replay = replay_of(trace, 0);
    assert_int_equal(replay->event_cnt, number_of(truth, "events"));
    assert_int_equal(replay->start.requested_bytes, number_of(truth, "base_bytes"));
    assert_int_equal(replay->peak_requested.bytes, number_of(truth, "requested_bytes.all.peak"));
    assert_int_equal(replay->end.requested_bytes, number_of(truth, "requested_bytes.all.current"));
    assert_int_equal(replay->peak_active.bytes, number_of(truth, "active_bytes.all.peak"));
    assert_int_equal(replay->peak_allocated.bytes, number_of(truth, "allocated_bytes.all.peak"));
    assert_int_equal(replay->end.active_bytes, number_of(truth, "live_bytes"));
    assert_int_equal(replay->end.reserved_bytes, number_of(truth, "reserved_bytes"));
    assert_int_equal(replay->peak_reserved.bytes, number_of(truth, "reserved_bytes.all.peak"));
    assert_int_equal(replay->rounded_by_rule, 0);
    assert_true(replay->identity_holds);
    sl_replay_free(replay);
    sl_trace_free(trace);
    free(truth);
}

static void test_h200_counters(void **state) {
    (void)state;
    static const char *const names[] = {"s1_loss_history",    "s2_retention", "s3_baseline",
                                        "s4_fixed",           "s5_oom",       "s6_expandable",
                                        "s7_graph_stacks_all"};
    const char *data = getenv("STORMLOG_TEST_DATA");
    assert_non_null(data);
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        check_h200(data, names[i]);
}

typedef struct public_row {
    const char *file;
    int device;
    uint64_t events, base, final, peak;
} public_row;

/* Values of the format's description. */
static void test_public_files(void **state) {
    (void)state;
    static const public_row rows[] = {
        {"cran.pickle.gz", 0, 10307, 1095725248, 2285408452, 5876132840},
        {"kk_fullstep.pickle.gz", 0, 19342, 13628553216, 54597857284, 54802667524},
        {"npu_multi.pkl.gz", 0, 8132, 94326992, 408384288, 597327488},
        {"npu_multi.pkl.gz", 1, 9700, 0, 0, 471498368},
    };
    const char *data = getenv("STORMLOG_TEST_DATA");
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        char path[512];
        sl_trace *trace = NULL;
        sl_error err = SL_ERROR_INIT;
        snprintf(path, sizeof path, "%s/../../../shared/data/public/%s", data, rows[i].file);
        sl_status status = sl_trace_load(path, NULL, &trace, &err);
        if (status == SL_E_OPEN)
            skip_because("no public snapshots beside the repository");
        assert_int_equal(status, SL_OK);
        sl_replay *replay = NULL;
        assert_int_equal(
            sl_replay_new(trace, sl_trace_find_device(trace, rows[i].device), &replay, &err),
            SL_OK);
        assert_int_equal(replay->event_cnt, rows[i].events);
        assert_int_equal(replay->start.requested_bytes, rows[i].base);
        assert_int_equal(replay->end.requested_bytes, rows[i].final);
        assert_int_equal(replay->peak_requested.bytes, rows[i].peak);
        assert_int_equal(replay->unmatched_frees, 0);
        sl_replay_free(replay);
        sl_trace_free(trace);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_equal_those_of_the_allocator),
        cmocka_unit_test(test_a_trace_that_begins_late),
        cmocka_unit_test(test_live_set_equals_a_scan),
        cmocka_unit_test(test_iteration_agrees_with_totals_at),
        cmocka_unit_test(test_geometry_tiles_the_segments),
        cmocka_unit_test(test_curve_covers_every_event),
        cmocka_unit_test(test_a_free_that_was_lost),
        cmocka_unit_test(test_recorder_trace),
        cmocka_unit_test(test_two_frees_of_one_address),
        cmocka_unit_test(test_empty_device),
        cmocka_unit_test(test_expandable_ranges),
        cmocka_unit_test(test_h200_counters),
        cmocka_unit_test(test_public_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
