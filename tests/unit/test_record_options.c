/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "record/core/record_options.h"
#include "sltest.h"

static int clear(void **state) {
    (void)state;
    for (unsigned i = 0; i < SL_RECORD_ENV_CNT; i++)
        unsetenv(sl_record_env_name((sl_record_env)i));
    return 0;
}

static void defaults(void **state) {
    (void)state;
    sl_record_settings settings;
    assert_int_equal(sl_record_settings_load(&settings, NULL), SL_OK);
    assert_string_equal(settings.dir, "");
    assert_true(settings.has_stacks && settings.has_driver && settings.has_tags);
    assert_false(settings.has_modules);
    assert_false(settings.is_disabled);
    assert_int_equal(settings.interval_ms, 100);
    assert_int_equal(settings.alert_device_pct, 95);
    assert_int_equal(settings.alert_host_pct, 95);
    assert_int_equal(settings.cpu, SL_CPU_AUTO);
}

static void takes_the_environment(void **state) {
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
    assert_int_equal(settings.cpu, SL_CPU_OFF);
    assert_int_equal(settings.alert_device_pct, 80);
    assert_int_equal(settings.alert_host_pct, 0);
    assert_false(settings.has_stacks);
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
        bool has_stacks, has_native_stacks;
    } rows[] = {{"python", true, false}, {"native", true, true}, {"none", false, false}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_record_settings settings;
        setenv("STORMLOG_STACKS", rows[i].value, 1);
        assert_int_equal(sl_record_settings_load(&settings, NULL), SL_OK);
        assert_int_equal(settings.has_stacks, rows[i].has_stacks);
        assert_int_equal(settings.has_native_stacks, rows[i].has_native_stacks);
    }
}

/* A wrong value is said, with its name, and the rest is still taken. */
static void names_the_wrong_variable(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
    } wrong[] = {{"STORMLOG_CPU", "maybe"},         {"STORMLOG_STACKS", "perl"},
                 {"STORMLOG_RING", "many"},         {"STORMLOG_INTERVAL_MS", "5"},
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

static void zero_is_not_set(void **state) {
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
        cmocka_unit_test_setup(takes_the_environment, clear),
        cmocka_unit_test_setup(has_three_kinds_of_stacks, clear),
        cmocka_unit_test_setup(names_the_wrong_variable, clear),
        cmocka_unit_test_setup(zero_is_not_set, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
