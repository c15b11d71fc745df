/* SPDX-License-Identifier: MIT */
#include "base/text/utf8.h"

#include <string.h>

#include "sltest.h"

typedef struct row {
    const char *text;
    size_t len; /* of the first character */
    bool is_safe;
} row;

static void unsafe_characters_are_recognised(void **state) {
    SL_UNUSED(state);
    static const row rows[] = {
        {"a", 1, true},
        {" ", 1, true},
        {"\xc3\xa9", 2, true},          /* e acute */
        {"\xd7\x90", 2, true},          /* a Hebrew letter: its own direction is fine */
        {"\xe2\x80\x8d", 3, true},      /* U+200D joins emoji */
        {"\xf0\x9f\x94\xa5", 4, true},  /* an emoji */
        {"\x1b[2J", 1, false},          /* escape */
        {"\r", 1, false},               /* return */
        {"\x7f", 1, false},             /* DEL */
        {"\xc2\x9b", 2, false},         /* C1: begins a control sequence */
        {"\x9b", 1, false},             /* the same as a byte */
        {"\xe2\x80\x8e", 3, false},     /* U+200E */
        {"\xe2\x80\x8f", 3, false},     /* U+200F */
        {"\xe2\x80\xa8", 3, false},     /* U+2028 line separator */
        {"\xe2\x80\xaa", 3, false},     /* U+202A */
        {"\xe2\x80\xae", 3, false},     /* U+202E */
        {"\xe2\x81\xa6", 3, false},     /* U+2066 */
        {"\xe2\x81\xa9", 3, false},     /* U+2069 */
        {"\xef\xbb\xbf", 3, false},     /* U+FEFF */
        {"\xf3\xa0\x81\x81", 4, false}, /* U+E0041, a tag */
        {"\xed\xa0\x80", 1, false},     /* a surrogate is not UTF-8 */
        {"\xc0\xaf", 1, false},         /* overlong */
        {"\xe2\x80", 1, false},         /* cut */
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_utf8_char next = sl_utf8_next(rows[i].text, strlen(rows[i].text));
        if (next.len != rows[i].len || next.is_safe != rows[i].is_safe)
            fail_msg("row %zu: expected %zu bytes, safe %d; found %zu, %d", i, rows[i].len,
                     rows[i].is_safe, next.len, next.is_safe);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unsafe_characters_are_recognised)};
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
