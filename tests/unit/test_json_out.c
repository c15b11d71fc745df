/* SPDX-License-Identifier: MIT */
#include "base/text/json_out.h"

#include <math.h>
#include <stdlib.h>

#include "base/text/utf8.h"
#include "sltest.h"

typedef void (*writer)(sl_json_out *json);

static void assert_writes(int indent, writer write, const char *expected) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    sl_json_out json;
    sl_json_init(&json, to, indent);
    write(&json);
    assert_int_equal(sl_json_finish(&json, NULL), SL_OK);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
}

static void write_nested(sl_json_out *json) {
    sl_json_begin_object(json);
    sl_json_key(json, "a");
    sl_json_begin_array(json);
    sl_json_u64(json, UINT64_MAX);
    sl_json_i64(json, INT64_MIN);
    sl_json_bool(json, true);
    sl_json_end_array(json);
    sl_json_key(json, "b");
    sl_json_begin_object(json);
    sl_json_end_object(json);
    sl_json_key(json, "c");
    sl_json_maybe_u64(json, (sl_maybe_u64){7, false});
    sl_json_end_object(json);
}

static void nesting_and_commas(void **state) {
    SL_UNUSED(state);
    assert_writes(0, write_nested,
                  "{\"a\":[18446744073709551615,-9223372036854775808,true],\"b\":{},\"c\":null}\n");
    assert_writes(
        2, write_nested,
        "{\n  \"a\": [\n    18446744073709551615,\n    -9223372036854775808,\n    true\n  ],\n"
        "  \"b\": {},\n  \"c\": null\n}\n");
}

static void write_hostile_text(sl_json_out *json) {
    sl_json_str(json, SL_STR("</script>\"\\\n\x01\xff\xed\xa0\x80 \xc3\xa9"));
}

static void text_is_escaped_and_repaired(void **state) {
    SL_UNUSED(state);
    assert_writes(0, write_hostile_text,
                  "\"<\\/script>\\\"\\\\\\n\\u0001\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                  "\xc3\xa9\"\n");
}

static void write_numbers(sl_json_out *json) {
    sl_json_begin_array(json);
    sl_json_f64(json, 0.1);
    sl_json_f64(json, 1.0 / 3);
    sl_json_f64(json, NAN);
    sl_json_f64(json, INFINITY);
    sl_json_f64(json, 1e300);
    sl_json_end_array(json);
}

static void doubles_read_back_and_are_never_nan(void **state) {
    SL_UNUSED(state);
    assert_writes(0, write_numbers, "[0.1,0.3333333333333333,null,null,1e+300]\n");
}

static void a_full_disk_is_reported(void **state) {
    SL_UNUSED(state);
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip_because("no /dev/full here");
    sl_json_out json;
    sl_json_init(&json, full, 0);
    sl_json_bool(&json, true);
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_json_finish(&json, &err), SL_E_NOSPACE);
    fclose(full);
}

static void utf8_lengths(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *bytes;
        size_t left, length;
    } rows[] = {{"a", 1, 1},
                {"\xc3\xa9", 2, 2},
                {"\xc3\xa9", 1, 0},
                {"\xe2\x82\xac", 3, 3},
                {"\xf0\x9f\x98\x80", 4, 4},
                {"\xc0\x80", 2, 0},
                {"\xe0\x80\x80", 3, 0},
                {"\xed\xa0\x80", 3, 0},
                {"\xf4\x90\x80\x80", 4, 0},
                {"\x80", 1, 0},
                {"", 0, 0}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_int_equal(sl_utf8_length(rows[i].bytes, rows[i].left), rows[i].length);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_and_commas),
        cmocka_unit_test(text_is_escaped_and_repaired),
        cmocka_unit_test(doubles_read_back_and_are_never_nan),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(utf8_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
