/* SPDX-License-Identifier: MIT */
/* The words of the progress line. When it is shown is tests/cli/test_progress.py. */
#include <string.h>

#include "cli/core/progress.h"
#include "sltest.h"

#define SECOND_NS INT64_C(1000000000)

static const char *line_of(const sl_progress *stage, int64_t seconds, size_t columns) {
    static char line[SL_PROGRESS_LINE_CAP];
    sl_progress_line(line, stage, seconds * SECOND_NS, columns);
    return line;
}

static void a_file_shows_share_rate_and_remaining_time(void **state) {
    SL_UNUSED(state);
    sl_progress stage;
    sl_progress_begin(&stage, SL_PROGRESS_BYTES, "reading", "run.slog");
    assert_string_equal(line_of(&stage, 2, 80), "reading run.slog: 2 s so far");
    sl_progress_update(&stage, 256 << 20, 1024 << 20);
    assert_string_equal(line_of(&stage, 2, 80),
                        "reading run.slog: 25 % of 1.00 GiB, 128 MiB/s, 6 s left");
    sl_progress_update(&stage, 1024 << 20, 1024 << 20);
    assert_string_equal(line_of(&stage, 8, 80),
                        "reading run.slog: 100 % of 1.00 GiB, 128 MiB/s, 8 s so far");
    sl_progress_update(&stage, 256 << 20, 0);
    assert_string_equal(line_of(&stage, 2, 80), "reading run.slog: 256 MiB, 128 MiB/s, 2 s so far");
    sl_progress_end(&stage);
}

static void a_count_names_what_is_counted(void **state) {
    SL_UNUSED(state);
    sl_progress stage;
    sl_progress_begin(&stage, SL_PROGRESS_COUNT, "analysing", "events");
    sl_progress_update(&stage, 500000, 2000000);
    assert_string_equal(line_of(&stage, 2, 80),
                        "analysing: 500,000 of 2,000,000 events, 250,000 per second, 6 s left");
    sl_progress_update(&stage, 1, 4);
    assert_string_equal(line_of(&stage, 4, 80),
                        "analysing: 1 of 4 events, 0.25 per second, 12 s left");
    sl_progress_end(&stage);
}

static void a_stage_names_its_parent_stage_and_fits(void **state) {
    SL_UNUSED(state);
    sl_progress runs, stage;
    sl_progress_begin(&runs, SL_PROGRESS_COUNT, "judging", "runs");
    sl_progress_update(&runs, 2, 200);
    sl_progress_begin(&stage, SL_PROGRESS_BYTES, "reading",
                      "/a/long/path/to/some/recording/somewhere/deep/python3-4711.slog");
    sl_progress_update(&stage, 1 << 20, 2 << 20);
    const char *line = line_of(&stage, 2, 200);
    assert_true(strncmp(line, "judging 3 of 200 runs: reading /a/long/", 39) == 0);
    line = line_of(&stage, 2, 100);
    assert_non_null(strstr(line, "reading .../"));
    assert_non_null(strstr(line, "/python3-4711.slog: 50 % of 2.00 MiB, 512 KiB/s, 2 s left"));
    assert_true(strlen(line) <= 100);
    assert_string_equal(line_of(&stage, 2, 79), "judging 3 of 200 runs: reading: "
                                                "50 % of 2.00 MiB, 512 KiB/s, 2 s left");
    assert_int_equal(strlen(line_of(&stage, 2, 39)), 39);
    sl_progress_end(&stage);
    assert_string_equal(line_of(&runs, 1, 80), "judging: 2 of 200 runs, 2 per second, 1 s so far");
    sl_progress_end(&runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_shows_share_rate_and_remaining_time),
        cmocka_unit_test(a_count_names_what_is_counted),
        cmocka_unit_test(a_stage_names_its_parent_stage_and_fits),
    };
    return cmocka_run_group_tests_name("progress_line", tests, NULL, NULL);
}
