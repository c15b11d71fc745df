/* SPDX-License-Identifier: MIT */
#include "model/rank_identity.h"

#include <string.h>

#include "sltest.h"

/* The environment of a test: names and values in turn, NULL at the end. */
static const char *const *environment;

static char *look_up(const char *name) {
    for (size_t i = 0; environment[i]; i += 2)
        if (strcmp(environment[i], name) == 0)
            return (char *)(uintptr_t)environment[i + 1];
    return NULL;
}

#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})

static sl_maybe_i32 some(int32_t value) {
    return (sl_maybe_i32){value, true};
}

static sl_status resolve(const char *const *env, const sl_identity_claim *claim, sl_identity *id,
                         sl_error *err) {
    environment = env;
    *err = (sl_error)SL_ERROR_INIT;
    return sl_identity_resolve(claim, NULL, look_up, id, err);
}

static void test_defaults_and_launchers(void **state) {
    (void)state;
    sl_identity id;
    sl_error err;
    assert_int_equal(resolve(ENV("X", "y"), NULL, &id, &err), SL_OK);
    assert_int_equal(id.rank, 0);
    assert_int_equal(id.world_size, 1);
    assert_string_equal(id.job_id, "");
    assert_int_equal(
        resolve(ENV("RANK", "3", "LOCAL_RANK", " 1 ", "WORLD_SIZE", "8", "SLURM_JOB_ID", " 77 "),
                NULL, &id, &err),
        SL_OK);
    assert_int_equal(id.rank, 3);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 8);
    assert_string_equal(id.job_id, "77");
    /* A group without its size does not count; the next complete one does. */
    assert_int_equal(
        resolve(ENV("RANK", "3", "SLURM_PROCID", "2", "SLURM_NTASKS", "4"), NULL, &id, &err),
        SL_OK);
    assert_int_equal(id.rank, 2);
    assert_int_equal(id.local_rank, 2);
    assert_int_equal(id.world_size, 4);
}

static void test_given_values_take_precedence(void **state) {
    (void)state;
    sl_identity id;
    sl_error err;
    sl_identity_claim claim = {.rank = some(7), .world_size = some(16), .job_id = "mine"};
    const char *const *env =
        ENV("RANK", "0", "LOCAL_RANK", "1", "WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "theirs");
    assert_int_equal(resolve(env, &claim, &id, &err), SL_OK);
    assert_int_equal(id.rank, 7);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 16);
    assert_string_equal(id.job_id, "mine");
    /* If all values are given, the launcher's variables are not read. */
    claim.local_rank = some(0);
    assert_int_equal(resolve(ENV("RANK", "garbage", "WORLD_SIZE", "x"), &claim, &id, &err), SL_OK);
}

static void test_wrong_values_are_refused(void **state) {
    (void)state;
    sl_identity id;
    sl_error err;
    assert_int_equal(resolve(ENV("RANK", "x", "WORLD_SIZE", "2"), NULL, &id, &err), SL_E_USAGE);
    assert_non_null(strstr(err.text, "RANK must be an integer"));
    assert_int_equal(resolve(ENV("A", "b"), &(sl_identity_claim){.rank = some(1)}, &id, &err),
                     SL_E_USAGE);
    assert_non_null(strstr(err.text, "rank must be < world_size"));
    assert_int_equal(resolve(ENV("A", "b"), &(sl_identity_claim){.world_size = some(0)}, &id, &err),
                     SL_E_USAGE);
    assert_int_equal(resolve(ENV("A", "b"),
                             &(sl_identity_claim){.local_rank = some(2), .world_size = some(2)},
                             &id, &err),
                     SL_E_USAGE);
    assert_non_null(strstr(err.text, "local_rank must be < world_size"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_and_launchers),
        cmocka_unit_test(test_given_values_take_precedence),
        cmocka_unit_test(test_wrong_values_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
