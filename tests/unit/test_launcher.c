/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "model/job/launcher.h"
#include "sltest.h"

static int clear(void **state) {
    (void)state;
    static const char *const names[] = {"RANK",
                                        "LOCAL_RANK",
                                        "WORLD_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_LOCALID",
                                        "SLURM_NTASKS",
                                        "SLURM_JOB_ID",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "JOB_ID",
                                        "STORMLOG_JOB",
                                        "TORCHELASTIC_RUN_ID",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "SLURM_STEP_ID",
                                        "PMIX_NAMESPACE",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_MCA_ess_base_jobid",
                                        "OMPI_MCA_orte_precondition_transports"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    return 0;
}

static void unknown_is_minus_one(void **state) {
    (void)state;
    sl_launched who = sl_launcher_find(getenv);
    assert_int_equal(who.rank, -1);
    assert_int_equal(who.local_rank, -1);
    assert_int_equal(who.world_size, -1);
}

static void torchrun_takes_precedence_over_the_scheduler(void **state) {
    (void)state;
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_LOCALID", "0", 1);
    setenv("SLURM_NTASKS", "2", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    sl_launched who = sl_launcher_find(getenv);
    assert_int_equal(who.rank, 1);
    assert_int_equal(who.world_size, 2);
    assert_string_equal(who.job, "77");
    setenv("RANK", "12", 1);
    setenv("LOCAL_RANK", "4", 1);
    setenv("WORLD_SIZE", "16", 1);
    who = sl_launcher_find(getenv);
    assert_int_equal(who.rank, 12);
    assert_int_equal(who.local_rank, 4);
    assert_int_equal(who.world_size, 16);
}

static void a_text_that_is_not_a_number_counts_as_not_set(void **state) {
    (void)state;
    setenv("RANK", "first", 1);
    setenv("SLURM_PROCID", "3", 1);
    assert_int_equal(sl_launcher_find(getenv).rank, 3);
    setenv("SLURM_PROCID", "-2", 1);
    assert_int_equal(sl_launcher_find(getenv).rank, -1);
}

/* A batch script has SLURM_PROCID=0, and every rank of an mpirun inside it inherits that. */
static void mpirun_inside_a_slurm_job_gives_the_rank(void **state) {
    (void)state;
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "1", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("OMPI_COMM_WORLD_RANK", "5", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    sl_launched who = sl_launcher_find(getenv);
    assert_int_equal(who.rank, 5);
    assert_int_equal(who.local_rank, 1);
    assert_int_equal(who.world_size, 8);
    assert_string_equal(who.job, "77");
}

static void expect_key(const char *expected) {
    char key[SL_LAUNCH_KEY_CAP];
    if (!expected) {
        assert_false(sl_launcher_key(getenv, key));
        return;
    }
    assert_true(sl_launcher_key(getenv, key));
    assert_string_equal(key, expected);
}

static void the_key_names_one_start(void **state) {
    (void)state;
    expect_key(NULL);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_JOB_ID", "77", 1);
    expect_key(NULL); /* a batch script */
    setenv("SLURM_STEP_ID", "3", 1);
    expect_key("slurm-77-3");
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    setenv("OMPI_MCA_ess_base_jobid", "4711", 1);
    expect_key("mpi-77-4711");
    unsetenv("SLURM_JOB_ID");
    setenv("OMPI_MCA_orte_precondition_transports", "ca5b-fb67", 1);
    expect_key("mpi-4711-ca5b-fb67");
    setenv("RANK", "2", 1);
    setenv("TORCHELASTIC_RUN_ID", "none", 1);
    setenv("MASTER_ADDR", "node/../1", 1);
    setenv("MASTER_PORT", "29500", 1);
    expect_key("torch-node_.._1-29500");
    setenv("TORCHELASTIC_RUN_ID", "abc", 1);
    expect_key("torch-abc");
    unsetenv("TORCHELASTIC_RUN_ID");
    unsetenv("MASTER_ADDR");
    setenv("WORLD_SIZE", "4", 1);
    expect_key("ranks4-4711");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(unknown_is_minus_one, clear),
        cmocka_unit_test_setup(torchrun_takes_precedence_over_the_scheduler, clear),
        cmocka_unit_test_setup(mpirun_inside_a_slurm_job_gives_the_rank, clear),
        cmocka_unit_test_setup(the_key_names_one_start, clear),
        cmocka_unit_test_setup(a_text_that_is_not_a_number_counts_as_not_set, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
