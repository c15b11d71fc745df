/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/core/alert_rules.h"
#include "sltest.h"

static char path[] = "/tmp/stormlog-alerts-XXXXXX";
static sl_log *log_file;

static int open_log(void **state) {
    (void)state;
    int fd = mkstemp(path);
    close(fd);
    sl_log_options options = {
        .struct_size = sizeof options, .path = path, .overwrite = true, .ring_bytes = 1 << 20};
    return sl_log_create(&options, &log_file, NULL) == SL_OK ? 0 : -1;
}

static int close_log(void **state) {
    (void)state;
    sl_log_close(log_file);
    return unlink(path);
}

/* Alerts in the file so far: its list keeps a count, read here from the bytes. */
static uint64_t alert_cnt(void) {
    static sl_fmt_header header;
    static sl_fmt_state state;
    FILE *file = fopen(path, "rb");
    uint64_t cnt = 0;
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof header, 1, file), 1);
    fseek(file, (long)header.state_offset, SEEK_SET);
    assert_int_equal(fread(&state, sizeof state, 1, file), 1);
    fclose(file);
    for (uint32_t i = 0; i < header.section_cnt; i++)
        if (header.sections[i].kind == SL_SECTION_ALERTS)
            cnt = state.marks[i].used;
    return cnt;
}

static void check(uint64_t used_pct, uint64_t expected) {
    sl_alert_check(log_file, SL_ALERT_DEVICE_FULL, 0, sl_known_u64(used_pct * 1000),
                   sl_known_u64(100000));
    assert_int_equal(alert_cnt(), expected);
}

static void an_alert_is_raised_once_until_its_condition_ends(void **state) {
    (void)state;
    sl_alert_reset();
    check(94, 0);
    check(95, 1);
    check(99, 1);
    check(91, 1); /* not below the lower threshold: still the same alert */
    check(99, 1);
    check(50, 1);
    check(99, 1); /* over, but within the minute */
    sl_alert_reset();
    check(99, 2);
}

static void thresholds_can_be_set(void **state) {
    (void)state;
    uint64_t before = alert_cnt();
    sl_alert_reset();
    sl_alert_set_threshold(SL_ALERT_DEVICE_FULL, 60);
    check(59, before);
    check(60, before + 1);
    check(56, before + 1); /* the alert is over below 55 % only */
    check(99, before + 1);
    sl_alert_reset();
    sl_alert_set_threshold(SL_ALERT_DEVICE_FULL, SL_ALERT_OFF);
    check(100, before + 1);
    sl_alert_set_threshold(SL_ALERT_DEVICE_FULL, 1);
    check(1, before + 2);
    sl_alert_set_threshold(SL_ALERT_DEVICE_FULL, SL_ALERT_DEFAULT_PCT);
}

static void an_unknown_value_changes_nothing(void **state) {
    (void)state;
    uint64_t before = alert_cnt();
    sl_maybe_u64 unknown = {0, false};
    sl_alert_reset();
    sl_alert_check(log_file, SL_ALERT_HOST_FULL, -1, unknown, sl_known_u64(100));
    sl_alert_check(log_file, SL_ALERT_HOST_FULL, -1, sl_known_u64(100), unknown);
    sl_alert_check(log_file, SL_ALERT_HOST_FULL, 1000, sl_known_u64(100), sl_known_u64(100));
    assert_int_equal(alert_cnt(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alert_is_raised_once_until_its_condition_ends),
        cmocka_unit_test(thresholds_can_be_set),
        cmocka_unit_test(an_unknown_value_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_log, close_log);
}
