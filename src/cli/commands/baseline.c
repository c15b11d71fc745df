/* SPDX-License-Identifier: MIT */
#include "cli/commands/baseline.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/analysis.h"
#include "api/run_folder.h"
#include "base/core/str.h"
#include "base/text/json_in.h"
#include "cli/core/inputs.h"
#include "read/core/source.h"

/* What is collected while the file is read. */
typedef struct gathering {
    sl_json_in json;
    sl_baseline baseline;
    bool is_report;
} gathering;

typedef sl_status member_fn(gathering *all, void *object, const char *key, sl_json_token *value,
                            sl_error *err);

/* Walks the members of the object whose BEGIN was just read. */
static sl_status each_member(gathering *all, void *object, member_fn *visit, sl_error *err) {
    for (;;) {
        sl_json_token token;
        char key[64];
        SL_TRY(sl_json_next(&all->json, &token, err));
        if (token.type == SL_JSON_END_OBJECT)
            return SL_OK;
        snprintf(key, sizeof key, "%.*s", (int)token.text.len, token.text.ptr);
        SL_TRY(sl_json_next(&all->json, &token, err));
        SL_TRY(visit(all, object, key, &token, err));
    }
}

typedef sl_status object_fn(gathering *all, sl_error *err);

/* Walks the objects of an array; anything else in it is passed over. */
static sl_status each_object(gathering *all, sl_json_token *value, object_fn *visit,
                             sl_error *err) {
    if (value->type != SL_JSON_BEGIN_ARRAY)
        return sl_json_skip(&all->json, value, err);
    for (;;) {
        sl_json_token token;
        SL_TRY(sl_json_next(&all->json, &token, err));
        if (token.type == SL_JSON_END_ARRAY)
            return SL_OK;
        if (token.type == SL_JSON_BEGIN_OBJECT)
            SL_TRY(visit(all, err));
        else
            SL_TRY(sl_json_skip(&all->json, &token, err));
    }
}

static void keep_largest(sl_maybe_u64 *largest, const sl_json_token *value) {
    if (value->type != SL_JSON_INT || value->is_negative)
        return;
    if (!largest->known || value->u > largest->value)
        *largest = sl_known_u64(value->u);
}

static sl_status take_device_member(gathering *all, void *object, const char *key,
                                    sl_json_token *value, sl_error *err) {
    SL_UNUSED(object);
    const struct {
        const char *key;
        sl_maybe_u64 *largest;
    } rows[] = {
        {"peak_requested_bytes", &all->baseline.peak_bytes},
        {"live_requested_bytes", &all->baseline.live_bytes},
        {"peak_reserved_bytes", &all->baseline.reserved_bytes},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (strcmp(rows[i].key, key) == 0)
            keep_largest(rows[i].largest, value);
    return sl_json_skip(&all->json, value, err);
}

static sl_status take_device(gathering *all, sl_error *err) {
    return each_member(all, NULL, take_device_member, err);
}

typedef struct baseline_finding {
    bool is_leak;
    sl_maybe_f64 bytes_per_step;
} baseline_finding;

static sl_status take_finding_member(gathering *all, void *object, const char *key,
                                     sl_json_token *value, sl_error *err) {
    baseline_finding *finding = object;
    if (strcmp(key, "kind") == 0 && value->type == SL_JSON_STRING)
        finding->is_leak = sl_str_is(value->text, "leak");
    if (strcmp(key, "bytes_per_step") == 0) {
        if (value->type == SL_JSON_FLOAT)
            finding->bytes_per_step = sl_known_f64(value->f);
        else if (value->type == SL_JSON_INT)
            finding->bytes_per_step = sl_known_f64((double)(int64_t)value->u);
    }
    return sl_json_skip(&all->json, value, err);
}

static sl_status take_finding(gathering *all, sl_error *err) {
    baseline_finding finding = {0};
    SL_TRY(each_member(all, &finding, take_finding_member, err));
    if (!finding.is_leak)
        return SL_OK;
    all->baseline.leaks.value++;
    sl_maybe_f64 *slope = &all->baseline.slope_bytes_per_step;
    slope->known = slope->known && finding.bytes_per_step.known;
    slope->value += finding.bytes_per_step.value;
    return SL_OK;
}

static sl_status take_report_member(gathering *all, void *object, const char *key,
                                    sl_json_token *value, sl_error *err) {
    SL_UNUSED(object);
    if (strcmp(key, "schema") == 0 && value->type == SL_JSON_STRING)
        all->is_report = sl_str_is(value->text, SL_REPORT_SCHEMA);
    if (strcmp(key, "devices") == 0)
        return each_object(all, value, take_device, err);
    if (strcmp(key, "findings") != 0)
        return sl_json_skip(&all->json, value, err);
    all->baseline.leaks = sl_known_u64(0);
    all->baseline.slope_bytes_per_step = sl_known_f64(0);
    return each_object(all, value, take_finding, err);
}

static sl_status gather(gathering *all, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_next(&all->json, &token, err));
    if (token.type == SL_JSON_BEGIN_OBJECT)
        SL_TRY(each_member(all, NULL, take_report_member, err));
    else
        SL_TRY(sl_json_skip(&all->json, &token, err));
    SL_TRY(sl_json_next(&all->json, &token, err));
    if (!all->is_report)
        return sl_fail(err, SL_E_FOREIGN, "it is not a report with the schema '%s'",
                       SL_REPORT_SCHEMA);
    return SL_OK;
}

/* ---- a recording or a snapshot ---- */

static void keep_more(sl_maybe_u64 *largest, sl_maybe_u64 value) {
    if (value.known && (!largest->known || value.value > largest->value))
        *largest = value;
}

static sl_baseline take_report(const sl_report *report) {
    sl_baseline found = {.leaks = sl_known_u64(0), .slope_bytes_per_step = sl_known_f64(0)};
    for (size_t i = 0; i < report->devices.cnt; i++) {
        const sl_device_report *device = &report->devices.at[i];
        keep_more(&found.peak_bytes, sl_known_u64(device->peak_requested_bytes));
        keep_more(&found.live_bytes, sl_known_u64(device->live_requested_bytes));
        keep_more(&found.reserved_bytes, device->peak_reserved_bytes);
    }
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (finding->kind != SL_FINDING_LEAK)
            continue;
        sl_maybe_f64 *slope = &found.slope_bytes_per_step;
        found.leaks.value++;
        slope->known = slope->known && finding->bytes_per_step.known;
        slope->value += finding->bytes_per_step.value;
    }
    return found;
}

/* False when the path is not an input either, or cannot be analyzed. */
static bool measure(const char *path, sl_baseline *baseline) {
    sl_inputs inputs;
    sl_report *report;
    if (sl_inputs_load(&inputs, &path, 1, NULL) < 0)
        return false;
    inputs.run->effort.no_whatif = true; /* figures only */
    bool is_judged = sl_analyze(inputs.run, NULL, &report, NULL) == SL_OK;
    if (is_judged) {
        *baseline = take_report(report);
        sl_report_free(report);
    }
    sl_inputs_fini(&inputs);
    return is_judged;
}

/* ---- either ---- */

static sl_status read_report(const char *path, gathering *all, sl_error *err) {
    sl_byte_stream in;
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status == SL_OK) {
        sl_json_in_init(&all->json, &in);
        status = gather(all, err);
        sl_json_in_fini(&all->json);
    }
    sl_bytes_close(&in);
    return status;
}

sl_status sl_baseline_load(const char *path, sl_baseline *baseline, sl_error *err) {
    gathering all = {0};
    struct stat info;
    path = sl_latest_path(path);
    bool is_there = stat(path, &info) == 0;
    sl_status status = read_report(path, &all, err);
    if (status == SL_OK) {
        *baseline = all.baseline;
        return SL_OK;
    }
    if (all.is_report || !is_there)
        return sl_error_prefix(err, "cannot read the baseline '%s'", path);
    if ((S_ISDIR(info.st_mode) || sl_trace_is_known(path)) && measure(path, baseline))
        return SL_OK;
    *err = (sl_error)SL_ERROR_INIT;
    return sl_fail(err, SL_E_FOREIGN,
                   "cannot use '%s' as a baseline: expected a recording, a snapshot or a report of "
                   "an earlier run ('stormlog analyze PATH --format json')",
                   path);
}
