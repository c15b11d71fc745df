/* SPDX-License-Identifier: MIT */
#include "base/text/term.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sltest.h"

static char *wrap(const sl_wrap *how, const char *text) {
    char *out;
    size_t len;
    FILE *to = open_memstream(&out, &len);
    sl_term_wrap(to, how, text);
    fclose(to);
    return out;
}

static void paragraphs_fit_and_keep_their_words(void **state) {
    SL_UNUSED(state);
    char *out = wrap(&(sl_wrap){.first = "- ", .rest = "  ", .columns = 12}, "one two three four");
    assert_string_equal(out, "- one two\n  three four\n");
    free(out);
    out = wrap(&(sl_wrap){.columns = 12}, "  spaces\n\nand lines   fold  ");
    assert_string_equal(out, "spaces and\nlines fold\n");
    free(out);
}

static void no_text_makes_a_line_too_wide(void **state) {
    SL_UNUSED(state);
    static const char *const texts[] = {
        "a/very/long/path/without/any/space/that/goes/on/and/on.py:12 in f",
        "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2",
        "broken \xff\xfe\xfd\xfc\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc bytes",
        "",
    };
    for (size_t i = 0; i < SL_COUNT_OF(texts); i++) {
        char *out = wrap(&(sl_wrap){.first = "  x ", .rest = "    ", .columns = 13}, texts[i]);
        for (char *line = out; *line;) {
            size_t len = strcspn(line, "\n");
            assert_true(sl_term_width(line, len) <= 13);
            assert_int_equal(line[len], '\n');
            line += len + 1;
        }
        free(out);
    }
}

static void widths_count_columns(void **state) {
    SL_UNUSED(state);
    assert_int_equal(sl_term_width("abc", 3), 3);
    assert_int_equal(sl_term_width("\xc3\xa9", 2), 1);         /* e acute */
    assert_int_equal(sl_term_width("e\xcc\x81", 3), 1);        /* combining acute */
    assert_int_equal(sl_term_width("\xe6\xbc\xa2", 3), 2);     /* a CJK character */
    assert_int_equal(sl_term_width("\xf0\x9f\x94\xa5", 4), 2); /* an emoji */
    assert_int_equal(sl_term_width("\xff", 1), 1);
}

static void long_paths_are_shortened_at_the_front(void **state) {
    SL_UNUSED(state);
    char out[64];
    sl_term_fit_path(out, sizeof out, "short.py", 10);
    assert_string_equal(out, "short.py");
    sl_term_fit_path(out, sizeof out, "/home/user/project/train.py", 12);
    assert_string_equal(out, ".../train.py");
}

static void control_characters_never_reach_the_terminal(void **state) {
    SL_UNUSED(state);
    char *out = wrap(&(sl_wrap){0}, "a\x1b[2Jb \xc2\x9b"
                                    "31m \x7f\r");
    assert_string_equal(out, "a?[2Jb ?31m ??\n");
    free(out);
    char path[64];
    sl_term_fit_path(path, sizeof path, "x\x1b]0;y\x07\xff.py", 40);
    assert_string_equal(path, "x?]0;y??.py");
}

/* Measured once per character: a name of 1 MB took hours when each cut measured the rest again. */
static void long_names_take_linear_time(void **state) {
    SL_UNUSED(state);
    size_t len = 1 << 20;
    char *name = malloc(len + 1), out[64];
    memset(name, 'x', len);
    name[len] = '\0';
    sl_term_fit_path(out, sizeof out, name, 12);
    assert_string_equal(out, "...xxxxxxxxx");
    char *wrapped = wrap(&(sl_wrap){0}, name);
    assert_int_equal(strlen(wrapped), len + (len + SL_TERM_COLUMNS - 1) / SL_TERM_COLUMNS);
    free(wrapped);
    free(name);
}

static void characters_that_reorder_text_are_replaced(void **state) {
    SL_UNUSED(state);
    char text[] = "a\xe2\x80\xae.py \xe2\x81\xa6x\xe2\x80\x8f \xc3\xa9";
    sl_term_clean(text);
    assert_string_equal(text, "a???.py ???x??? \xc3\xa9");
    char *printed = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&printed, &len);
    sl_term_printf(to, "%s\n%s\n", "\x1b[2Jone", "two\xe2\x80\xae");
    fclose(to);
    assert_string_equal(printed, "?[2Jone\ntwo?\n");
    free(printed);
}

static void colour_needs_a_terminal_and_consent(void **state) {
    SL_UNUSED(state);
    FILE *file = tmpfile();
    assert_false(sl_term_has_color(file));
    fclose(file);
    assert_string_equal(sl_term_sgr(false, SL_STYLE_BAD), "");
    assert_string_equal(sl_term_sgr(true, SL_STYLE_PLAIN), "\x1b[0m");
}

static void columns_come_from_the_environment_within_limits(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text;
        size_t columns;
    } rows[] = {{"120", 120}, {"1", 40},  {"0", 80}, {"1000", 200},
                {"", 80},     {"-1", 80}, {"9x", 80}};
    FILE *to = tmpfile();
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        setenv("COLUMNS", rows[i].text, 1);
        assert_int_equal(sl_term_columns_of(to), rows[i].columns);
    }
    setenv("COLUMNS", "50", 1);
    assert_int_equal(sl_term_columns(), 80); /* nobody followed anything */
    sl_term_follow(to);
    assert_int_equal(sl_term_columns(), 50);
    unsetenv("COLUMNS");
    sl_term_follow(to);
    assert_int_equal(sl_term_columns(), 80);
    fclose(to);
}

static void links_contain_only_plain_characters(void **state) {
    SL_UNUSED(state);
    char url[SL_TERM_URL_CAP], host[256] = "", expected[600];
    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "file://%s/a%%20b/%%1B%%5D8%%C3%%A9%%23.py#12", host);
    assert_string_equal(sl_term_file_url(url, "/a b/\x1b]8\xc3\xa9#.py", 12), expected);
    snprintf(expected, sizeof expected, "file://%s/a.py", host);
    assert_string_equal(sl_term_file_url(url, "/a.py", 0), expected);
    assert_string_equal(sl_term_file_url(url, "train.py", 3), "");
    assert_string_equal(sl_term_file_url(url, "<string>", 3), "");
    char *longest = calloc(1, 100000);
    memset(longest, '/', 99999);
    assert_string_equal(sl_term_file_url(url, longest, 3), "");
    free(longest);
    char *out = wrap(&(sl_wrap){.first = "at ", .columns = 8, .link = "file://h/x"}, "one two");
    assert_string_equal(out, "at \x1b]8;;file://h/x\x1b\\one\x1b]8;;\x1b\\\n"
                             "\x1b]8;;file://h/x\x1b\\two\x1b]8;;\x1b\\\n");
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_fit_and_keep_their_words),
        cmocka_unit_test(no_text_makes_a_line_too_wide),
        cmocka_unit_test(widths_count_columns),
        cmocka_unit_test(long_paths_are_shortened_at_the_front),
        cmocka_unit_test(control_characters_never_reach_the_terminal),
        cmocka_unit_test(long_names_take_linear_time),
        cmocka_unit_test(characters_that_reorder_text_are_replaced),
        cmocka_unit_test(colour_needs_a_terminal_and_consent),
        cmocka_unit_test(columns_come_from_the_environment_within_limits),
        cmocka_unit_test(links_contain_only_plain_characters),
    };
    return cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
