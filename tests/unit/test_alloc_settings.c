/* SPDX-License-Identifier: MIT */
#include "sltest.h"

#include "base/core/str.h"
#include "whatif/alloc/alloc_settings.h"

#define MIB ((uint64_t)1 << 20)

static sl_alloc_settings settings_of(const char *conf) {
    sl_alloc_settings settings;
    sl_error err = SL_ERROR_INIT;
    sl_alloc_settings_init(&settings);
    assert_int_equal(sl_alloc_settings_parse(&settings, sl_str_of(conf), &err), SL_OK);
    return settings;
}

static void test_defaults(void **state) {
    (void)state;
    sl_alloc_settings s = settings_of("");
    char text[SL_SETTINGS_TEXT_CAP];
    assert_false(s.is_expandable);
    assert_true(s.rounding.max_split_bytes == UINT64_MAX);
    assert_int_equal(s.max_non_split_bytes, 20 * MIB);
    sl_alloc_settings_text(text, &s);
    assert_string_equal(text, "");
}

static void test_every_key(void **state) {
    (void)state;
    sl_alloc_settings s = settings_of(
        " max_split_size_mb : 64 ,expandable_segments:True,garbage_collection_threshold:0.8,"
        "max_non_split_rounding_mb:30,per_process_memory_fraction=0.5,"
        "roundup_power2_divisions:[256:1,512:2,>:8],backend:native,"
        "pinned_use_cuda_host_register:True,pinned_num_register_threads:8,"
        "release_lock_on_cudamalloc:False,large_segment_size_mb:40,");
    assert_true(s.is_expandable);
    assert_int_equal(s.rounding.max_split_bytes, 64 * MIB);
    assert_int_equal(s.max_non_split_bytes, 30 * MIB);
    assert_int_equal(s.large_segment_bytes, 40 * MIB);
    assert_true(s.gc_threshold > 0.79 && s.gc_threshold < 0.81);
    assert_true(s.fraction > 0.49 && s.fraction < 0.51);
    assert_int_equal(s.rounding.divisions[0], 1);
    assert_int_equal(s.rounding.divisions[8], 1);
    assert_int_equal(s.rounding.divisions[9], 2);
    assert_int_equal(s.rounding.divisions[10], 8);
    assert_int_equal(s.rounding.divisions[15], 8);
}

/* Settings that are written as text and read again stay the same. */
static void test_text_can_be_read_again(void **state) {
    (void)state;
    static const char *const confs[] = {
        "expandable_segments:True",
        "max_split_size_mb:64,max_non_split_rounding_mb:30",
        "roundup_power2_divisions:4",
        "roundup_power2_divisions:[1:0,2:2,>:16]",
        "garbage_collection_threshold:0.75,per_process_memory_fraction:0.25",
        "no_caching:True,one_stream:True,no_record_stream:True",
        "large_segment_size_mb:64",
    };
    for (size_t i = 0; i < SL_COUNT_OF(confs); i++) {
        char text[SL_SETTINGS_TEXT_CAP];
        sl_alloc_settings first = settings_of(confs[i]);
        sl_alloc_settings_text(text, &first);
        sl_alloc_settings second = settings_of(text);
        assert_true(sl_alloc_settings_equal(&first, &second));
        assert_memory_equal(&first.rounding, &second.rounding, sizeof first.rounding);
    }
}

static void test_the_last_value_is_used(void **state) {
    (void)state;
    sl_alloc_settings s =
        settings_of("max_split_size_mb:64,max_split_size_mb:128,expandable_segments:True,"
                    "expandable_segments:False");
    assert_int_equal(s.rounding.max_split_bytes, 128 * MIB);
    assert_false(s.is_expandable);
}

static void test_wrong_settings_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *conf, *text;
        int64_t position;
    } rows[] = {
        {"max_split_size_mb:19", "expected MiB, at least 20 at position 19, found '19'", 18},
        {"max_split_size_mb", "expected ':' and a value at position 18, found the end", 17},
        {"max_split_size:64",
         "'max_split_size' at position 1 is not known; did you mean 'max_split_size_mb'?", 0},
        {"expandable_segments:Yes", "expected True or False at position 21, found 'Yes'", 20},
        {"garbage_collection_threshold:1.0", "expected a number between 0 and 1", 29},
        {"garbage_collection_threshold:nan", "expected a number between 0 and 1", 29},
        {"per_process_memory_fraction:-0.5", "expected a number from 0 to 1", 28},
        {"roundup_power2_divisions:3", "expected divisions, 0 or a power of two", 25},
        {"roundup_power2_divisions:[3:4]", "expected MiB as a power of two, or '>'", 26},
        {"roundup_power2_divisions:[4:4", "expected ',' or ']'", 29},
        {"roundup_power2_divisions:[]", "expected MiB as a power of two, or '>'", 26},
        {"max_split_size_mb:64;x", "expected ',' or the end at position 21", 20},
        {"max_split_size_mb:99999999999999999999999", "expected MiB, at least 20", 18},
        {",", "expected KEY:VALUE at position 1", 0},
        {"backend:jemalloc", "expected native or cudaMallocAsync", 8},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_alloc_settings settings, before;
        sl_error err = SL_ERROR_INIT;
        sl_alloc_settings_init(&settings);
        before = settings;
        assert_int_equal(sl_alloc_settings_parse(&settings, sl_str_of(rows[i].conf), &err),
                         SL_E_USAGE);
        if (!sl_str_contains(sl_str_of(err.text), sl_str_of(rows[i].text)))
            fail_msg("'%s': '%s' is not in '%s'", rows[i].conf, rows[i].text, err.text);
        assert_int_equal(err.position, rows[i].position);
        assert_memory_equal(&settings, &before, sizeof settings);
    }
}

static void test_huge_split_is_no_limit(void **state) {
    (void)state;
    sl_alloc_settings s = settings_of("max_split_size_mb:18446744073709551615");
    assert_true(s.rounding.max_split_bytes == UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_text_can_be_read_again),
        cmocka_unit_test(test_the_last_value_is_used),
        cmocka_unit_test(test_wrong_settings_are_refused),
        cmocka_unit_test(test_huge_split_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
