/* SPDX-License-Identifier: MIT */
/* Bytes as CPython's own pickle.dumps(value, protocol=4) writes them, FRAME and MEMOIZE aside. */
#include "export/formats/pickle_out.h"

#include <stdlib.h>
#include <string.h>

#include "sltest.h"

typedef struct memory {
    char *text;
    size_t len;
    FILE *to;
    sl_pickle_out pickle;
} memory;

static void begin(memory *out) {
    out->to = open_memstream(&out->text, &out->len);
    sl_pickle_out_begin(&out->pickle, out->to);
}

/* Ends the pickle and compares everything after the two bytes of PROTO. */
static void expect(memory *out, const char *bytes, size_t len) {
    sl_pickle_out_end(&out->pickle);
    fclose(out->to);
    assert_int_equal(out->len, len + 3);
    assert_memory_equal(out->text, "\x80\x04", 2);
    assert_memory_equal(out->text + 2, bytes, len);
    assert_int_equal(out->text[out->len - 1], '.');
    free(out->text);
}

#define EXPECT(out, literal) expect(out, literal, sizeof(literal) - 1)

static void integers_take_the_shortest_form(void **state) {
    SL_UNUSED(state);
    static const struct {
        int64_t value;
        const char *bytes;
        size_t len;
    } rows[] = {
        {0, "K\0", 2},
        {255, "K\xff", 2},
        {256, "M\x00\x01", 3},
        {65536, "J\x00\x00\x01\x00", 5},
        {INT32_MAX, "J\xff\xff\xff\x7f", 5},
        {(int64_t)INT32_MAX + 1, "\x8a\x05\x00\x00\x00\x80\x00", 7},
        {-1, "J\xff\xff\xff\xff", 5},
        {INT32_MIN, "J\x00\x00\x00\x80", 5},
        {(int64_t)INT32_MIN - 1, "\x8a\x05\xff\xff\xff\x7f\xff", 7},
        {0x7f1234567890, "\x8a\x06\x90\x78\x56\x34\x12\x7f", 8},
        {INT64_MIN, "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", 10},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        memory out;
        begin(&out);
        sl_pickle_out_i64(&out.pickle, rows[i].value);
        expect(&out, rows[i].bytes, rows[i].len);
    }
    memory out;
    begin(&out);
    sl_pickle_out_u64(&out.pickle, UINT64_MAX);
    EXPECT(&out, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00");
}

static void strings_are_always_valid_utf8(void **state) {
    SL_UNUSED(state);
    memory out;
    begin(&out);
    sl_pickle_out_str(&out.pickle, SL_STR("a\xff"));
    EXPECT(&out, "\x8c\x04"
                 "a\xef\xbf\xbd");
    char long_text[300];
    memset(long_text, 'x', sizeof long_text);
    begin(&out);
    sl_pickle_out_str(&out.pickle, (sl_str){long_text, sizeof long_text});
    sl_pickle_out_end(&out.pickle);
    fclose(out.to);
    assert_memory_equal(out.text + 2, "X\x2c\x01\x00\x00", 5);
    free(out.text);
}

static void a_shared_string_is_written_once(void **state) {
    SL_UNUSED(state);
    memory out;
    uint32_t memo = SL_PICKLE_NO_MEMO;
    begin(&out);
    sl_pickle_out_shared_str(&out.pickle, SL_STR("k"), &memo);
    sl_pickle_out_shared_str(&out.pickle, SL_STR("k"), &memo);
    out.pickle.memo_next = 300;
    memo = 299;
    sl_pickle_out_shared_str(&out.pickle, SL_STR("k"), &memo);
    EXPECT(&out, "\x8c\x01k\x94h\x00j\x2b\x01\x00\x00");
}

static void long_lists_are_written_in_batches(void **state) {
    SL_UNUSED(state);
    memory out;
    size_t appends = 0, marks = 0;
    begin(&out);
    sl_pickle_out_empty_list(&out.pickle);
    for (size_t i = 0; i < 2001; i++) {
        sl_pickle_out_list_item(&out.pickle, i);
        sl_pickle_out_bool(&out.pickle, true);
    }
    sl_pickle_out_list_end(&out.pickle, 2001);
    sl_pickle_out_end(&out.pickle);
    fclose(out.to);
    for (size_t i = 2; i < out.len; i++) {
        appends += out.text[i] == 'e';
        marks += out.text[i] == '(';
    }
    assert_int_equal(appends, 3);
    assert_int_equal(marks, 3);
    free(out.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_take_the_shortest_form),
        cmocka_unit_test(strings_are_always_valid_utf8),
        cmocka_unit_test(a_shared_string_is_written_once),
        cmocka_unit_test(long_lists_are_written_in_batches),
    };
    return cmocka_run_group_tests_name("pickle_out", tests, NULL, NULL);
}
