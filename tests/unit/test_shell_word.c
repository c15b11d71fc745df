/* SPDX-License-Identifier: MIT */
#include "base/text/shell_word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"

static void words_are_quoted_as_expected(void **state) {
    SL_UNUSED(state);
    static const char *const rows[][2] = {
        {"runs/1-a/python3-4.slog", "runs/1-a/python3-4.slog"},
        {"my run/a.slog", "'my run/a.slog'"},
        {"a'b", "'a'\\''b'"},
        {"$(touch x)`id`\\\"!", "'$(touch x)`id`\\\"!'"},
        {"-rf", "./-rf"},
        {"-r f", "./'-r f'"},
        {"~/x", "'~/x'"},
        {"", "''"},
        {"\xc3\xa9.slog", "'\xc3\xa9.slog'"},
    };
    char word[64];
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        assert_true(sl_shell_word(word, sizeof word, rows[i][0]));
        assert_string_equal(word, rows[i][1]);
    }
}

/* The shell itself reads the words back. */
static void a_shell_reads_the_same_text(void **state) {
    SL_UNUSED(state);
    static const char *const texts[] = {"a b",     "a'b''c", "$HOME", "$(echo x)", "`echo x`",
                                        "a;b|c&d", "a\\b",   "*?[x]", "{a,b}",     "#x",
                                        "!!",      "a\"b",   "=x"};
    for (size_t i = 0; i < SL_COUNT_OF(texts); i++) {
        char word[128], command[256], found[128] = "";
        assert_true(sl_shell_word(word, sizeof word, texts[i]));
        snprintf(command, sizeof command, "printf '%%s' %s", word);
        FILE *shell = popen(command, "r");
        assert_non_null(shell);
        size_t len = fread(found, 1, sizeof found - 1, shell);
        assert_int_equal(pclose(shell), 0);
        found[len] = '\0';
        assert_string_equal(found, texts[i]);
    }
}

static void text_that_cannot_be_pasted_is_refused(void **state) {
    SL_UNUSED(state);
    char word[8];
    assert_false(sl_shell_word(word, sizeof word, "a\x1b[2J"));
    assert_false(sl_shell_word(word, sizeof word, "a\n"));
    assert_false(sl_shell_word(word, sizeof word, "\xe2\x80\xae"));
    assert_false(sl_shell_word(word, sizeof word, "too long a"));
    assert_string_equal(word, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_as_expected),
        cmocka_unit_test(a_shell_reads_the_same_text),
        cmocka_unit_test(text_that_cannot_be_pasted_is_refused),
    };
    return cmocka_run_group_tests_name("shell_word", tests, NULL, NULL);
}
