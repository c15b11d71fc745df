/* SPDX-License-Identifier: MIT */
#include "export/report/check_format.h"

#include <math.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/json_out.h"
#include "base/text/term.h"
#include "export/formats/exporter.h"
#include "export/report/md_out.h"
#include "export/report/xml_out.h"

#define CHECK_SCHEMA "stormlog.check/1"

static size_t count_refused(const sl_check_result *result) {
    size_t cnt = 0;
    for (size_t i = 0; i < result->rows.cnt; i++)
        cnt += result->rows.at[i].is_refused;
    return cnt;
}

static size_t count_failed(const sl_check_result *result) {
    size_t cnt = 0;
    for (size_t i = 0; i < result->rows.cnt; i++)
        cnt += !result->rows.at[i].passed && !result->rows.at[i].is_refused;
    return cnt;
}

static const char *say_state(const sl_gate_row *row) {
    return row->passed ? "pass" : row->is_refused ? "ERROR" : "FAIL";
}

static void say_headline(char *buf, size_t cap, const sl_check_view *view) {
    size_t failed = count_failed(view->result), all = view->result->rows.cnt;
    size_t refused = count_refused(view->result);
    if (refused && !failed)
        snprintf(buf, cap, "Not decided: %zu of %zu gate%s cannot be proven", refused, all,
                 sl_plural(all));
    else if (all == 1)
        snprintf(buf, cap, "%s: the one gate", failed ? "Failed" : "Passed");
    else if (failed)
        snprintf(buf, cap, "Failed: %zu of %zu gate%s", failed, all, sl_plural(all));
    else
        snprintf(buf, cap, "Passed: all %zu gates", all);
}

/* A gate's number is in bytes, unless the gate counts something. */
static const char *say_number(char buf[SL_HUMAN_CAP], const sl_gate_row *row, sl_maybe_f64 number) {
    bool is_count = strncmp(row->name, "no-", 3) == 0;
    if (!number.known || !(fabs(number.value) < 0x1p62))
        return "-";
    if (is_count)
        snprintf(buf, SL_HUMAN_CAP, "%.0f", number.value);
    else if (number.value < 0)
        sl_human_bytes_delta(buf, (int64_t)number.value);
    else
        sl_human_bytes(buf, (uint64_t)number.value);
    return buf;
}

static void put_gate(FILE *to, const sl_check_view *view, const sl_gate_row *row) {
    char actual[SL_HUMAN_CAP], baseline[SL_HUMAN_CAP], limit[SL_HUMAN_CAP];
    bool is_narrow = sl_term_columns() < SL_TERM_NARROW;
    fprintf(to,
            is_narrow ? "  %s%-6s%s  %s\n    actual %s,\n    baseline %s,\n    limit %s\n"
                      : "  %s%-6s%s  %-14s %10s  %10s  %10s\n",
            sl_term_sgr(view->has_color, row->passed ? SL_STYLE_GOOD : SL_STYLE_BAD),
            say_state(row), sl_term_sgr(view->has_color, SL_STYLE_PLAIN), row->name,
            say_number(actual, row, row->actual), say_number(baseline, row, row->baseline),
            say_number(limit, row, row->limit));
}

static sl_status write_text(const sl_check_view *view, FILE *to, sl_error *err) {
    char text[132];
    say_headline(text, sizeof text - 4, view);
    strcat(text, ".");
    sl_term_style verdict = view->result->passed ? SL_STYLE_GOOD : SL_STYLE_BAD;
    sl_term_wrap(to, &(sl_wrap){.style = verdict, .has_color = view->has_color}, text);
    putc('\n', to);
    if (sl_term_columns() >= SL_TERM_NARROW)
        fputs("  result  gate               actual    baseline       limit\n", to);
    for (size_t i = 0; i < view->result->rows.cnt; i++)
        put_gate(to, view, &view->result->rows.at[i]);
    if (!view->result->passed)
        putc('\n', to);
    for (size_t i = 0; i < view->result->rows.cnt; i++)
        if (!view->result->rows.at[i].passed)
            sl_term_wrap(to, &(sl_wrap){.first = "  - ", .rest = "    "},
                         view->result->rows.at[i].text);
    return sl_export_finish(to, err);
}

static sl_status write_markdown(const sl_check_view *view, FILE *to, sl_error *err) {
    char text[128], actual[SL_HUMAN_CAP], baseline[SL_HUMAN_CAP], limit[SL_HUMAN_CAP];
    say_headline(text, sizeof text, view);
    fprintf(to, "## Memory check %s\n\n", text);
    fputs("| result | gate | actual | baseline | limit | |\n"
          "| --- | --- | ---: | ---: | ---: | --- |\n",
          to);
    for (size_t i = 0; i < view->result->rows.cnt; i++) {
        const sl_gate_row *row = &view->result->rows.at[i];
        const char *mark = row->passed ? "" : "**";
        fprintf(to, "| %s%s%s | %s | %s | %s | %s | ", mark, say_state(row), mark, row->name,
                say_number(actual, row, row->actual), say_number(baseline, row, row->baseline),
                say_number(limit, row, row->limit));
        sl_md_text(to, row->text);
        fputs(" |\n", to);
    }
    fputs("\nInput: ", to);
    sl_md_code(to, view->input);
    if (view->baseline) {
        fputs(", baseline: ", to);
        sl_md_code(to, view->baseline);
    }
    putc('\n', to);
    return sl_export_finish(to, err);
}

static sl_status write_json(const sl_check_view *view, FILE *to, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 1);
    sl_json_begin_object(&json);
    sl_json_key(&json, "schema");
    sl_json_cstr(&json, CHECK_SCHEMA);
    sl_json_key(&json, "input");
    sl_json_cstr(&json, view->input);
    sl_json_key(&json, "baseline");
    sl_json_cstr(&json, view->baseline);
    sl_json_key(&json, "passed");
    sl_json_bool(&json, view->result->passed);
    sl_json_key(&json, "gates");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < view->result->rows.cnt; i++) {
        const sl_gate_row *row = &view->result->rows.at[i];
        sl_json_begin_object(&json);
        sl_json_key(&json, "name");
        sl_json_cstr(&json, row->name);
        sl_json_key(&json, "passed");
        sl_json_bool(&json, row->passed);
        sl_json_key_bool(&json, "refused", row->is_refused);
        sl_json_key(&json, "actual");
        sl_json_maybe_f64(&json, row->actual);
        sl_json_key(&json, "baseline");
        sl_json_maybe_f64(&json, row->baseline);
        sl_json_key(&json, "limit");
        sl_json_maybe_f64(&json, row->limit);
        sl_json_key(&json, "text");
        sl_json_cstr(&json, row->text);
        sl_json_end_object(&json);
    }
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

static sl_status write_junit(const sl_check_view *view, FILE *to, sl_error *err) {
    const sl_check_result *result = view->result;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
    fprintf(to,
            "<testsuite name=\"stormlog check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
            result->rows.cnt, count_failed(result), count_refused(result));
    for (size_t i = 0; i < result->rows.cnt; i++) {
        const sl_gate_row *row = &result->rows.at[i];
        fputs("  <testcase", to);
        sl_xml_attribute(to, "classname", view->input);
        sl_xml_attribute(to, "name", row->name);
        if (row->passed) {
            fputs("/>\n", to);
            continue;
        }
        fputs(row->is_refused ? ">\n    <error" : ">\n    <failure", to);
        sl_xml_attribute(to, "type", row->name);
        sl_xml_attribute(to, "message", row->text);
        fputs("/>\n  </testcase>\n", to);
    }
    fputs("</testsuite>\n", to);
    return sl_export_finish(to, err);
}

static const sl_check_format formats[] = {
    {"txt", write_text},
    {"json", write_json},
    {"md", write_markdown},
    {"junit", write_junit},
};

const sl_check_format *sl_check_format_find(const char *name) {
    for (size_t i = 0; i < SL_COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}
