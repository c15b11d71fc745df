/* SPDX-License-Identifier: MIT */
#include "base/text/json_in.h"

#include <stdio.h>
#include <string.h>

#include "sltest.h"

/* The tokens of a text in short form: {k"..." s"..." i5 f2.5 t n } and, for an error, !text. */
static const char *tokens_of(const char *text, size_t len) {
    static char out[4000];
    size_t used = 0;
    sl_byte_stream in;
    sl_bytes_init(&in, text, len);
    sl_json_in json;
    sl_json_in_init(&json, &in);
    sl_json_token token;
    sl_error err = SL_ERROR_INIT;
    out[0] = '\0';
    while (sl_json_next(&json, &token, &err) >= 0 && token.type != SL_JSON_END) {
        static const char *const shapes[] = {"", "{", "}", "[", "]", "k", "s", "i", "f", "t", "n"};
        char *to = out + used;
        size_t cap = sizeof out - used;
        if (token.type == SL_JSON_KEY || token.type == SL_JSON_STRING)
            snprintf(to, cap, "%s\"%.*s\" ", shapes[token.type], (int)token.text.len,
                     token.text.ptr);
        else if (token.type == SL_JSON_INT)
            snprintf(to, cap, token.is_negative ? "i%lld " : "i%llu ", (unsigned long long)token.u);
        else if (token.type == SL_JSON_FLOAT)
            snprintf(to, cap, "f%g ", token.f);
        else if (token.type == SL_JSON_BOOL)
            snprintf(to, cap, "t%u ", (unsigned)token.u);
        else
            snprintf(to, cap, "%s ", shapes[token.type]);
        used += strlen(to);
    }
    if (err.code < 0)
        snprintf(out + used, sizeof out - used, "!%s", err.text);
    else if (used)
        out[used - 1] = '\0';
    sl_json_in_fini(&json);
    return out;
}

typedef struct json_case {
    const char *text;
    const char *tokens;
} json_case;

static void check(const json_case *cases, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        print_message("# %s\n", cases[i].text);
        assert_string_equal(tokens_of(cases[i].text, strlen(cases[i].text)), cases[i].tokens);
    }
}

static void test_values(void **state) {
    SL_UNUSED(state);
    static const json_case cases[] = {
        {"{}", "{ }"},
        {" [ ] ", "[ ]"},
        {"[1,-2,0]", "[ i1 i-2 i0 ]"},
        {"[18446744073709551615,-9223372036854775808]",
         "[ i18446744073709551615 i-9223372036854775808 ]"},
        {"[18446744073709551616]", "[ f1.84467e+19 ]"},
        {"[-0, -9223372036854775809, 1.5, 2e3, 2E-1]", "[ i0 f-9.22337e+18 f1.5 f2000 f0.2 ]"},
        {"[true,false,null]", "[ t1 t0 n ]"},
        {"{\"a\":{\"b\":[[]]},\"c\":\"d\"}", "{ k\"a\" { k\"b\" [ [ ] ] } k\"c\" s\"d\" }"},
        {"\"a\\\"\\\\\\/\\n\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
         "s\"a\"\\/\nA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\"\\ud800\"", "s\"\xed\xa0\x80\""},
        {"\"\xc3\xa9\"", "s\"\xc3\xa9\""},
        {"5", "i5"},
    };
    check(cases, SL_COUNT_OF(cases));
}

static void test_errors_name_the_byte(void **state) {
    SL_UNUSED(state);
    static const json_case cases[] = {
        {"", "!the input ends at byte 0, inside JSON"},
        {"[1,]", "[ i1 !JSON: expected a value at byte 3, found ']'"},
        {"[1 2]", "[ i1 !JSON: expected ',' or the closing bracket at byte 3, found '2'"},
        {"{1:2}", "{ !JSON: expected a key or '}' at byte 1, found '1'"},
        {"{\"a\" 1}", "{ !JSON: expected ':' at byte 5, found '1'"},
        {"{\"a\":1,}", "{ k\"a\" i1 !JSON: expected a key at byte 7, found '}'"},
        {"[1}", "[ i1 !JSON: expected ',' or the closing bracket at byte 2, found '}'"},
        {"{} x", "{ } !JSON: expected the end at byte 3, found 'x'"},
        {"[nul]", "[ !JSON: expected a value or ']' at byte 1, found 'n'"},
        {"[NaN]", "[ !JSON: expected a value or ']' at byte 1, found 'N'"},
        {"[01]", "[ !JSON: '01' at byte 1 is not a number"},
        {"[1.]", "[ !JSON: '1.' at byte 1 is not a number"},
        {"[-]", "[ !JSON: '-' at byte 1 is not a number"},
        {"[1e]", "[ !JSON: '1e' at byte 1 is not a number"},
        {"[tru", "[ !the input ends at byte 4, inside a JSON value"},
        {"[1.", "[ !the input ends at byte 3, inside a JSON number"},
        {"\"abc", "!the input ends at byte 4, inside a JSON string"},
        {"\"a\\x\"", "!JSON: expected an escape such as \\n or \\u00e9 at byte 2, found '\\'"},
        {"\"a\\u12g4\"", "!JSON: expected an escape such as \\n or \\u00e9 at byte 2, found '\\'"},
        {"\"a\tb\"", "!JSON: expected no control character in a string at byte 2, found 0x09"},
        {"\"a\xff\"", "!JSON: expected UTF-8 at byte 2, found 0xff"},
        {"\"\xc0\x80\"", "!JSON: expected UTF-8 at byte 1, found 0xc0"},
        {"{\"a\":", "{ k\"a\" !the input ends at byte 5, inside JSON"},
    };
    check(cases, SL_COUNT_OF(cases));
}

static void test_depth_is_limited(void **state) {
    SL_UNUSED(state);
    char text[2 * SL_JSON_IN_DEPTH_MAX + 2];
    memset(text, '[', SL_JSON_IN_DEPTH_MAX + 1);
    const char *found = tokens_of(text, SL_JSON_IN_DEPTH_MAX + 1);
    assert_non_null(strstr(found, "!JSON: more than 64 levels of brackets at byte 64"));
    memset(text + SL_JSON_IN_DEPTH_MAX, ']', SL_JSON_IN_DEPTH_MAX);
    assert_null(strchr(tokens_of(text, (size_t)2 * SL_JSON_IN_DEPTH_MAX), '!'));
}

static void test_a_number_without_end(void **state) {
    SL_UNUSED(state);
    char text[400];
    memset(text, '1', sizeof text);
    assert_non_null(strstr(tokens_of(text, sizeof text), "is not a number"));
}

static void test_skip_passes_one_value(void **state) {
    SL_UNUSED(state);
    static const char text[] = "{\"a\":[1,{\"b\":[]}],\"c\":7}";
    sl_byte_stream in;
    sl_bytes_init(&in, text, sizeof text - 1);
    sl_json_in json;
    sl_json_in_init(&json, &in);
    sl_json_token token;
    assert_int_equal(sl_json_next(&json, &token, NULL), SL_OK);
    assert_int_equal(sl_json_next(&json, &token, NULL), SL_OK);
    assert_int_equal(sl_json_next(&json, &token, NULL), SL_OK);
    assert_int_equal(token.type, SL_JSON_BEGIN_ARRAY);
    assert_int_equal(sl_json_skip(&json, &token, NULL), SL_OK);
    assert_int_equal(sl_json_next(&json, &token, NULL), SL_OK);
    assert_int_equal(token.type, SL_JSON_KEY);
    assert_int_equal(token.position, 18);
    assert_memory_equal(token.text.ptr, "c", 1);
    sl_json_in_fini(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors_name_the_byte),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_a_number_without_end),
        cmocka_unit_test(test_skip_passes_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
