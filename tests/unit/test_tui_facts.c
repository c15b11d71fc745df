/* SPDX-License-Identifier: MIT */
/* What the full-screen program makes of texts and times: jobs, paths, ranks, the axis of the timeline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sltest.h"
#include "tui/facts/job_words.h"
#include "tui/facts/tui_model.h"
#include "tui/facts/tui_paths.h"
#include "tui/view/view.h"

static void test_jobs_from_control_groups(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", "slurm 4711"},
        {"12:memory:/slurm/uid_1000/job_99/step_batch\n", "slurm 99"},
        {"0::/system.slice/docker-0123456789abcdef0123.scope\n", "docker 0123456789ab"},
        {"4:memory:/docker/fedcba9876543210\n1:cpu:/\n", "docker fedcba987654"},
        {"0::/user.slice/user-1000.slice/libpod-aabbccddeeff0011.scope\n", "podman aabbccddeeff"},
        {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b3c4d_5e6f.slice/"
         "cri-containerd-77.scope\n",
         "pod 1a2b3c4d"},
        {"0::/lxc/trainer/ns\n", "lxc trainer"},
        {"0::/user.slice/user-0.slice/session-5.scope\n", "session 5"},
        {"0::/user.slice/podman-1.scope\n", ""},
        {"0::/job_\n", ""},
        {"0::/\n", ""},
        {"", ""},
    };
    char job[SL_JOB_CAP];
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_string_equal(sl_job_of_cgroup(job, rows[i].text), rows[i].expected);
}

static void test_jobs_from_environments(void **state) {
    SL_UNUSED(state);
    static const char slurm[] = "PATH=/bin\0SLURM_JOB_ID=42\0HOME=/root";
    static const char other[] = "NOT_SLURM_JOB_ID=1\0PBS_JOBID=7.server\0";
    char job[SL_JOB_CAP];
    assert_string_equal(sl_job_of_environment(job, slurm, sizeof slurm), "slurm 42");
    assert_string_equal(sl_job_of_environment(job, other, sizeof other), "pbs 7.server");
    assert_string_equal(sl_job_of_environment(job, "", 0), "");
    sl_job_of_process(job, 0x7ffffff0); /* there is no such process */
    assert_string_equal(job, "");
}

static void check_paths(const char *text, const char *expected) {
    sl_tui_paths paths = {0};
    sl_error err = SL_ERROR_INIT;
    char joined[256] = "";
    sl_status status = sl_tui_paths_split(&paths, text, &err);
    for (size_t i = 0; i < paths.cnt; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "[%s]", paths.at[i]);
    assert_string_equal(status < 0 ? err.text : joined, expected);
    sl_tui_paths_free(&paths);
}

static void test_paths(void **state) {
    SL_UNUSED(state);
    char folder[] = "/tmp/sl-paths-XXXXXX", name[64], expected[80];
    assert_non_null(mkdtemp(folder));
    setenv("HOME", "/home/me", 1);
    check_paths("a.slog", "[a.slog]");
    check_paths(" a.slog ,  b c.slog,", "[a.slog][b c.slog]");
    check_paths("~/runs, ~other", "[/home/me/runs][~other]");
    check_paths("", "expected a path");
    check_paths(" , ", "expected a path");
    snprintf(name, sizeof name, "%s/a,b", folder); /* a file with a comma in its name */
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fclose(file);
    snprintf(expected, sizeof expected, "[%s]", name);
    check_paths(name, expected);
    unlink(name);
    rmdir(folder);
}

static void test_rank_filters(void **state) {
    SL_UNUSED(state);
    static const char *const good[] = {"", "all", "*", "0", "0,2-5", "3-3"};
    static const char *const bad[] = {"x", "1-", "5-2", "1;2", "-1", "1,,2", "1 2"};
    for (size_t i = 0; i < SL_COUNT_OF(good); i++)
        assert_null(sl_rank_filter_error(good[i]));
    for (size_t i = 0; i < SL_COUNT_OF(bad); i++)
        assert_non_null(sl_rank_filter_error(bad[i]));
    assert_true(sl_rank_filter_has("0,2-5", sl_known_u64(4)));
    assert_false(sl_rank_filter_has("0,2-5", sl_known_u64(1)));
    assert_true(sl_rank_filter_has("7", (sl_maybe_u64){0})); /* of no rank: always shown */
}

/* Time and column are inverse to each other, silences or not. */
static void check_axis(sl_tui_timeline *t) {
    sl_tui_timeline_set_axis(t);
    double last = -1;
    for (int64_t us = t->from_us; us <= t->to_us; us += 997) {
        double column = sl_tui_timeline_column(t, us);
        assert_true(column >= last && column < (double)t->cnt + 0.001);
        assert_true(llabs(sl_tui_timeline_time(t, column) - us) <= 2);
        last = column;
    }
    assert_true(last > (double)t->cnt - 2);
}

static void test_axis_with_silences(void **state) {
    SL_UNUSED(state);
    sl_tui_timeline t = {.from_us = 1000, .to_us = 1001000, .end_us = 2000000, .cnt = 100};
    check_axis(&t);
    assert_null(sl_tui_timeline_silence(&t, 50));
    t.silences[t.silence_cnt++] = (sl_tui_silence){101000, 801000};
    check_axis(&t);
    /* 700 of 1,000 ms take a fortieth of the columns; the first 100 ms a third of the others. */
    assert_true(fabs(sl_tui_timeline_column(&t, 101000) - 97.5 / 3) < 0.1);
    assert_non_null(sl_tui_timeline_silence(&t, 33));
    assert_null(sl_tui_timeline_silence(&t, 31));
    assert_null(sl_tui_timeline_silence(&t, 36));
    t.silences[t.silence_cnt++] = (sl_tui_silence){900000, 1001000};
    check_axis(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_from_control_groups),
        cmocka_unit_test(test_jobs_from_environments),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_rank_filters),
        cmocka_unit_test(test_axis_with_silences),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
