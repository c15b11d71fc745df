/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "record/core/record_identity.h"
#include "sltest.h"

static int clear(void **state) {
    (void)state;
    static const char *const names[] = {
        "RANK",         "LOCAL_RANK",   "WORLD_SIZE",           "SLURM_PROCID", "SLURM_LOCALID",
        "SLURM_NTASKS", "SLURM_JOB_ID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",    "PMI_RANK",
        "JOB_ID",       "STORMLOG_JOB", "TORCHELASTIC_RUN_ID"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        unsetenv(names[i]);
    return 0;
}

static void unknown_is_minus_one(void **state) {
    (void)state;
    sl_record_identity who = sl_record_identity_find();
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
    sl_record_identity who = sl_record_identity_find();
    assert_int_equal(who.rank, 1);
    assert_int_equal(who.world_size, 2);
    assert_string_equal(who.job, "77");
    setenv("RANK", "12", 1);
    setenv("LOCAL_RANK", "4", 1);
    setenv("WORLD_SIZE", "16", 1);
    who = sl_record_identity_find();
    assert_int_equal(who.rank, 12);
    assert_int_equal(who.local_rank, 4);
    assert_int_equal(who.world_size, 16);
}

static void a_text_that_is_not_a_number_counts_as_not_set(void **state) {
    (void)state;
    setenv("RANK", "first", 1);
    setenv("SLURM_PROCID", "3", 1);
    assert_int_equal(sl_record_identity_find().rank, 3);
    setenv("SLURM_PROCID", "-2", 1);
    assert_int_equal(sl_record_identity_find().rank, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(unknown_is_minus_one, clear),
        cmocka_unit_test_setup(torchrun_takes_precedence_over_the_scheduler, clear),
        cmocka_unit_test_setup(a_text_that_is_not_a_number_counts_as_not_set, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
