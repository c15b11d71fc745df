/* SPDX-License-Identifier: MIT */
#include "base/files/file_rights.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sltest.h"

#define NOBODY 65534

static char folder[64];

static int make_folder(void **state) {
    SL_UNUSED(state);
    snprintf(folder, sizeof folder, "/tmp/stormlog-rights-XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
    SL_UNUSED(state);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 0777;
}

static void sharing_follows_the_setting(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *value;
        bool is_on;
    } rows[] = {{NULL, false}, {"", false}, {"0", false}, {"1", true}, {"yes", true}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        if (rows[i].value)
            setenv(SL_SHARE_ENV, rows[i].value, 1);
        else
            unsetenv(SL_SHARE_ENV);
        assert_int_equal(sl_share_is_on(), rows[i].is_on);
        assert_int_equal(sl_share_file_mode(), rows[i].is_on ? 0644 : 0600);
        assert_int_equal(sl_share_folder_mode(), rows[i].is_on ? 0755 : 0700);
    }
    unsetenv(SL_SHARE_ENV);
}

static void temporary_names_differ_and_are_exclusive(void **state) {
    SL_UNUSED(state);
    char first[128], second[128], dir[128];
    strcpy(first, path_of("a.tmp-XXXXXX"));
    strcpy(second, first);
    strcpy(dir, path_of("d.tmp-XXXXXX"));
    int a = sl_temp_create(first, 0600), b = sl_temp_create(second, 0600);
    assert_true(a > 2 && b > 2);
    assert_string_not_equal(first, second);
    assert_int_equal(mode_of(first), 0600);
    assert_int_equal(sl_temp_mkdir(dir, 0700), 0);
    assert_int_equal(mode_of(dir), 0700);
    assert_int_equal(symlink("nowhere", path_of("link")), 0);
    assert_int_equal(sl_file_create(AT_FDCWD, path_of("link"), 0600), -1);
    assert_int_equal(access(path_of("nowhere"), F_OK), -1);
    close(a);
    close(b);
}

/* In a child: the test's own output must not go into the file. */
static void a_closed_standard_stream_stays_closed(void **state) {
    SL_UNUSED(state);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        char path[128];
        strcpy(path, path_of("s.tmp-XXXXXX"));
        close(0);
        close(1);
        close(2);
        int fd = sl_temp_create(path, 0600);
        _exit(fd > 2 && fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void ordinary_folders_are_accepted(void **state) {
    SL_UNUSED(state);
    static const char *const paths[] = {
        "/", ".", "x", "a/b/c", "/tmp", "/tmp/none/there", "//tmp//", "/dev/null", ""};
    for (size_t i = 0; i < SL_COUNT_OF(paths); i++)
        assert_int_equal(sl_place_check(paths[i], NULL), SL_OK);
    assert_int_equal(mkdir(path_of("mine"), 0700), 0);
    assert_int_equal(sl_place_check(path_of("mine/new"), NULL), SL_OK);
}

static void paths_prepared_by_another_user_are_refused(void **state) {
    SL_UNUSED(state);
    sl_error err = SL_ERROR_INIT;
    if (geteuid() != 0)
        skip_because("only root can give a file to another user");
    assert_int_equal(mkdir(path_of("tmp"), 0700), 0);
    assert_int_equal(chmod(path_of("tmp"), 01777), 0);
    assert_int_equal(mkdir(path_of("tmp/theirs"), 0777), 0);
    assert_int_equal(chown(path_of("tmp/theirs"), NOBODY, NOBODY), 0);
    assert_int_equal(sl_place_check(path_of("tmp/theirs"), &err), SL_E_PERMISSION);
    assert_non_null(strstr(err.text, "tmp/theirs' belongs to another user"));
    assert_int_equal(sl_place_check(path_of("tmp/theirs/deep/er"), NULL), SL_E_PERMISSION);
    assert_int_equal(sl_place_check(path_of("tmp//theirs//x"), NULL), SL_E_PERMISSION);
    assert_int_equal(symlink("/etc", path_of("tmp/link")), 0);
    assert_int_equal(lchown(path_of("tmp/link"), NOBODY, NOBODY), 0);
    assert_int_equal(sl_place_check(path_of("tmp/link/x"), NULL), SL_E_PERMISSION);
    /* A user may do anything with a folder that no other user can write to. */
    assert_int_equal(chmod(path_of("tmp"), 0755), 0);
    assert_int_equal(sl_place_check(path_of("tmp/theirs/x"), NULL), SL_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing_follows_the_setting),
        cmocka_unit_test(temporary_names_differ_and_are_exclusive),
        cmocka_unit_test(a_closed_standard_stream_stays_closed),
        cmocka_unit_test(ordinary_folders_are_accepted),
        cmocka_unit_test(paths_prepared_by_another_user_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
