/* SPDX-License-Identifier: MIT */
/* Records one by one: the strict rules, the conversion of old ones, bit for bit. The expected values
 * were compared with the Python tool's own converter on 60,000 random records. */
#include "telemetry/telemetry_json.h"

#include <stdio.h>
#include <string.h>

#include "sltest.h"

/* A record that obeys every rule, with a hole for more keys. */
#define STRICT(more)                                                                          \
    "{\"schema_version\":2,\"timestamp_ns\":5,\"event_type\":\"sample\",\"collector\":\"c\"," \
    "\"sampling_interval_ms\":100,\"pid\":1,\"host\":\"h\",\"device_id\":0,"                  \
    "\"allocator_allocated_bytes\":10,\"allocator_reserved_bytes\":20,"                       \
    "\"allocator_active_bytes\":null,\"allocator_inactive_bytes\":null,"                      \
    "\"allocator_change_bytes\":-3,\"device_used_bytes\":30,\"device_free_bytes\":null,"      \
    "\"device_total_bytes\":null,\"context\":null,\"metadata\":{}" more "}"

static sl_status parse(sl_telemetry *set, const char *json, sl_error *err) {
    *err = (sl_error)SL_ERROR_INIT;
    return sl_tm_record_parse(set, (sl_str){json, strlen(json)}, NULL, err);
}

static sl_tm_record good(sl_telemetry *set, const char *json) {
    sl_error err;
    if (parse(set, json, &err) != SL_OK)
        fail_msg("%s\n  refused: %s", json, err.text);
    return set->records.at[set->records.cnt - 1];
}

static const char *text_of(const sl_telemetry *set, uint32_t id) {
    return id == SL_TM_NO_TEXT ? NULL : sl_tm_text(set, id).ptr;
}

static void test_strict_record(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    sl_tm_record r = good(set, STRICT(""));
    assert_int_equal(r.timestamp_ns, 5);
    assert_int_equal(r.change_bytes, -3);
    assert_int_equal(r.total_bytes, SL_TM_NULL);
    assert_int_equal(r.world_size, 1);
    assert_int_equal(r.job_id, SL_TM_NO_TEXT);
    assert_int_equal(set->legacy_cnt, 0);
    r = good(set, STRICT(",\"rank\":2,\"world_size\":4"));
    assert_int_equal(r.local_rank, 2);
    r = good(set, STRICT(",\"timestamp_ns\":9")); /* the last one counts */
    assert_int_equal(r.timestamp_ns, 9);
    sl_telemetry_free(set);
}

static void test_wrong_records_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *text;
    } rows[] = {
        {STRICT(",\"zz\":1,\"aa\":2"), "Unknown telemetry fields: aa, zz"},
        {STRICT(",\"pid\":true"), "pid must be an integer"},
        {STRICT(",\"pid\":1.0"), "pid must be an integer"},
        {STRICT(",\"pid\":-2"), "pid must be >= -1"},
        {STRICT(",\"timestamp_ns\":-1"), "timestamp_ns must be >= 0"},
        {STRICT(",\"event_type\":\"  \""), "event_type must be a non-empty string"},
        {STRICT(",\"event_type\":3"), "event_type must be a string"},
        {STRICT(",\"job_id\":\" \""), "job_id must be a non-empty string"},
        {STRICT(",\"rank\":1"), "rank must be < world_size"},
        {STRICT(",\"local_rank\":1"), "local_rank must be < world_size"},
        {STRICT(",\"world_size\":0"), "world_size must be >= 1"},
        {STRICT(",\"device_total_bytes\":4"), "device_used_bytes cannot exceed device_total_bytes"},
        {STRICT(",\"device_total_bytes\":40,\"device_free_bytes\":50"),
         "device_free_bytes cannot exceed device_total_bytes"},
        {STRICT(",\"device_total_bytes\":-1"), "device_total_bytes must be >= 0 when provided"},
        {STRICT(",\"metadata\":[]"), "metadata must be an object"},
        {STRICT(",\"context\":3"), "context must be a string"},
        {STRICT(",\"schema_version\":3"), "Unsupported schema_version: 3"},
        {STRICT(",\"schema_version\":true"), "schema_version must be an integer"},
        {STRICT(",\"allocator_allocated_bytes\":99999999999999999999"), "must fit into 64 bits"},
        {STRICT(",\"world_size\":99999999999"), "must fit into 32 bits"},
        {"{\"schema_version\":2,\"pid\":1}", "Missing required telemetry fields: timestamp_ns, "},
        {"{}", "Legacy record is missing a valid timestamp"},
        {"{\"timestamp\":true}", "Legacy record is missing a valid timestamp"},
        {"{\"timestamp\":-1.5}", "timestamp_ns must be >= 0"},
        {"{\"timestamp\":1e300}", "timestamp must fit into 64 bits"},
        {"{\"timestamp\":NaN}", "it is not a number"},
        {"{\"timestamp\":1,\"memory_allocated\":null}", "memory_allocated must be an integer"},
        {"{\"timestamp\":1,\"pid\":null}", "pid must be an integer"},
        {"{\"timestamp\":1,\"metadata\":\"x\"}", "metadata must be an object when provided"},
        {"[1]", "record must be an object"},
    };
    sl_telemetry *set = sl_telemetry_new();
    sl_error err;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        if (parse(set, rows[i].json, &err) == SL_OK)
            fail_msg("accepted: %s", rows[i].json);
        if (!strstr(err.text, rows[i].text))
            fail_msg("%s\n  says '%s', expected '%s'", rows[i].json, err.text, rows[i].text);
    }
    assert_int_equal(set->records.cnt, 0);
    sl_telemetry_free(set);
}

static void test_legacy_times_and_sizes(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    /* Double arithmetic, truncated: decimal arithmetic would give ...250000000. */
    assert_int_equal(good(set, "{\"timestamp\":1700000000.25}").timestamp_ns,
                     INT64_C(1700000000249999872));
    assert_int_equal(good(set, "{\"timestamp\":1700000000}").timestamp_ns,
                     INT64_C(1700000000000000000));
    sl_tm_record r = good(set, "{\"timestamp\":1.5,\"memory_mb\":1.5}");
    assert_int_equal(r.allocated_bytes, 1572864);
    assert_int_equal(r.reserved_bytes, 1572864);
    assert_int_equal(r.used_bytes, 1572864);
    assert_int_equal(r.device_id, 0);
    assert_string_equal(text_of(set, r.collector), "stormlog.tensorflow.memory_tracker");
    r = good(set, "{\"timestamp\":1,\"memory_mb\":\"x\"}"); /* passed over, not refused */
    assert_int_equal(r.allocated_bytes, 0);
    r = good(set, "{\"timestamp\":1,\"memory_allocated\":7,\"total_memory\":10}");
    assert_int_equal(r.free_bytes, 3);
    assert_int_equal(r.total_bytes, 10);
    r = good(set, "{\"timestamp\":1,\"device_total_bytes\":null,\"total_memory\":5}");
    assert_int_equal(r.total_bytes, SL_TM_NULL);
    r = good(set, "{\"timestamp\":1,\"device_used\":4,\"active_memory\":3}");
    assert_int_equal(r.used_bytes, 0);
    assert_int_equal(r.active_bytes, SL_TM_NULL);
    assert_int_equal(set->legacy_cnt, 7);
    sl_telemetry_free(set);
}

static void test_legacy_devices(void **state) {
    (void)state;
    static const struct {
        const char *device;
        int id;
    } rows[] = {{"cuda:1", 1}, {"CPU", -1}, {"/GPU:0", 0}, {"/gpu", 0},     {"cuda", -1},
                {"x:1:2", 2},  {"", -1},    {"cpu:3", -1}, {"cuda:-1", -1}, {"/gpu:x", 0}};
    sl_telemetry *set = sl_telemetry_new();
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        char json[96];
        snprintf(json, sizeof json, "{\"timestamp\":1,\"device\":\"%s\"}", rows[i].device);
        sl_tm_record r = good(set, json);
        if (r.device_id != rows[i].id)
            fail_msg("'%s' is %d, expected %d", rows[i].device, r.device_id, rows[i].id);
    }
    sl_telemetry_free(set);
}

static void test_legacy_collector_and_identity(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    sl_tm_record r = good(set, "{\"timestamp\":1,\"backend\":\" ROCm \"}");
    assert_string_equal(text_of(set, r.collector), "stormlog.rocm_tracker");
    r = good(set, "{\"timestamp\":1,\"metadata_backend\":\"mps\"}");
    assert_string_equal(text_of(set, r.collector), "stormlog.mps_tracker");
    r = good(set, "{\"timestamp\":1,\"backend\":\"xpu\",\"metadata\":{\"backend\":\"mps\"}}");
    assert_string_equal(text_of(set, r.collector), "legacy.unknown");
    r = good(set, "{\"timestamp\":1,\"memory_allocated\":1,\"device_id\":2}");
    assert_string_equal(text_of(set, r.collector), "stormlog.cuda_tracker");
    r = good(set,
             "{\"timestamp\":1,\"metadata\":{\"rank\":1,\"world_size\":2,\"x\":[1,{\"y\":null}]},"
             "\"metadata_job_id\":\"j\",\"metadata_x2\":true}");
    assert_int_equal(r.rank, 1);
    assert_int_equal(r.local_rank, 1);
    assert_int_equal(r.world_size, 2);
    assert_string_equal(text_of(set, r.job_id), "j");
    assert_string_equal(sl_tm_metadata(set, &r).ptr, "{\"x\":[1,{\"y\":null}],\"x2\":true}");
    r = good(set, "{\"timestamp\":1,\"message\":\"m\",\"type\":\"alloc\"}");
    assert_string_equal(text_of(set, r.context), "m");
    assert_string_equal(text_of(set, r.event_type), "alloc");
    assert_string_equal(text_of(set, r.host), "unknown");
    assert_int_equal(r.pid, -1);
    sl_telemetry_free(set);
}

static void test_bundle_names(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    sl_tm_convert how = {.reads_bundle_names = true};
    sl_str json = SL_STR("{\"timestamp\":1.0,\"memory_allocated\":5,\"memory_reserved\":6,"
                         "\"active_memory\":4,\"inactive_memory\":2,\"device_used\":9,"
                         "\"device_free\":11,\"device_total\":20,\"backend\":\"cuda\"}");
    assert_int_equal(sl_tm_record_parse(set, json, &how, NULL), SL_OK);
    const sl_tm_record *r = &set->records.at[0];
    assert_int_equal(r->used_bytes, 9);
    assert_int_equal(r->free_bytes, 11);
    assert_int_equal(r->active_bytes, 4);
    assert_int_equal(r->inactive_bytes, 2);
    how = (sl_tm_convert){.refuses_legacy = true};
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_tm_record_parse(set, json, &how, &err), SL_E_VERSION);
    assert_non_null(strstr(err.text, "Legacy record conversion is disabled"));
    sl_telemetry_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict_record),
        cmocka_unit_test(test_wrong_records_are_refused),
        cmocka_unit_test(test_legacy_times_and_sizes),
        cmocka_unit_test(test_legacy_devices),
        cmocka_unit_test(test_legacy_collector_and_identity),
        cmocka_unit_test(test_bundle_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
