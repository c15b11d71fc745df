/* SPDX-License-Identifier: MIT
 *
 * A recording cut off at every byte of its header and of its last pages, with thousands of flipped
 * bits, and with pieces of it overwritten: always a clear error or a readable log, never a crash.
 * The bytes are given to the reader in a heap block of exactly their size, so that ASan sees one
 * byte too many.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/read/log_fsck.h"
#include "log_fixture.h"
#include "sltest.h"

static uint8_t *sample;
static size_t sample_bytes;

static uint64_t random_state = 1;

static uint64_t random_next(void) {
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    return fixture_hash(random_state);
}

/* SL_OK when it opened and everything in it could be walked through. */
static sl_status read_everything(const uint8_t *bytes, size_t len, sl_error *err) {
    sl_log_reader *r;
    sl_fsck_report report;
    SL_TRY(sl_log_open_bytes(bytes, len, &r, err));
    sl_status status = sl_log_fsck(r, &report, err);
    if (status >= 0) {
        if (report.problems.cnt > 0)
            status = sl_fail(err, SL_E_FORMAT, "%s", report.problems.at[0].text);
        sl_log_fsck_fini(&report);
    }
    sl_log_reader_close(r);
    return status;
}

static void expect_clear(const uint8_t *bytes, size_t len) {
    sl_error err = SL_ERROR_INIT;
    sl_status status = read_everything(bytes, len, &err);
    assert_true(status >= 0 || err.text[0] != 0);
    assert_int_not_equal(status, SL_E_INTERNAL);
}

static void expect_cut(size_t len) {
    uint8_t *copy = malloc(len ? len : 1);
    sl_error err = SL_ERROR_INIT;
    memcpy(copy, sample, len);
    assert_int_equal(read_everything(copy, len, &err), SL_E_TRUNCATED);
    assert_true(err.position >= 0 && (size_t)err.position <= len);
    assert_non_null(strstr(err.text, "expected"));
    free(copy);
}

static void cut_at_every_byte_of_the_header(void **state) {
    SL_UNUSED(state);
    for (size_t len = 0; len < 8192; len++)
        expect_cut(len);
}

static void cut_at_every_byte_of_the_last_pages(void **state) {
    SL_UNUSED(state);
    for (size_t len = sample_bytes - 8192; len < sample_bytes; len++)
        expect_cut(len);
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(read_everything(sample, sample_bytes, &err), SL_OK);
}

static void flipped_bits(void **state) {
    SL_UNUSED(state);
    uint8_t *copy = malloc(sample_bytes);
    for (int i = 0; i < 4000; i++) {
        memcpy(copy, sample, sample_bytes);
        for (uint64_t n = 1 + random_next() % 3; n > 0; n--) {
            size_t at = random_next() % sample_bytes;
            copy[at] = (uint8_t)(copy[at] ^ 1u << random_next() % 8);
        }
        expect_clear(copy, sample_bytes);
    }
    free(copy);
}

/* The same with a valid checksum: what wrong numbers in the header can do. */
static void wrong_numbers_in_headers(void **state) {
    SL_UNUSED(state);
    static const uint64_t values[] = {
        0, 1, 7, 255, 4096, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};
    uint8_t *copy = malloc(sample_bytes);
    for (size_t at = 16; at < 1144; at += 4)
        for (size_t v = 0; v < SL_COUNT_OF(values); v++) {
            memcpy(copy, sample, sample_bytes);
            memcpy(copy + at, &values[v], at % 8 ? 4 : 8);
            sl_fmt_header *h = (sl_fmt_header *)(void *)copy;
            h->header_crc = sl_header_crc(h);
            expect_clear(copy, sample_bytes);
        }
    free(copy);
}

static void wrong_words_anywhere(void **state) {
    SL_UNUSED(state);
    uint8_t *copy = malloc(sample_bytes);
    for (int i = 0; i < 4000; i++) {
        memcpy(copy, sample, sample_bytes);
        size_t at = 4096 + random_next() % (sample_bytes - 4096 - 8) / 8 * 8;
        uint64_t value = i % 3 == 0 ? UINT64_MAX : i % 3 == 1 ? random_next() % 64 : random_next();
        memcpy(copy + at, &value, sizeof value);
        expect_clear(copy, sample_bytes);
    }
    free(copy);
}

static int make_sample(void **state) {
    SL_UNUSED(state);
    char path[100];
    uint32_t stacks[FIXTURE_STACKS];
    static fixture_thread sequence;
    sl_log *log;
    snprintf(path, sizeof path, "/tmp/stormlog-damage-%d.slog", (int)getpid());
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .chunk_bytes = 1024,
                        .ring_bytes = 16384,
                        .string_bytes = 1024,
                        .frame_cap = 16,
                        .stack_cap = 16,
                        .site_cap = 16,
                        .live_cap = 64,
                        .live_levels = 3,
                        .thread_cap = 2,
                        .counter_cap = 2,
                        .curve_bins = 16,
                        .mark_cap = 8,
                        .alert_cap = 2,
                        .oom_cap = 2,
                        .reserve_all = true};
    if (sl_log_create(&o, &log, NULL) < 0)
        return -1;
    fixture_stacks(log, stacks);
    for (int i = 0; i < 300; i++) {
        fixture_event e = fixture_next(&sequence);
        e.tag = 0;
        fixture_write(log, stacks, &e);
    }
    sl_log_step(log, 1, 0);
    sl_log_alert_add(log, &(sl_log_alert){.device = 0});
    sl_log_oom_add(log, &(sl_log_oom){.device = 0});
    sl_log_close(log);
    int fd = open(path, O_RDONLY);
    sample_bytes = (size_t)lseek(fd, 0, SEEK_END);
    sample = malloc(sample_bytes);
    bool is_read = pread(fd, sample, sample_bytes, 0) == (ssize_t)sample_bytes;
    close(fd);
    unlink(path);
    return is_read ? 0 : -1;
}

static int free_sample(void **state) {
    SL_UNUSED(state);
    free(sample);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte_of_the_header),
        cmocka_unit_test(cut_at_every_byte_of_the_last_pages),
        cmocka_unit_test(flipped_bits),
        cmocka_unit_test(wrong_numbers_in_headers),
        cmocka_unit_test(wrong_words_anywhere),
    };
    return cmocka_run_group_tests(tests, make_sample, free_sample);
}
