/* SPDX-License-Identifier: MIT */
#include "base/files/byte_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sltest.h"

/* A file of `len` bytes, byte i being i * 7 % 251; the name stays valid until the next call. */
static const char *make_file(size_t len) {
    static char path[] = "/tmp/stormlog-bytes-XXXXXX";
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    for (size_t i = 0; i < len; i++)
        putc((int)(i * 7 % 251), file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void test_reading_memory_stops_at_its_end(void **state) {
    SL_UNUSED(state);
    sl_byte_stream in;
    sl_bytes_init(&in, "abc", 3);
    assert_true(sl_bytes_need(&in, 3));
    assert_false(sl_bytes_need(&in, 4));
    in.at += 2;
    assert_int_equal(sl_bytes_position(&in), 2);
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_bytes_failure(&in, "a thing", &err), SL_E_TRUNCATED);
    assert_string_equal(err.text, "the input ends at byte 3, inside a thing");
    assert_int_equal(err.position, 3);
}

/* One read by the caller, one large enough to be read ahead by a thread. */
static const size_t file_sizes[] = {1000003, 9000011};

/* Reads a file of a few windows in steps that never divide the window. */
static void slide_over(size_t len, size_t step) {
    const char *path = make_file(len);
    sl_byte_stream in;
    assert_int_equal(sl_bytes_open(&in, path, NULL, NULL), SL_OK);
    assert_int_equal(in.ahead != NULL, len > 4u << 20);
    size_t i = 0;
    while (sl_bytes_need(&in, step)) {
        assert_int_equal(sl_bytes_position(&in), i);
        for (size_t k = 0; k < step; k++, i++)
            if (in.at[k] != i * 7 % 251)
                fail_msg("byte %zu is %u, expected %zu", i, in.at[k], i * 7 % 251);
        in.at += step;
    }
    assert_int_equal(i, len / step * step);
    assert_int_equal(in.end - in.at, len % step);
    sl_bytes_close(&in);
    unlink(path);
}

static void test_windows_slide_over_a_file(void **state) {
    SL_UNUSED(state);
    for (size_t i = 0; i < SL_COUNT_OF(file_sizes); i++) {
        slide_over(file_sizes[i], 4099);
        slide_over(file_sizes[i], 65537);  /* does not fit in front of a chunk */
        slide_over(file_sizes[i], 777777); /* nor into one */
    }
}

static void hold_one_item(size_t len) {
    const char *path = make_file(len);
    sl_byte_stream in;
    assert_int_equal(sl_bytes_open(&in, path, NULL, NULL), SL_OK);
    assert_true(sl_bytes_need(&in, 100));
    in.at += 100;
    assert_true(sl_bytes_need(&in, len - 100));
    assert_int_equal(in.at[len - 101], (len - 1) * 7 % 251);
    assert_false(sl_bytes_need(&in, len - 99));
    sl_bytes_close(&in);
    unlink(path);
}

static void test_an_item_larger_than_the_window(void **state) {
    SL_UNUSED(state);
    for (size_t i = 0; i < SL_COUNT_OF(file_sizes); i++)
        hold_one_item(file_sizes[i]);
}

static void test_closing_before_the_end(void **state) {
    SL_UNUSED(state);
    const char *path = make_file(file_sizes[1]);
    for (size_t skip = 0; skip < 3000000; skip += 700001) {
        sl_byte_stream in;
        assert_int_equal(sl_bytes_open(&in, path, NULL, NULL), SL_OK);
        assert_true(sl_bytes_need(&in, skip));
        sl_bytes_close(&in);
    }
    unlink(path);
}

/* A length that the input claims and does not have must not be allocated. */
static void test_a_false_length_is_not_allocated(void **state) {
    SL_UNUSED(state);
    const char *path = make_file(100);
    sl_byte_stream in;
    assert_int_equal(sl_bytes_open(&in, path, NULL, NULL), SL_OK);
    assert_false(sl_bytes_need(&in, SIZE_MAX / 4));
    assert_true(in.window_cap <= (size_t)1 << 20);
    sl_bytes_close(&in);
    unlink(path);
}

static void test_a_file_cut_short_while_it_is_read(void **state) {
    SL_UNUSED(state);
    for (size_t i = 0; i < SL_COUNT_OF(file_sizes); i++) {
        const char *path = make_file(file_sizes[i]);
        sl_byte_stream in;
        assert_int_equal(sl_bytes_open(&in, path, NULL, NULL), SL_OK);
        assert_true(sl_bytes_need(&in, 10));
        assert_int_equal(truncate(path, 10), 0);
        assert_false(sl_bytes_need(&in, file_sizes[i]));
        assert_int_equal(sl_bytes_failure(&in, "a thing", NULL), SL_E_TRUNCATED);
        sl_bytes_close(&in);
        unlink(path);
    }
}

static uint64_t progress_done, progress_total;

static void on_progress(void *ctx, uint64_t done, uint64_t total) {
    ++*(int *)ctx;
    assert_true(done >= progress_done);
    progress_done = done;
    progress_total = total;
}

static void follow_progress(size_t len) {
    const char *path = make_file(len);
    int calls = 0;
    sl_byte_options options = {.progress = on_progress, .progress_ctx = &calls};
    sl_byte_stream in;
    progress_done = 0;
    assert_int_equal(sl_bytes_open(&in, path, &options, NULL), SL_OK);
    while (sl_bytes_need(&in, 1))
        in.at = in.end;
    assert_int_equal(progress_done, len);
    assert_int_equal(progress_total, len);
    assert_true(calls >= 3);
    sl_bytes_close(&in);
    unlink(path);
}

static void test_progress_reaches_the_end(void **state) {
    SL_UNUSED(state);
    for (size_t i = 0; i < SL_COUNT_OF(file_sizes); i++)
        follow_progress(file_sizes[i]);
}

static void test_a_folder_and_a_missing_file(void **state) {
    SL_UNUSED(state);
    sl_byte_stream in;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_bytes_open(&in, "/tmp", NULL, &err), SL_E_OPEN);
    assert_string_equal(err.text, "it is a folder, expected a file");
    sl_bytes_close(&in);
    assert_int_equal(sl_bytes_open(&in, "/tmp/stormlog-no-such-file", NULL, &err), SL_E_OPEN);
    assert_string_equal(err.text, "it cannot be opened: No such file or directory");
    sl_bytes_close(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading_memory_stops_at_its_end),
        cmocka_unit_test(test_windows_slide_over_a_file),
        cmocka_unit_test(test_an_item_larger_than_the_window),
        cmocka_unit_test(test_closing_before_the_end),
        cmocka_unit_test(test_a_false_length_is_not_allocated),
        cmocka_unit_test(test_a_file_cut_short_while_it_is_read),
        cmocka_unit_test(test_progress_reaches_the_end),
        cmocka_unit_test(test_a_folder_and_a_missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
