/* SPDX-License-Identifier: MIT */
/* SHA-256 against the examples of FIPS 180-4, and fed in pieces of every size. */
#include <string.h>

#include "base/files/sha256.h"
#include "sltest.h"

static void expect_sum(const char *text, size_t len, const char *expected) {
    char hex[SL_SHA256_HEX_CAP];
    for (size_t piece = 1; piece <= 130; piece += 43) {
        sl_sha256 sha;
        sl_sha256_init(&sha);
        for (size_t at = 0; at < len; at += piece)
            sl_sha256_add(&sha, text + at, len - at < piece ? len - at : piece);
        sl_sha256_hex(&sha, hex);
        assert_string_equal(hex, expected);
    }
    assert_true(sl_sha256_is_hex((sl_str){hex, strlen(hex)}));
}

static void test_examples(void **state) {
    SL_UNUSED(state);
    expect_sum("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_sum("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* A million times "a", with the lengths around the padding's border checked against it on the way. */
static void test_long(void **state) {
    SL_UNUSED(state);
    static char text[1000000];
    memset(text, 'a', sizeof text);
    expect_sum(text, sizeof text,
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    expect_sum(text, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    expect_sum(text, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

static void test_is_hex(void **state) {
    SL_UNUSED(state);
    assert_false(sl_sha256_is_hex((sl_str){"abc", 3}));
    assert_false(sl_sha256_is_hex(
        (sl_str){"E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 64}));
    assert_false(sl_sha256_is_hex((sl_str){NULL, 0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_is_hex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
