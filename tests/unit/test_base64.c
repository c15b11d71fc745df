/* SPDX-License-Identifier: MIT */
#include "base/text/base64.h"

#include <stdlib.h>
#include <string.h>

#include "sltest.h"

static char *encode(const void *bytes, size_t cnt) {
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    sl_base64_write(memory, bytes, cnt);
    fclose(memory);
    return text;
}

/* The examples of RFC 4648, section 10. */
static void known_texts(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < SL_COUNT_OF(cases); i++) {
        char *text = encode(cases[i].bytes, strlen(cases[i].bytes));
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

/* Longer than the writer's own buffer, so that it is emptied in between. */
static void input_longer_than_the_buffer_is_encoded_correctly(void **state) {
    SL_UNUSED(state);
    static uint8_t bytes[9000];
    memset(bytes, 0xff, sizeof bytes);
    char *text = encode(bytes, sizeof bytes);
    assert_int_equal(strlen(text), sizeof bytes / 3 * 4);
    assert_int_equal(strspn(text, "/"), sizeof bytes / 3 * 4);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts),
        cmocka_unit_test(input_longer_than_the_buffer_is_encoded_correctly),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
