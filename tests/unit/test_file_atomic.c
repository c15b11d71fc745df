/* SPDX-License-Identifier: MIT */
#include "base/files/file_atomic.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sltest.h"

static char folder[64];

static int make_folder(void **state) {
    SL_UNUSED(state);
    snprintf(folder, sizeof folder, "/tmp/stormlog-atomic-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    SL_UNUSED(state);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *name, const char *text) {
    char found[64] = "";
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static size_t count_files(void) {
    size_t cnt = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        cnt += entry->d_name[0] != '.';
    closedir(dir);
    return cnt;
}

static void a_file_appears_only_when_it_is_complete(void **state) {
    SL_UNUSED(state);
    sl_file_out out;
    sl_error err = SL_ERROR_INIT;
    write_file("a", "old");
    assert_int_equal(chmod(path_of("a"), 0640), 0);
    assert_int_equal(sl_file_out_open(&out, path_of("a"), &err), SL_OK);
    fputs("new", out.stream);
    fflush(out.stream);
    expect_file("a", "old");
    assert_int_equal(sl_file_out_commit(&out, &err), SL_OK);
    expect_file("a", "new");
    struct stat info;
    assert_int_equal(stat(path_of("a"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(count_files(), 1);
}

static void abandoning_a_file_leaves_nothing(void **state) {
    SL_UNUSED(state);
    sl_file_out out;
    sl_error err = SL_ERROR_INIT;
    write_file("a", "old");
    assert_int_equal(sl_file_out_open(&out, path_of("a"), &err), SL_OK);
    fputs("new", out.stream);
    sl_file_out_abandon(&out);
    sl_file_out_abandon(&out);
    expect_file("a", "old");
    assert_int_equal(count_files(), 1);
}

static void a_link_stays_a_link(void **state) {
    SL_UNUSED(state);
    sl_file_out out;
    sl_error err = SL_ERROR_INIT;
    char target[128];
    snprintf(target, sizeof target, "%s", path_of("real"));
    write_file("real", "old");
    assert_int_equal(symlink(target, path_of("link")), 0);
    assert_int_equal(sl_file_out_open(&out, path_of("link"), &err), SL_OK);
    fputs("new", out.stream);
    assert_int_equal(sl_file_out_commit(&out, &err), SL_OK);
    expect_file("real", "new");
    struct stat info;
    assert_int_equal(lstat(path_of("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void full_disks_and_wrong_paths_are_reported(void **state) {
    SL_UNUSED(state);
    sl_file_out out;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_file_out_open(&out, "/dev/full", &err), SL_OK);
    fputs("new", out.stream);
    assert_int_equal(sl_file_out_commit(&out, &err), SL_E_NOSPACE);
    assert_non_null(strstr(err.text, "'/dev/full'"));
    assert_int_equal(sl_file_out_open(&out, folder, &err), SL_E_USAGE);
    assert_int_equal(sl_file_out_open(&out, path_of("none/x"), &err), SL_E_WRITE);
    assert_non_null(strstr(err.text, "No such file"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_appears_only_when_it_is_complete),
        IN_FOLDER(abandoning_a_file_leaves_nothing),
        IN_FOLDER(a_link_stays_a_link),
        IN_FOLDER(full_disks_and_wrong_paths_are_reported),
    };
    return cmocka_run_group_tests_name("file_atomic", tests, NULL, NULL);
}
