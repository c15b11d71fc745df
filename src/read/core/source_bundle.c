/* SPDX-License-Identifier: MIT */
#include "read/core/source_bundle.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/core/str.h"
#include "base/text/json_in.h"
#include "telemetry/telemetry.h"
#include "telemetry/telemetry_read.h"

/* Longer ones are not looked into; a frame must stay small. */
#define PATH_CAP 2048

/* A long trace is compressed. */
static const char *const trace_files[] = {"trace.json", "trace.json.gz"};

static bool join(char out[PATH_CAP], const char *folder, const char *name) {
    return (size_t)snprintf(out, PATH_CAP, "%s/%s", folder, name) < PATH_CAP;
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_CAP];
    struct stat info;
    return join(path, folder, name) && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool sl_bundle_is(const char *path) {
    return has_file(path, "events.json") &&
           (has_file(path, "metadata.json") || has_file(path, "manifest.json"));
}

bool sl_bundle_is_diagnose_file(const char *folder, const char *name) {
    static const char *const files[] = {"environment.json", "diagnostic_summary.json",
                                        "manifest.json"};
    for (size_t i = 0; i < SL_COUNT_OF(files); i++)
        if (strcmp(name, files[i]) == 0)
            return has_file(folder, "telemetry_timeline.json");
    return false;
}

/* Texts of the metadata that say what happened. */
typedef struct story {
    sl_arena *arena;
    const char *message, *reason, *type;
} story;

static const char **slot_of(story *s, sl_str key) {
    struct {
        const char *name;
        const char **slot;
    } rows[] = {
        {"exception_message", &s->message}, {"reason", &s->reason}, {"exception_type", &s->type}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (sl_str_is(key, rows[i].name))
            return rows[i].slot;
    return NULL;
}

static sl_status read_members(sl_json_in *json, story *s, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_expect_object(json, err));
    for (;;) {
        SL_TRY(sl_json_next(json, &token, err));
        if (token.type == SL_JSON_END_OBJECT)
            return SL_OK;
        const char **slot = slot_of(s, token.text);
        SL_TRY(sl_json_next(json, &token, err));
        if (slot && token.type == SL_JSON_STRING &&
            !(*slot = sl_arena_copy(s->arena, token.text.ptr, token.text.len)))
            return sl_fail_no_memory(err, "a text");
        SL_TRY(sl_json_skip(json, &token, err));
    }
}

static sl_status read_story(const char *folder, story *s, sl_error *err) {
    char path[PATH_CAP];
    sl_byte_stream in;
    sl_json_in json;
    if (!join(path, folder, "metadata.json"))
        return sl_fail(err, SL_E_LIMIT, "the path is too long");
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status >= 0) {
        sl_json_in_init(&json, &in);
        json.allows_nan = true;
        status = read_members(&json, s, err);
        sl_json_in_fini(&json);
    }
    sl_bytes_close(&in);
    return status < 0 ? sl_error_prefix(err, "metadata.json") : SL_OK;
}

static sl_status read_events(const char *folder, const sl_load_options *options, sl_telemetry *set,
                             sl_error *err) {
    char path[PATH_CAP];
    sl_byte_stream in;
    sl_tm_load_options how = {.convert.reads_bundle_names = true, .skips_bad = options->skips_bad};
    if (!join(path, folder, "events.json"))
        return sl_fail(err, SL_E_LIMIT, "the path is too long");
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status >= 0)
        status = sl_telemetry_read(&in, &how, set, err);
    sl_bytes_close(&in);
    return status < 0 ? sl_error_prefix(err, "events.json") : SL_OK;
}

static sl_status fill_from_samples(const char *path, const sl_load_options *options,
                                   sl_trace *trace, sl_error *err) {
    sl_telemetry *set = sl_telemetry_new();
    if (!set)
        return sl_fail_no_memory(err, "telemetry records");
    sl_status status = read_events(path, options, set, err);
    if (status < 0) {
        sl_telemetry_free(set);
        return status;
    }
    return sl__tm_attach(trace, set, err);
}

/* NULL when the bundle has none. */
static const char *find_trace(const char *folder) {
    for (size_t i = 0; i < SL_COUNT_OF(trace_files); i++)
        if (has_file(folder, trace_files[i]))
            return trace_files[i];
    return NULL;
}

/* Bundles of a recording hold every allocation up to the failure. */
static sl_status fill_from_trace(const char *folder, const char *file,
                                 const sl_load_options *options, sl_trace *trace, sl_error *err) {
    char path[PATH_CAP];
    sl_byte_stream in;
    if (!join(path, folder, file))
        return sl_fail(err, SL_E_LIMIT, "the path is too long");
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status >= 0)
        status = sl_source_trace.load(&(sl_source_input){path, &in, options}, trace, err);
    sl_bytes_close(&in);
    return status < 0 ? sl_error_prefix(err, "%s", file) : SL_OK;
}

static sl_status fill(const char *path, const sl_load_options *options, sl_trace *trace,
                      sl_error *err) {
    story s = {.arena = &trace->arena};
    if (!has_file(path, "manifest.json"))
        return sl_fail(err, SL_E_TRUNCATED,
                       "it has no manifest.json, which is written last: the bundle is incomplete; "
                       "read its files one by one");
    const char *file = find_trace(path);
    SL_TRY(file ? fill_from_trace(path, file, options, trace, err)
                : fill_from_samples(path, options, trace, err));
    if (has_file(path, "metadata.json"))
        SL_TRY(read_story(path, &s, err));
    if (!file)
        trace->oom_message = s.message ? s.message : s.reason;
    if (s.reason)
        sl_trace_note(trace, "reason for this bundle: %s", s.reason);
    return SL_OK;
}

sl_status sl_bundle_load(const char *path, const sl_load_options *options, sl_trace **out,
                         sl_error *err) {
    sl_trace *trace = sl_trace_new(path, SL_SOURCE_OOM_BUNDLE);
    if (!trace)
        return sl_fail_no_memory(err, "a trace");
    sl_status status = fill(path, options, trace, err);
    if (status < 0)
        sl_trace_free(trace);
    else
        *out = trace;
    return status;
}
