/* SPDX-License-Identifier: MIT */
/* The rules of the allocator's model one by one; that they add up to torch's own allocator is tests/whatif. */
#include "sltest.h"

#include <stdlib.h>

#include "base/core/str.h"
#include "whatif/alloc/alloc_model.h"

#define MIB ((uint64_t)1 << 20)

static sl_alloc_model *model_of(const char *conf, uint64_t process, uint64_t card) {
    sl_alloc_settings settings;
    sl_error err = SL_ERROR_INIT;
    sl_alloc_model *model;
    sl_alloc_limits limits = {process, card, 0};
    sl_alloc_settings_init(&settings);
    assert_int_equal(sl_alloc_settings_parse(&settings, sl_str_of(conf), &err), SL_OK);
    assert_int_equal(sl_alloc_model_new(&settings, &limits, &(sl_alloc_places){0}, &model, &err),
                     SL_OK);
    assert_true(sl_alloc_model_add_group(model, 0));
    assert_true(sl_alloc_model_add_group(model, 0)); /* another stream */
    assert_true(sl_alloc_model_add_group(model, 1)); /* a private pool */
    return model;
}

static sl_alloc_model *plain_model(const char *conf) {
    return model_of(conf, SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT);
}

static uint64_t reserved(const sl_alloc_model *model) {
    return sl_alloc_model_stats(model)->reserved_bytes;
}

static void ask(sl_alloc_model *model, uint32_t group, uint32_t slot, uint64_t bytes) {
    assert_int_equal(sl_alloc_request(model, group, slot, bytes), SL_ALLOC_DONE);
}

static void give(sl_alloc_model *model, uint32_t slot) {
    assert_true(sl_alloc_give_back(model, slot));
}

static void test_segments(void **state) {
    (void)state;
    sl_alloc_model *model = plain_model("");
    ask(model, 0, 0, 1);
    assert_int_equal(reserved(model), 2 * MIB);
    ask(model, 0, 1, MIB + 1);
    assert_int_equal(reserved(model), 22 * MIB);
    ask(model, 0, 2, 10 * MIB);
    assert_int_equal(reserved(model), 22 * MIB); /* what is left of the 20 MiB is more */
    ask(model, 0, 3, 21 * MIB);
    assert_int_equal(reserved(model), 44 * MIB);
    assert_int_equal(sl_alloc_addr(model, 2), sl_alloc_addr(model, 1) + MIB + 512);
    sl_alloc_model_free(model);
}

static void test_best_fit_and_merge(void **state) {
    (void)state;
    sl_alloc_model *model = plain_model("");
    for (uint32_t i = 0; i < 4; i++)
        ask(model, 0, i, 4096);
    uint64_t second = sl_alloc_addr(model, 1);
    give(model, 1);
    ask(model, 0, 4, 1024);
    assert_int_equal(sl_alloc_addr(model, 4), second); /* the hole fits better than the rest */
    give(model, 4);
    give(model, 2);
    ask(model, 0, 5, 8192); /* two holes have become one */
    assert_int_equal(sl_alloc_addr(model, 5), second);
    sl_alloc_model_free(model);
}

static void test_streams_and_pools_are_separate(void **state) {
    (void)state;
    sl_alloc_model *model = plain_model("");
    ask(model, 0, 0, 4096);
    give(model, 0);
    ask(model, 1, 1, 4096);
    assert_int_equal(reserved(model), 4 * MIB);
    ask(model, 2, 2, 4096);
    assert_int_equal(reserved(model), 6 * MIB);
    give(model, 1);
    give(model, 2);
    assert_true(sl_alloc_empty_cache(model));
    assert_int_equal(reserved(model), 2 * MIB); /* that of the private pool */
    sl_alloc_pool_is_unused(model, 1);
    assert_true(sl_alloc_empty_cache(model));
    assert_int_equal(reserved(model), 0);
    sl_alloc_model_free(model);
}

static void test_max_split(void **state) {
    (void)state;
    sl_alloc_model *model = plain_model("max_split_size_mb:64");
    ask(model, 0, 0, 100 * MIB);
    give(model, 0);
    ask(model, 0, 1, 30 * MIB); /* an oversize block does not serve it */
    assert_int_equal(reserved(model), 130 * MIB);
    ask(model, 0, 2, 81 * MIB); /* less than 20 MiB are left over: served, not split */
    assert_int_equal(reserved(model), 130 * MIB);
    assert_int_equal(sl_alloc_model_stats(model)->active_bytes, 130 * MIB);
    give(model, 2);
    ask(model, 0, 3, 80 * MIB); /* 20 MiB would be left over */
    assert_int_equal(reserved(model), 210 * MIB);
    sl_alloc_model_free(model);
}

static void test_expandable(void **state) {
    (void)state;
    sl_alloc_model *model = plain_model("expandable_segments:True");
    ask(model, 0, 0, 30 * MIB);
    assert_int_equal(reserved(model), 40 * MIB);
    ask(model, 0, 1, 30 * MIB); /* 10 MiB are there, one page more is enough */
    assert_int_equal(reserved(model), 60 * MIB);
    assert_int_equal(sl_alloc_addr(model, 1), sl_alloc_addr(model, 0) + 30 * MIB);
    give(model, 0);
    assert_true(sl_alloc_empty_cache(model));
    assert_int_equal(reserved(model), 40 * MIB); /* whole pages only */
    give(model, 1);
    assert_true(sl_alloc_empty_cache(model));
    assert_int_equal(reserved(model), 0);
    sl_alloc_model_free(model);
}

static void test_cache_is_flushed_before_a_failure(void **state) {
    (void)state;
    sl_alloc_model *model = model_of("", SL_ALLOC_NO_LIMIT, 100 * MIB);
    ask(model, 0, 0, 60 * MIB);
    give(model, 0);
    ask(model, 0, 1, 80 * MIB);
    assert_int_equal(sl_alloc_model_stats(model)->flushes, 1);
    assert_int_equal(sl_alloc_model_stats(model)->retries, 1);
    assert_int_equal(reserved(model), 80 * MIB);
    assert_int_equal(sl_alloc_request(model, 0, 2, 30 * MIB), SL_ALLOC_OOM);
    assert_int_equal(sl_alloc_addr(model, 2), 0);
    ask(model, 0, 3, 15 * MIB); /* the model goes on */
    sl_alloc_model_free(model);
}

static void test_flush_waits_for_other_streams(void **state) {
    (void)state;
    sl_alloc_model *model = model_of("", SL_ALLOC_NO_LIMIT, 100 * MIB);
    ask(model, 0, 0, 60 * MIB);
    assert_true(sl_alloc_drop(model, 0));
    ask(model, 0, 1, 30 * MIB);
    assert_int_equal(reserved(model), 90 * MIB); /* the dropped block is not free yet */
    ask(model, 0, 2, 60 * MIB);
    assert_int_equal(sl_alloc_model_stats(model)->flushes, 1);
    give(model, 0); /* its completion comes late */
    assert_int_equal(reserved(model), 90 * MIB);
    assert_int_equal(sl_alloc_model_stats(model)->active_bytes, 90 * MIB);
    sl_alloc_model_free(model);
}

static void test_process_limit(void **state) {
    (void)state;
    sl_alloc_model *model = model_of("", 21 * MIB, SL_ALLOC_NO_LIMIT);
    ask(model, 0, 0, 5 * MIB);
    assert_int_equal(sl_alloc_request(model, 0, 1, 512), SL_ALLOC_OOM); /* 20 + 2 > 21 */
    sl_alloc_model_free(model);
    model = model_of("expandable_segments:True", 21 * MIB, SL_ALLOC_NO_LIMIT);
    ask(model, 0, 0, 21 * MIB - 1024 * 1024); /* 20 MiB are asked for, 20 are mapped */
    assert_int_equal(reserved(model), 20 * MIB);
    sl_alloc_model_free(model);
}

static void test_garbage_collection(void **state) {
    (void)state;
    sl_alloc_model *model =
        model_of("garbage_collection_threshold:0.5", 100 * MIB, SL_ALLOC_NO_LIMIT);
    ask(model, 0, 0, 40 * MIB);
    ask(model, 0, 1, 20 * MIB);
    give(model, 0);
    give(model, 1);
    ask(model, 0, 2, 42 * MIB); /* more than half is reserved: the older segment goes first */
    assert_int_equal(sl_alloc_model_stats(model)->collections, 1);
    assert_int_equal(sl_alloc_model_stats(model)->retries, 0);
    assert_true(reserved(model) < 100 * MIB);
    sl_alloc_model_free(model);
}

static void test_no_caching(void **state) {
    (void)state;
    sl_alloc_model *model = plain_model("no_caching:True");
    ask(model, 0, 0, 1000);
    ask(model, 0, 1, 30 * MIB);
    assert_int_equal(reserved(model), 30 * MIB + 1024);
    give(model, 1);
    assert_int_equal(reserved(model), 1024);
    assert_int_equal(sl_alloc_model_stats(model)->driver_frees, 1);
    sl_alloc_model_free(model);
}

/* Sizes of a file may be anything; nothing overflows, loops or crashes. */
static void test_absurd_sizes(void **state) {
    (void)state;
    static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:20",
                                        "no_caching:True", "roundup_power2_divisions:16"};
    static const uint64_t sizes[] = {0,          1,          UINT64_MAX,       UINT64_MAX - 511,
                                     1ull << 63, 1ull << 56, (1ull << 56) + 1, 1ull << 55};
    for (size_t c = 0; c < SL_COUNT_OF(confs); c++) {
        sl_alloc_model *model = plain_model(confs[c]);
        for (uint32_t round = 0; round < 40; round++)
            for (uint32_t i = 0; i < SL_COUNT_OF(sizes); i++)
                assert_int_not_equal(sl_alloc_request(model, i % 3, round * 8 + i, sizes[i]),
                                     SL_ALLOC_NO_MEMORY);
        for (uint32_t i = 0; i < 400; i++)
            give(model, i);
        assert_int_equal(sl_alloc_model_stats(model)->active_bytes, 0);
        assert_true(sl_alloc_empty_cache(model));
        sl_alloc_model_free(model);
    }
}

/* After any calls, reserved bytes are at least those in use, and everything can be freed. */
static void test_random_calls(void **state) {
    (void)state;
    static const char *const confs[] = {"", "expandable_segments:True", "max_split_size_mb:20",
                                        "garbage_collection_threshold:0.3"};
    for (size_t c = 0; c < SL_COUNT_OF(confs); c++) {
        sl_alloc_model *model = model_of(confs[c], 600 * MIB, 700 * MIB);
        sl_alloc_pool_is_unused(model, 1);
        unsigned seed = 7;
        for (unsigned i = 0; i < 30000; i++) {
            uint32_t slot = (uint32_t)rand_r(&seed) % 300;
            uint64_t bytes = (uint64_t)1 << (rand_r(&seed) % 25);
            int what = rand_r(&seed) % 16;
            if (what < 8)
                assert_int_not_equal(sl_alloc_request(model, slot % 3, slot, bytes + slot * 100),
                                     SL_ALLOC_NO_MEMORY);
            else if (what < 15)
                give(model, slot);
            else
                assert_true(sl_alloc_drop(model, slot));
            const sl_alloc_stats *stats = sl_alloc_model_stats(model);
            assert_true(stats->active_bytes <= stats->reserved_bytes);
            assert_true(stats->reserved_bytes <= 700 * MIB);
        }
        for (uint32_t slot = 0; slot < 300; slot++)
            give(model, slot);
        assert_true(sl_alloc_empty_cache(model));
        assert_int_equal(sl_alloc_model_stats(model)->active_bytes, 0);
        assert_int_equal(reserved(model), 0);
        sl_alloc_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_best_fit_and_merge),
        cmocka_unit_test(test_streams_and_pools_are_separate),
        cmocka_unit_test(test_max_split),
        cmocka_unit_test(test_expandable),
        cmocka_unit_test(test_cache_is_flushed_before_a_failure),
        cmocka_unit_test(test_flush_waits_for_other_streams),
        cmocka_unit_test(test_process_limit),
        cmocka_unit_test(test_garbage_collection),
        cmocka_unit_test(test_no_caching),
        cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_random_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
