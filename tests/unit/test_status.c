/* SPDX-License-Identifier: MIT */
#include "base/core/status.h"

#include <errno.h>
#include <string.h>

#include "sltest.h"

static void fail_records_code_position_and_text(void **state) {
    SL_UNUSED(state);
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_fail_at(&err, SL_E_FORMAT, 42, "expected %d", 7), SL_E_FORMAT);
    assert_int_equal(err.code, SL_E_FORMAT);
    assert_int_equal(err.position, 42);
    assert_string_equal(err.text, "expected 7");
    sl_error_prefix(&err, "'%s'", "run.slog");
    assert_string_equal(err.text, "'run.slog': expected 7");
}

static void out_of_memory_says_for_what(void **state) {
    SL_UNUSED(state);
    sl_error err = SL_ERROR_INIT;
    errno = EIO;
    assert_int_equal(sl_fail_no_memory(&err, "the names of '%s'", "run.slog"), SL_E_NOMEM);
    assert_int_equal(err.code, SL_E_NOMEM);
    assert_string_equal(err.text, "out of memory for the names of 'run.slog'");
    assert_int_equal(errno, EIO);
}

static void a_null_error_is_allowed(void **state) {
    SL_UNUSED(state);
    assert_int_equal(sl_fail(NULL, SL_E_LIMIT, "x"), SL_E_LIMIT);
    assert_int_equal(sl_fail_at(NULL, SL_E_LIMIT, 1, "x"), SL_E_LIMIT);
    assert_int_equal(sl_fail_no_memory(NULL, "x"), SL_E_NOMEM);
    errno = EIO;
    assert_int_equal(sl_fail_errno(NULL, SL_E_READ, "x"), SL_E_READ);
}

static void errno_is_kept_and_mapped(void **state) {
    SL_UNUSED(state);
    static const struct {
        int sys_errno;
        sl_status code;
    } rows[] = {{ENOSPC, SL_E_NOSPACE},    {EFBIG, SL_E_NOSPACE},    {EDQUOT, SL_E_NOSPACE},
                {EACCES, SL_E_PERMISSION}, {EROFS, SL_E_PERMISSION}, {ENOMEM, SL_E_NOMEM},
                {EIO, SL_E_WRITE}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_error err = SL_ERROR_INIT;
        errno = rows[i].sys_errno;
        assert_int_equal(sl_fail_errno(&err, SL_E_WRITE, "cannot write"), rows[i].code);
        assert_int_equal(errno, rows[i].sys_errno);
        assert_int_equal(err.sys_errno, rows[i].sys_errno);
        assert_non_null(strstr(err.text, strerror(rows[i].sys_errno)));
    }
}

static void a_long_text_is_cut_without_an_overrun(void **state) {
    SL_UNUSED(state);
    sl_error err = SL_ERROR_INIT;
    char big[2 * SL_ERROR_TEXT_CAP];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    sl_fail(&err, SL_E_FORMAT, "%s", big);
    assert_int_equal(strlen(err.text), SL_ERROR_TEXT_CAP - 1);
    sl_error_prefix(&err, "%s", big);
    assert_int_equal(strlen(err.text), SL_ERROR_TEXT_CAP - 1);
}

static void every_code_has_a_unique_name_and_an_exit_code(void **state) {
    SL_UNUSED(state);
    static const sl_status codes[] = {
#define CODE(code, name, exit_code, meaning) code,
        SL_STATUS_MAP(CODE)
#undef CODE
    };
    for (size_t i = 0; i < SL_COUNT_OF(codes); i++) {
        assert_in_range(sl_status_exit_code(codes[i]), 0, 5);
        assert_true(strlen(sl_status_meaning(codes[i])) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(codes[i], codes[j]);
            assert_string_not_equal(sl_status_name(codes[i]), sl_status_name(codes[j]));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_records_code_position_and_text),
        cmocka_unit_test(out_of_memory_says_for_what),
        cmocka_unit_test(a_null_error_is_allowed),
        cmocka_unit_test(errno_is_kept_and_mapped),
        cmocka_unit_test(a_long_text_is_cut_without_an_overrun),
        cmocka_unit_test(every_code_has_a_unique_name_and_an_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
