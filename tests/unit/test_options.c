/* SPDX-License-Identifier: MIT */
#include "base/core/options.h"

#include <string.h>

#include "sltest.h"

static const sl_opt table[] = {
    {.name = "format",
     .short_name = 'f',
     .type = SL_OPT_CHOICE,
     .choices = "txt|json|md",
     .initial = "txt",
     .help = "x"},
    {.name = "output", .short_name = 'o', .type = SL_OPT_FILE, .help = "x"},
    {.name = "verbose", .short_name = 'v', .type = SL_OPT_FLAG, .help = "x"},
    {.name = "quiet", .short_name = 'q', .type = SL_OPT_FLAG, .help = "x"},
    {.name = "count", .short_name = 'n', .type = SL_OPT_INT, .min = 1, .max = 10, .help = "x"},
    {.name = "tag", .type = SL_OPT_STRING, .is_repeated = true, .help = "x"},
};

static sl_status parse(sl_opts *opts, sl_error *err, int argc, const char *const *argv) {
    assert_int_equal(sl_opts_init(opts, table, SL_COUNT_OF(table), err), SL_OK);
    return sl_opts_parse(opts, argc, (char *const *)argv, err);
}

#define PARSE(opts, err, ...)                                                \
    parse(opts, err, (int)SL_COUNT_OF(((const char *const[]){__VA_ARGS__})), \
          (const char *const[]){__VA_ARGS__})

static void every_spelling_of_a_value(void **state) {
    SL_UNUSED(state);
    static const char *const spellings[][3] = {
        {"--format", "json", "x"}, {"--format=json", "x", NULL}, {"-f", "json", "x"},
        {"-fjson", "x", NULL},     {"-vfjson", "x", NULL},
    };
    for (size_t i = 0; i < SL_COUNT_OF(spellings); i++) {
        sl_opts opts;
        sl_error err = SL_ERROR_INIT;
        assert_int_equal(parse(&opts, &err, spellings[i][2] ? 3 : 2, spellings[i]), SL_OK);
        assert_string_equal(sl_opts_text(&opts, "format"), "json");
        assert_int_equal(sl_opts_number(&opts, "format"), 1);
        assert_int_equal(opts.operands.cnt, 1);
        sl_opts_fini(&opts);
    }
}

static void defaults_are_used_until_a_value_is_given(void **state) {
    SL_UNUSED(state);
    sl_opts opts;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(PARSE(&opts, &err, "a", "b"), SL_OK);
    assert_string_equal(sl_opts_text(&opts, "format"), "txt");
    assert_false(sl_opts_is_given(&opts, "format"));
    assert_null(sl_opts_text(&opts, "output"));
    assert_false(sl_opts_flag(&opts, "verbose"));
    assert_int_equal(opts.operands.cnt, 2);
    sl_opts_fini(&opts);
}

static void flags_can_be_combined_and_two_dashes_end_options(void **state) {
    SL_UNUSED(state);
    sl_opts opts;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(PARSE(&opts, &err, "-vq", "-", "--", "--format", "-v"), SL_OK);
    assert_true(sl_opts_flag(&opts, "verbose"));
    assert_true(sl_opts_flag(&opts, "quiet"));
    assert_int_equal(opts.operands.cnt, 3);
    assert_string_equal(opts.operands.at[0], "-");
    assert_string_equal(opts.operands.at[1], "--format");
    sl_opts_fini(&opts);
}

static void options_after_a_command_belong_to_it(void **state) {
    SL_UNUSED(state);
    static const char *const argv[] = {"-v", "python", "--format", "train.py"};
    sl_opts opts;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_opts_init(&opts, table, SL_COUNT_OF(table), &err), SL_OK);
    opts.stops_at_operand = true;
    assert_int_equal(sl_opts_parse(&opts, 4, (char *const *)argv, &err), SL_OK);
    assert_int_equal(opts.operands.cnt, 3);
    assert_string_equal(opts.operands.at[1], "--format");
    sl_opts_fini(&opts);
}

static void repeated_options_keep_every_value(void **state) {
    SL_UNUSED(state);
    sl_opts opts;
    sl_error err = SL_ERROR_INIT;
    size_t cursor = 0;
    assert_int_equal(PARSE(&opts, &err, "--tag", "a", "--count=3", "--tag=b"), SL_OK);
    assert_string_equal(sl_opts_next(&opts, "tag", &cursor)->text, "a");
    assert_string_equal(sl_opts_next(&opts, "tag", &cursor)->text, "b");
    assert_null(sl_opts_next(&opts, "tag", &cursor));
    sl_opts_fini(&opts);
}

static void messages_of_mistakes_say_what_to_do(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *argv[2];
        int argc;
        const char *part;
    } rows[] = {
        {{"--formt", "x"}, 2, "did you mean '--format'?"},
        {{"--form", "json"}, 2, "did you mean '--format'?"}, /* no abbreviations */
        {{"--zzzzzz", "x"}, 2, "unknown option '--zzzzzz'"},
        {{"-z", "x"}, 2, "unknown option '-z'"},
        {{"--format", NULL}, 1, "needs a value: --format txt|json|md"},
        {{"-f", NULL}, 1, "needs a value"},
        {{"--format", "jsn"}, 2, "did you mean 'json'?"},
        {{"--verbose=yes", NULL}, 1, "takes no value"},
        {{"--count", "11"}, 2, "11 is outside 1 to 10"},
        {{"--count", "3x"}, 2, "'3x' is not a whole number"},
        {{"--count", ""}, 2, "'' is not a whole number"},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_opts opts;
        sl_error err = SL_ERROR_INIT;
        assert_int_equal(parse(&opts, &err, rows[i].argc, rows[i].argv), SL_E_USAGE);
        if (!strstr(err.text, rows[i].part))
            fail_msg("row %zu: expected '%s' in '%s'", i, rows[i].part, err.text);
        sl_opts_fini(&opts);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_value),
        cmocka_unit_test(defaults_are_used_until_a_value_is_given),
        cmocka_unit_test(flags_can_be_combined_and_two_dashes_end_options),
        cmocka_unit_test(options_after_a_command_belong_to_it),
        cmocka_unit_test(repeated_options_keep_every_value),
        cmocka_unit_test(messages_of_mistakes_say_what_to_do),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
