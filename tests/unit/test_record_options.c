/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/run_folder.h"
#include "base/core/opt_value.h"
#include "record/core/record_options.h"
#include "sltest.h"

static int clear(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_SETTING_CNT; i++)
        unsetenv(sl_settings[i].env);
    return 0;
}

static void defaults(void **state) {
    (void)state;
    sl_record_settings settings;
    assert_int_equal(sl_record_settings_load(&settings, NULL), SL_OK);
    assert_string_equal(settings.dir, "");
    assert_int_equal(settings.stacks, SL_RECORD_STACKS_PYTHON);
    assert_true(settings.has_driver && settings.has_tags);
    assert_false(settings.has_modules);
    assert_false(settings.is_disabled);
    assert_int_equal(settings.interval_ms, 100);
    assert_int_equal(settings.alert_device_pct, 95);
    assert_int_equal(settings.alert_host_pct, 95);
    assert_int_equal(settings.cpu, SL_RECORD_CPU_AUTO);
}

static void options_are_read_from_the_environment(void **state) {
    (void)state;
    sl_record_settings settings;
    setenv("STORMLOG_DIR", "/some/where", 1);
    setenv("STORMLOG_RING", "64MiB", 1);
    setenv("STORMLOG_CPU", "0", 1);
    setenv("STORMLOG_STACKS", "none", 1);
    setenv("STORMLOG_DRIVER", "0", 1);
    setenv("STORMLOG_TAGS", "0", 1);
    setenv("STORMLOG_MODULES", "1", 1);
    setenv("STORMLOG_INTERVAL_MS", "250", 1);
    setenv("STORMLOG_ALERT_DEVICE", "80%", 1);
    setenv("STORMLOG_ALERT_HOST", "off", 1);
    setenv("STORMLOG_DISABLE", "1", 1);
    assert_int_equal(sl_record_settings_load(&settings, NULL), SL_OK);
    assert_string_equal(settings.dir, "/some/where");
    assert_int_equal(settings.ring_bytes, 64 << 20);
    assert_int_equal(settings.cpu, SL_RECORD_CPU_OFF);
    assert_int_equal(settings.alert_device_pct, 80);
    assert_int_equal(settings.alert_host_pct, 0);
    assert_int_equal(settings.stacks, SL_RECORD_STACKS_NONE);
    assert_false(settings.has_driver);
    assert_false(settings.has_tags);
    assert_true(settings.has_modules);
    assert_int_equal(settings.interval_ms, 250);
    assert_true(settings.is_disabled);
}

static void has_three_kinds_of_stacks(void **state) {
    (void)state;
    static const struct {
        const char *value;
        enum sl_record_stacks stacks;
    } rows[] = {{"python", SL_RECORD_STACKS_PYTHON},
                {"native", SL_RECORD_STACKS_NATIVE},
                {"none", SL_RECORD_STACKS_NONE}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_record_settings settings;
        setenv("STORMLOG_STACKS", rows[i].value, 1);
        assert_int_equal(sl_record_settings_load(&settings, NULL), SL_OK);
        assert_int_equal(settings.stacks, rows[i].stacks);
    }
}

/* A wrong value is reported with its name, and the other values are still used. */
static void names_the_wrong_variable(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
    } wrong[] = {{"STORMLOG_CPU", "maybe"},         {"STORMLOG_STACKS", "perl"},
                 {"STORMLOG_RING", "many"},         {"STORMLOG_RING", "2TiB"},
                 {"STORMLOG_INTERVAL_MS", "5"},     {"STORMLOG_INTERVAL_MS", "60001"},
                 {"STORMLOG_INTERVAL_MS", "10x"},   {"STORMLOG_ALERT_DEVICE", "0"},
                 {"STORMLOG_ALERT_DEVICE", "101%"}, {"STORMLOG_ALERT_HOST", "90 %"},
                 {"STORMLOG_ALERT_HOST", "-5"}};
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++) {
        sl_record_settings settings;
        sl_error err = SL_ERROR_INIT;
        clear(NULL);
        setenv("STORMLOG_DIR", "/there", 1);
        setenv(wrong[i].name, wrong[i].value, 1);
        assert_int_equal(sl_record_settings_load(&settings, &err), SL_E_USAGE);
        assert_non_null(strstr(err.text, wrong[i].name));
        assert_non_null(strstr(err.text, wrong[i].value));
        assert_string_equal(settings.dir, "/there");
    }
}

static void messages_say_what_is_expected(void **state) {
    (void)state;
    static const struct {
        sl_setting_id id;
        const char *expected;
    } rows[] = {{SL_SETTING_ID_CPU, "auto, 1 or 0"},
                {SL_SETTING_ID_STACKS, "python, none or native"},
                {SL_SETTING_ID_RING, "at most 1.00 TiB, such as 256MiB"},
                {SL_SETTING_ID_INTERVAL, "10 to 60000 milliseconds"},
                {SL_SETTING_ID_ALERT_HOST, "1% to 100%, or off"}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        char buf[SL_SETTING_EXPECTED_CAP];
        assert_string_equal(sl_setting_expected(&sl_settings[rows[i].id], buf), rows[i].expected);
    }
}

/* The public struct is a second list of the settings it has: no member without a row, and each as large
 * as the row's number needs. */
static void every_member_of_the_public_struct_has_a_row(void **state) {
    (void)state;
    size_t covered = sizeof(((sl_record_options *)0)->struct_size);
    for (size_t i = 0; i < SL_SETTING_CNT; i++) {
        const sl_setting *setting = &sl_settings[i];
        covered += setting->api_bytes;
        if (setting->api_bytes && setting->api_bytes < sizeof(uint64_t))
            assert_true(setting->most >> (8 * setting->api_bytes) == 0);
    }
    assert_int_equal(covered, sizeof(sl_record_options));
}

static void the_struct_is_checked_by_the_table(void **state) {
    (void)state;
    static char long_path[SL_RECORD_PATH_CAP + 1];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    const sl_record_options wrong[] = {{.cpu = 3},
                                       {.stacks = 3},
                                       {.interval_ms = 9},
                                       {.interval_ms = 60001},
                                       {.ring_bytes = (UINT64_C(1) << 40) + 1},
                                       {.dir = long_path}};
    static sl_record_settings settings;
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++) {
        sl_record_settings_load(&settings, NULL);
        assert_false(sl_record_settings_apply(&settings, &wrong[i]));
    }
    sl_record_options right = {.cpu = SL_RECORD_CPU_OFF,
                               .stacks = SL_RECORD_STACKS_NATIVE,
                               .interval_ms = 60000,
                               .ring_bytes = 4096,
                               .dir = "here"};
    sl_record_settings_load(&settings, NULL);
    assert_true(sl_record_settings_apply(&settings, &right));
    assert_int_equal(settings.cpu, SL_RECORD_CPU_OFF);
    assert_int_equal(settings.stacks, SL_RECORD_STACKS_NATIVE);
    assert_int_equal(settings.interval_ms, 60000);
    assert_int_equal(settings.ring_bytes, 4096);
    assert_string_equal(settings.dir, "here");
    assert_true(settings.has_tags);
}

/* 0 and NULL leave what the environment says. */
static void an_empty_struct_changes_nothing(void **state) {
    (void)state;
    static sl_record_settings before, after;
    setenv("STORMLOG_STACKS", "none", 1);
    setenv("STORMLOG_INTERVAL_MS", "250", 1);
    setenv("STORMLOG_DIR", "/there", 1);
    sl_record_settings_load(&before, NULL);
    sl_record_settings_load(&after, NULL);
    assert_true(sl_record_settings_apply(&after, &(sl_record_options){0}));
    assert_memory_equal(&before, &after, sizeof before);
}

/* The words of a choice are the numbers of the public enums, and the option offers the same words. */
static void words_have_the_public_numbers(void **state) {
    (void)state;
    static const struct {
        sl_setting_id id;
        const char *word;
        uint64_t number;
    } rows[] = {{SL_SETTING_ID_CPU, "auto", SL_RECORD_CPU_AUTO},
                {SL_SETTING_ID_CPU, "1", SL_RECORD_CPU_ON},
                {SL_SETTING_ID_CPU, "0", SL_RECORD_CPU_OFF},
                {SL_SETTING_ID_STACKS, "python", SL_RECORD_STACKS_PYTHON},
                {SL_SETTING_ID_STACKS, "none", SL_RECORD_STACKS_NONE},
                {SL_SETTING_ID_STACKS, "native", SL_RECORD_STACKS_NATIVE}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        const sl_setting *setting = &sl_settings[rows[i].id];
        uint64_t number;
        assert_true(sl_setting_parse(setting, rows[i].word, &number));
        assert_int_equal(number, rows[i].number);
        assert_true(number <= setting->most);
    }
}

/* The help shows an initial value; without the option the recorder must do the same. */
static void initial_values_are_the_defaults(void **state) {
    (void)state;
    static const sl_opt options[] = {
#define OPTIONS_OF(id, member, type, env, initial, least, most, words, api, python, unset, \
                   meaning, ...)                                                           \
    __VA_ARGS__
#define OPTION(...) {__VA_ARGS__},
        SL_SETTING_MAP(OPTIONS_OF, OPTION)};
    const sl_opt *opt = options;
    for (size_t i = 0; i < SL_SETTING_CNT; i++) {
        for (unsigned k = 0; k < sl_settings[i].option_cnt; k++, opt++) {
            char text[16] = "";
            uint64_t number;
            if (opt->choices)
                assert_int_equal(strlen(opt->choices), strlen(sl_settings[i].words));
            if (!opt->initial)
                continue;
            strncat(text, opt->initial,
                    strcspn(opt->initial, opt->type == SL_OPT_DURATION ? "m" : ""));
            assert_true(sl_setting_parse(&sl_settings[i], text, &number));
            assert_int_equal(number, sl_settings[i].initial);
        }
    }
    assert_int_equal(opt - options, SL_COUNT_OF(options));
}

static void zero_counts_as_not_set(void **state) {
    (void)state;
    sl_record_settings settings;
    setenv("STORMLOG_DISABLE", "0", 1);
    setenv("STORMLOG_QUIET", "", 1);
    sl_record_settings_load(&settings, NULL);
    assert_false(settings.is_disabled);
    assert_false(settings.is_quiet);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, clear),
        cmocka_unit_test_setup(options_are_read_from_the_environment, clear),
        cmocka_unit_test_setup(has_three_kinds_of_stacks, clear),
        cmocka_unit_test_setup(names_the_wrong_variable, clear),
        cmocka_unit_test_setup(zero_counts_as_not_set, clear),
        cmocka_unit_test_setup(messages_say_what_is_expected, clear),
        cmocka_unit_test_setup(every_member_of_the_public_struct_has_a_row, clear),
        cmocka_unit_test_setup(the_struct_is_checked_by_the_table, clear),
        cmocka_unit_test_setup(an_empty_struct_changes_nothing, clear),
        cmocka_unit_test_setup(words_have_the_public_numbers, clear),
        cmocka_unit_test_setup(initial_values_are_the_defaults, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
