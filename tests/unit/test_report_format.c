/* SPDX-License-Identifier: MIT */
/* The four forms of one hand-made report, with names that try to break each of them. */
#include "export/report/report_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/term.h"
#include "export/report/report_words.h"
#include "sltest.h"

#define EVIL_FILE "/home/<b>/|x|\x1b[2J\"&`/very/long/path/that/does/not/fit/a/line/train.py"

typedef struct fixture {
    sl_trace *trace;
    sl_report *report;
    sl_holding holdings[2];
    sl_evidence evidence[2];
} fixture;

static uint32_t add_stack(sl_trace *trace, const char *file, uint32_t line) {
    sl_frame inner = {.function = sl_strtab_intern(&trace->strings, "forward", 7),
                      .file = sl_strtab_intern(&trace->strings, "/lib/torch/nn.py", 16),
                      .line = 114};
    sl_frame user = {.function = sl_strtab_intern(&trace->strings, "train", 5),
                     .file = sl_strtab_intern(&trace->strings, file, strlen(file)),
                     .line = line};
    uint32_t ids[] = {sl_stacks_intern_frame(&trace->stacks, inner),
                      sl_stacks_intern_frame(&trace->stacks, user)};
    return sl_stacks_intern(&trace->stacks, ids, 2);
}

static void add_finding(fixture *fix) {
    fix->evidence[0] = (sl_evidence){"growth share", 0.93, "1", 0.5, ">="};
    fix->evidence[1] = (sl_evidence){"age", 1e6, "us", (double)NAN, NULL};
    sl_finding leak = {
        .kind = SL_FINDING_LEAK,
        .decides = SL_VERDICT_LEAK,
        .trace = fix->trace,
        .severity = SL_SEV_CRITICAL,
        .confidence = 0.98,
        .site = fix->holdings[0].site,
        .subkind = "graph retention",
        .bytes = sl_known_u64(1 << 30),
        .blocks = sl_known_u64(1200),
        .bytes_per_step = sl_known_f64(1 << 20),
        .r_squared = sl_known_f64(0.9987),
        .first_time_us = 1000,
        .last_time_us = 9000,
        .title = "live memory grows at one line <i>|",
        .explanation = "Blocks of this line are never freed.",
        .advice = "Keep loss.item() instead of loss.",
        .evidence = fix->evidence,
        .evidence_cnt = 2,
    };
    assert_true(sl_vec_push(&fix->report->findings, leak));
}

static int set_up(void **state) {
    fixture *fix = calloc(1, sizeof *fix);
    fix->trace = sl_trace_new("snap.pickle", SL_SOURCE_TORCH_SNAPSHOT);
    fix->trace->has_time = true;
    sl_trace_note(fix->trace, "a note about <the> input");
    fix->report = sl_report_new();
    fix->report->verdict = SL_VERDICT_LEAK;
    for (size_t i = 0; i < 2; i++) {
        sl_site site = {.trace = fix->trace,
                        .stack_id = add_stack(fix->trace, i ? "b.py" : EVIL_FILE, 9),
                        .frame_pos = 1};
        fix->holdings[i] = (sl_holding){site, i ? 1 << 20 : 1 << 30, i ? 3 : 1200};
    }
    sl_device_report device = {
        .trace = fix->trace,
        .has_history = true,
        .events = 100,
        .live_requested_bytes = 1 << 30,
        .peak_requested_bytes = (1 << 30) + 5,
        .peak_time_us = 5000,
        .first_time_us = 1000,
        .last_time_us = 9000,
        .top_live = {fix->holdings, 2, 77, 1},
        .identity_holds = true,
    };
    assert_true(sl_vec_push(&fix->report->devices, device));
    assert_true(sl_vec_push(&fix->report->inputs,
                            ((sl_report_input){.trace = fix->trace, .verdict = SL_VERDICT_LEAK})));
    add_finding(fix);
    *state = fix;
    return 0;
}

static int tear_down(void **state) {
    fixture *fix = *state;
    sl_report_free(fix->report);
    sl_trace_free(fix->trace);
    free(fix);
    return 0;
}

static char *print(const fixture *fix, const char *format, const sl_report_wishes *wishes) {
    char *text;
    size_t len;
    sl_error err = SL_ERROR_INIT;
    FILE *to = open_memstream(&text, &len);
    assert_int_equal(sl_report_format_find(format)->write(fix->report, wishes, to, &err), SL_OK);
    fclose(to);
    return text;
}

static void expect(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("expected '%s' in:\n%s", part, text);
}

static void text_fits_the_width_and_starts_with_the_verdict(void **state) {
    char *text = print(*state, "txt", &(sl_report_wishes){.top = 5, .explains = true});
    assert_int_equal(strncmp(text, "Leak: ", 6), 0);
    expect(text, "leaks 1.00 MiB per step");
    expect(text, "1.00 GiB in 1,200 blocks");
    expect(text, "Keep loss.item() instead of loss.");
    expect(text, "growth share: 0.93 (>= 0.5)");
    expect(text, "age: 1.00 s");
    expect(text, "/very/long/path/that/does/not/fit/a/line/train.py:9\n              in ");
    expect(text, "a note about <the> input");
    assert_null(strchr(text, '\x1b'));
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        bool is_where = strncmp(line, "  where ", 8) == 0; /* its path is never cut */
        if (sl_term_width(line, len) > SL_TERM_COLUMNS && !is_where)
            fail_msg("too wide: %.*s", (int)len, line);
        line += len + (line[len] == '\n');
    }
    free(text);
}

static void colour_changes_nothing_else(void **state) {
    char *plain = print(*state, "txt", &(sl_report_wishes){.top = 5});
    char *colored = print(*state, "txt", &(sl_report_wishes){.top = 5, .has_color = true});
    char *to = colored;
    for (const char *from = colored; *from;) {
        if (*from == '\x1b')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    assert_string_equal(colored, plain);
    free(plain);
    free(colored);
}

static void json_has_null_for_unknown(void **state) {
    char *text = print(*state, "json", &(sl_report_wishes){.top = 5});
    expect(text, "\"schema\": \"stormlog.report/1\"");
    expect(text, "\"verdict\": \"leak\"");
    expect(text, "\"live_bytes\": null");
    expect(text, "\"bytes_per_second\": null");
    expect(text, "\"dropped_events\": null");
    expect(text, "\"oom\": null");
    expect(text, "\"bytes_per_step\": 1048576");
    expect(text, "\"threshold\": null");
    expect(text, "\\u001b[2J");
    free(text);
}

/* Twenty lines of equal size: three rows would hide 85 %. Without --top the list grows until at most a
 * quarter is left. */
static void lists_name_most_of_the_bytes(void **state) {
    (void)state;
    sl_holding rows[20];
    for (size_t i = 0; i < 20; i++)
        rows[i] = (sl_holding){.bytes = 100, .blocks = 1};
    sl_holdings list = {.at = rows, .cnt = 20};
    assert_int_equal(sl_report_rows(&(sl_report_wishes){.top = 3, .fills_lists = true}, &list), 15);
    assert_int_equal(sl_report_rows(&(sl_report_wishes){.top = 3}, &list), 3);
    rows[0].bytes = 1 << 20;
    assert_int_equal(sl_report_rows(&(sl_report_wishes){.top = 3, .fills_lists = true}, &list), 3);
}

static void lists_have_the_requested_length(void **state) {
    char *text = print(*state, "txt", &(sl_report_wishes){.top = 1});
    /* What is not listed is summed, so that the shares still add up. */
    expect(text, "1.00 MiB  <1%         4  everything else");
    assert_null(strstr(text, "b.py"));
    free(text);
}

static void names_cannot_break_markdown_or_xml(void **state) {
    char *text = print(*state, "md", &(sl_report_wishes){.top = 5});
    assert_null(strstr(text, "<i>"));
    expect(text, "&lt;i>\\|");
    free(text);
    text = print(*state, "junit", &(sl_report_wishes){.top = 5});
    expect(text, "tests=\"4\" failures=\"1\"");
    expect(text, "message=\"live memory grows at one line &lt;i&gt;|\"");
    expect(text, "name=\"oom\"/>");
    assert_null(strchr(text, '\x1b'));
    free(text);
}

static void failing_follows_the_mask_and_the_severity(void **state) {
    fixture *fix = *state;
    assert_true(sl_report_fails(fix->report, 1u << SL_FINDING_LEAK));
    assert_false(sl_report_fails(fix->report, 1u << SL_FINDING_OOM));
    assert_false(sl_report_fails(fix->report, 0));
    fix->report->findings.at[0].severity = SL_SEV_INFO;
    assert_false(sl_report_fails(fix->report, 1u << SL_FINDING_LEAK));
}

static void an_empty_report_prints(void **state) {
    SL_UNUSED(state);
    fixture fix = {.report = sl_report_new()};
    static const char *const formats[] = {"txt", "json", "md", "junit"};
    for (size_t i = 0; i < SL_COUNT_OF(formats); i++) {
        char *text = print(&fix, formats[i], &(sl_report_wishes){0});
        assert_true(strlen(text) > 20);
        free(text);
    }
    sl_report_free(fix.report);
}

#define WITH_REPORT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_REPORT(text_fits_the_width_and_starts_with_the_verdict),
        WITH_REPORT(colour_changes_nothing_else),
        WITH_REPORT(json_has_null_for_unknown),
        WITH_REPORT(lists_have_the_requested_length),
        cmocka_unit_test(lists_name_most_of_the_bytes),
        WITH_REPORT(names_cannot_break_markdown_or_xml),
        WITH_REPORT(failing_follows_the_mask_and_the_severity),
        cmocka_unit_test(an_empty_report_prints),
    };
    return cmocka_run_group_tests_name("report_format", tests, NULL, NULL);
}
