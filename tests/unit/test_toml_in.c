/* SPDX-License-Identifier: MIT */
#include "base/text/toml_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"

static void every_kind_of_value_is_read(void **state) {
    SL_UNUSED(state);
    static const char text[] = "top = 1\n"
                               "# a comment\n"
                               "[run] # another\n"
                               "  stacks = \"na\\tive \\u00e9\"\r\n"
                               "ring='C:\\new'\n"
                               "share = false\n"
                               "\"odd key\" = -1_000\n"
                               "[ code ]\n"
                               "user = [\"a\", # one\n  'b',\n]\n"
                               "none = []\n"
                               "ratio = +2.5e1\n";
    sl_toml doc;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_toml_parse(&doc, "x.toml", text, sizeof text - 1, &err), SL_OK);
    assert_int_equal(doc.entries.cnt, 8);
    const sl_toml_entry *e = doc.entries.at;
    assert_string_equal(e[0].table, "");
    assert_int_equal(e[0].value.number, 1);
    assert_string_equal(e[1].table, "run");
    assert_string_equal(e[1].value.text, "na\tive \xc3\xa9");
    assert_int_equal(e[1].place.line, 4);
    assert_int_equal(e[1].place.column, 3);
    assert_int_equal(e[1].value.place.column, 12);
    assert_string_equal(e[2].value.text, "C:\\new");
    assert_int_equal(e[3].value.type, SL_TOML_BOOL);
    assert_int_equal(e[3].value.number, 0);
    assert_string_equal(e[4].key, "odd key");
    assert_int_equal(e[4].value.number, -1000);
    assert_string_equal(e[5].table, "code");
    assert_int_equal(e[5].value.item_cnt, 2);
    assert_string_equal(e[5].value.items[1].text, "b");
    assert_int_equal(e[5].value.items[1].place.line, 10);
    assert_int_equal(e[6].value.item_cnt, 0);
    assert_true(e[7].value.type == SL_TOML_FLOAT && e[7].value.real == 25.0);
    assert_int_equal(e[7].place.line, 13);
    sl_toml_fini(&doc);
}

static void mistakes_are_reported_with_their_position(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"a", "x:1:2: expected '=', found the end of the file"},
        {"a =\nb = 1",
         "x:1:4: expected a string, a number, a boolean or an array, found the end of "
         "the line"},
        {"\n  a = yes", "x:2:7: expected a string, a number, a boolean or an array, found 'yes'"},
        {"a = \"\xc3\xa9\xc3\xa9\" b", "x:1:10: expected the end of the line, found 'b'"},
        {"a = \"x", "x:1:7: expected the closing \", found the end of the file"},
        {"a = \"\\q\"", "x:1:7: expected one of b t n f r u U \" \\ after the backslash, found "
                        "'q\"'"},
        {"a = \"\\ud800\"", "x:1:6: expected the code of a character, found another number"},
        {"a = \"\xff\"", "x:1:6: expected a character of UTF-8 text, found '?\"'"},
        {"a = \"\"\"x\"\"\"", "x:1:5: expected a string on one line, found a multi-line string"},
        {"a = 012", "x:1:5: expected a decimal number, found '012'"},
        {"a = 0x10", "x:1:5: expected a decimal number, found '0x10'"},
        {"a = 2026-11-15", "x:1:5: expected a decimal number, found '2026-11-15'"},
        {"a = 1__0", "x:1:5: expected a decimal number, found '1__0'"},
        {"a = 99999999999999999999", "x:1:5: expected a number of 64 bits, found "
                                     "'99999999999999999999'"},
        {"a = nan", "x:1:5: expected a string, a number, a boolean or an array, found 'nan'"},
        {"a = [1, [2]]", "x:1:9: expected a string, a number, a boolean or ']', found '[2'"},
        {"a = [1 2]", "x:1:8: expected ',' or ']', found '2'"},
        {"a = [1,\n2", "x:2:2: expected ',' or ']', found the end of the file"},
        {"a = {b = 1}", "x:1:5: expected a string, a number, a boolean or an array, found '{b'"},
        {"a.b = 1", "x:1:2: expected '=', found '.b'"},
        {"[a.b]", "x:1:3: expected ']', found '.b'"},
        {"[[a]]", "x:1:1: expected a table such as [run], found an array of tables"},
        {"[a]\n[b]\n[a]", "x:3:1: expected each table once, found 'a' again"},
        {"[]", "x:1:2: expected the name of a table, found ']'"},
        {"a = 1\na = 2", "x:2:1: expected each key of a table once, found 'a' again"},
        {"a = 1 # \x01", "x:1:9: expected a comment without control characters, found '?'"},
        {"= 1", "x:1:1: expected a key or a [table], found '='"},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_toml doc;
        sl_error err = SL_ERROR_INIT;
        assert_int_equal(sl_toml_parse(&doc, "x", rows[i].text, strlen(rows[i].text), &err),
                         SL_E_FORMAT);
        assert_string_equal(err.text, rows[i].error);
        sl_toml_fini(&doc);
    }
}

static void files_beyond_the_limits_are_refused_quickly(void **state) {
    SL_UNUSED(state);
    char *text = NULL;
    size_t len = 0;
    sl_toml doc;
    sl_error err = SL_ERROR_INIT;
    FILE *to = open_memstream(&text, &len);
    for (int i = 0; i < 1025; i++)
        fprintf(to, "k%d = 1\n", i);
    fclose(to);
    assert_int_equal(sl_toml_parse(&doc, "x", text, len, &err), SL_E_FORMAT);
    assert_string_equal(err.text, "x:1025:1: expected at most 1024 keys, found more");
    sl_toml_fini(&doc);
    free(text);
    text = calloc(1, SL_TOML_BYTES_MAX + 1);
    assert_int_equal(sl_toml_parse(&doc, "x", text, SL_TOML_BYTES_MAX + 1, &err), SL_E_LIMIT);
    sl_toml_fini(&doc);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_read),
        cmocka_unit_test(mistakes_are_reported_with_their_position),
        cmocka_unit_test(files_beyond_the_limits_are_refused_quickly),
    };
    return cmocka_run_group_tests_name("toml_in", tests, NULL, NULL);
}
