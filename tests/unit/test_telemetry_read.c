/* SPDX-License-Identifier: MIT */
/* Files of every form, valid and invalid; files that were written are read back unchanged. */
#include "telemetry/telemetry_read.h"

#include <stdio.h>
#include <string.h>

#include "sltest.h"
#include "telemetry/telemetry_out.h"

typedef struct bad_count {
    size_t cnt;
    char last[SL_ERROR_TEXT_CAP];
} bad_count;

static void on_bad(void *ctx, const sl_error *err) {
    bad_count *bad = ctx;
    bad->cnt++;
    snprintf(bad->last, sizeof bad->last, "%s", err->text);
}

static sl_status load(const char *text, const sl_tm_load_options *options, sl_telemetry **out,
                      sl_error *err) {
    sl_byte_stream in;
    *err = (sl_error)SL_ERROR_INIT;
    *out = sl_telemetry_new();
    sl_bytes_init(&in, text, strlen(text));
    return sl_telemetry_read(&in, options, *out, err);
}

static void assert_count(const char *text, size_t cnt) {
    sl_telemetry *set;
    sl_error err;
    if (load(text, NULL, &set, &err) != SL_OK)
        fail_msg("%s\n  refused: %s", text, err.text);
    if (set->records.cnt != cnt)
        fail_msg("%s\n  gave %zu records, expected %zu", text, set->records.cnt, cnt);
    sl_telemetry_free(set);
}

static void test_forms(void **state) {
    (void)state;
    assert_count("[]", 0);
    assert_count(" \n[ {\"timestamp\":1} , {\"timestamp\":2} ]\n", 2);
    assert_count("{\"events\":[{\"timestamp\":1}],\"timestamp\":3}", 1);
    assert_count("{\"events\":{},\"timestamp\":1}", 1);
    assert_count("{\"timestamp\":1}", 1);
    assert_count("{\"timestamp\":1}\n{\"timestamp\":2}\n\n{\"timestamp\":3}", 3);
    assert_count("\xef\xbb\xbf[{\"timestamp\":1}]", 1);
    assert_count("timestamp,memory_allocated,context\n1.5,3,\"a, \"\"b\"\"\"\r\n2.5,4,\n", 2);
    assert_count("{\"peak\":1,\"events\":[{\"timestamp\":1},{\"timestamp\":2}],\"x\":[{}]}", 2);
}

static void test_wrong_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "empty"},
        {"3", "Telemetry payload must be a JSON object or array"},
        {"null", "Telemetry payload must be a JSON object or array"},
        {"{\"a\":1}", "JSON payload does not contain telemetry events"},
        {"[1]", "record 0 at byte 1: Event at index 0 must be an object"},
        {"[{\"timestamp\":1},{\"timestamp\":\"x\"}]", "record 1 at byte 17: Legacy record"},
        {"[{\"timestamp\":1}] x", "byte 18"},
        {"[{\"timestamp\":1,}]", "byte 16"},
        {"[{\"timestamp\":1}", "ends at byte 16"},
        {"{\"timestamp\":1}\n{\"timestamp\":", "record 1"},
        {"timestamp,memory_allocated\n1.5\n", "expected 2 cells as in the first line, found 1"},
        {"timestamp,memory_allocated\n1.5,x\n", "line 2, byte 27: memory_allocated must be"},
        {"timestamp,metadata\n1.5,{'a': object}\n", "metadata must be an object"},
        {"timestamp,context\n1.5,\"abc", "inside a quoted cell"},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_telemetry *set;
        sl_error err;
        if (load(rows[i].text, NULL, &set, &err) == SL_OK)
            fail_msg("accepted: %s", rows[i].text);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s\n  says '%s', expected '%s'", rows[i].text, err.text, rows[i].says);
        sl_telemetry_free(set);
    }
}

static void test_bad_records_can_be_skipped(void **state) {
    (void)state;
    bad_count bad = {0};
    sl_tm_load_options options = {.skips_bad = true, .on_bad = on_bad, .ctx = &bad};
    sl_telemetry *set;
    sl_error err;
    assert_int_equal(
        load("[{\"timestamp\":1},{\"pid\":2},7,{\"timestamp\":3}]", &options, &set, &err), SL_OK);
    assert_int_equal(set->records.cnt, 2);
    assert_int_equal(set->skipped_cnt, 2);
    assert_int_equal(bad.cnt, 2);
    sl_telemetry_free(set);
    /* A line that was cut when its writer died is one bad record. */
    assert_int_equal(
        load("{\"timestamp\":1}\n{\"timest\n{\"timestamp\":2}\n{\"time", &options, &set, &err),
        SL_OK);
    assert_int_equal(set->records.cnt, 2);
    assert_int_equal(set->skipped_cnt, 2);
    sl_telemetry_free(set);
    /* Reading cannot continue after a syntax error in an array. */
    assert_true(load("[{\"timestamp\":1},{\"timest", &options, &set, &err) < 0);
    sl_telemetry_free(set);
}

static void test_events_key(void **state) {
    (void)state;
    sl_tm_load_options options = {.events_key = "xx"};
    sl_telemetry *set;
    sl_error err;
    assert_int_equal(load("{\"xx\":[{\"timestamp\":1}]}", &options, &set, &err), SL_OK);
    assert_int_equal(set->records.cnt, 1);
    sl_telemetry_free(set);
    assert_true(load("{\"xx\":3}", &options, &set, &err) < 0);
    assert_non_null(strstr(err.text, "Top-level key 'xx' must contain a list of events"));
    sl_telemetry_free(set);
}

static void test_python_repr_in_csv(void **state) {
    (void)state;
    sl_telemetry *set;
    sl_error err;
    const char *csv = "timestamp,metadata\n1.5,\"{'backend': 'cuda', 'ok': True, 'n': None, "
                      "'t': \"\"it's\"\"}\"\n";
    if (load(csv, NULL, &set, &err) != SL_OK)
        fail_msg("refused: %s", err.text);
    assert_string_equal(sl_tm_metadata(set, &set->records.at[0]).ptr,
                        "{\"backend\":\"cuda\",\"ok\":true,\"n\":null,\"t\":\"it's\"}");
    sl_telemetry_free(set);
}

static char *written(const sl_telemetry *set, sl_tm_form form) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    assert_int_equal(sl_tm_write(set, form, to, NULL), SL_OK);
    fclose(to);
    return text;
}

static void test_round_trips(void **state) {
    (void)state;
    static const char json[] =
        "[{\"timestamp\":1700000000.25,\"memory_allocated\":7,\"total_memory\":9,\"context\":\"\","
        "\"metadata\":{\"a\":[1,2.50,\"x,\\\"\\n\\u00e9\"],\"b\":{}}},"
        "{\"timestamp_ns\":5,\"context\":\"line\\nbreak, comma\",\"event_type\":\"peak\"}]";
    sl_telemetry *set, *back;
    sl_error err;
    assert_int_equal(load(json, NULL, &set, &err), SL_OK);
    char *first = written(set, SL_TM_FORM_JSON);
    for (sl_tm_form form = SL_TM_FORM_JSON; form <= SL_TM_FORM_CSV; form++) {
        char *text = written(set, form);
        if (load(text, NULL, &back, &err) != SL_OK)
            fail_msg("form %d is refused: %s\n%s", form, err.text, text);
        char *again = written(back, SL_TM_FORM_JSON);
        assert_string_equal(again, first);
        assert_int_equal(back->legacy_cnt, 0);
        free(again);
        free(text);
        sl_telemetry_free(back);
    }
    free(first);
    sl_telemetry_free(set);
}

/* No cell may be a formula to a spreadsheet; numbers stay numbers, texts come back as they were. */
static void test_formulas_in_csv(void **state) {
    (void)state;
    static const char *const texts[] = {"=1+1", "+1",   "-5",  "@x",    "'=1",  "''-",
                                        "'x",   "=a,b", "-\"", "\\t=1", "\\r=1"};
    for (size_t i = 0; i < SL_COUNT_OF(texts); i++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "{\"schema_version\":2,\"timestamp_ns\":5,\"event_type\":\"sample\",\"collector\":"
                 "\"c\","
                 "\"sampling_interval_ms\":1,\"pid\":-1,\"host\":\"h\",\"device_id\":-1,"
                 "\"allocator_allocated_bytes\":1,\"allocator_reserved_bytes\":1,"
                 "\"allocator_active_bytes\":null,\"allocator_inactive_bytes\":null,"
                 "\"allocator_change_bytes\":-5,\"device_used_bytes\":1,\"device_free_bytes\":null,"
                 "\"device_total_bytes\":null,\"context\":\"%s\",\"metadata\":{}}",
                 strchr(texts[i], '"') ? "-\\\"" : texts[i]);
        sl_telemetry *set, *back;
        sl_error err;
        if (load(json, NULL, &set, &err) != SL_OK)
            fail_msg("%s: %s", json, err.text);
        char *csv = written(set, SL_TM_FORM_CSV);
        const char *cell = strstr(csv, ",1,,,-5,1,,,");
        assert_non_null(cell); /* the number is as it was */
        cell += strlen(",1,,,-5,1,,,");
        cell += *cell == '"';
        if (strchr("=+-@\t\r", *cell))
            fail_msg("a formula: %s", csv);
        if (load(csv, NULL, &back, &err) != SL_OK)
            fail_msg("%s: %s", csv, err.text);
        assert_string_equal(sl_tm_text(back, back->records.at[0].context).ptr,
                            sl_tm_text(set, set->records.at[0].context).ptr);
        free(csv);
        sl_telemetry_free(back);
        sl_telemetry_free(set);
    }
}

static void test_probe(void **state) {
    (void)state;
    static const struct {
        const char *head;
        bool is_ours;
    } rows[] = {{"[{\"schema_version\": 2", true},
                {"{\"events\": [", true},
                {"schema_version,timestamp_ns\n", true},
                {"timestamp,x\n", true},
                {"{\"segments\": []}", false},
                {"hello", false},
                {"", false},
                {"[]", true}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        int score = sl_telemetry_probe((const unsigned char *)rows[i].head, strlen(rows[i].head));
        if ((score > 0) != rows[i].is_ours)
            fail_msg("'%s' scores %d", rows[i].head, score);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_wrong_files_are_refused),
        cmocka_unit_test(test_bad_records_can_be_skipped),
        cmocka_unit_test(test_events_key),
        cmocka_unit_test(test_python_repr_in_csv),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_formulas_in_csv),
        cmocka_unit_test(test_probe),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
