/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "model/bounds.h"
#include "read/core/source.h"
#include "read/core/source_bundle.h"

const sl_source_ops *const sl_sources[] = {
    &sl_source_slog,
    &sl_source_torch_pickle,
    &sl_source_torch_json,
    &sl_source_trace,
    &sl_source_telemetry,
    &sl_source_series,
    NULL,
};

/* Any JSON scores 1, as it may be a snapshot; only a higher score means that the kind is known. */
#define KNOWN_SCORE     2
/* How far is read into a JSON file whose first SL_PROBE_BYTES do not show what it is: a record may begin
 * with a long text. */
#define FAR_PROBE_BYTES (1u << 20)

static const sl_source_ops *find_best(const unsigned char *head, size_t len, const char *path,
                                      int *best_score) {
    const sl_source_ops *best = NULL;
    *best_score = 0;
    for (size_t i = 0; sl_sources[i]; i++) {
        int score = sl_sources[i]->probe(head, len, path);
        if (score > *best_score) {
            *best_score = score;
            best = sl_sources[i];
        }
    }
    return best;
}

static const sl_source_ops *find_source(sl_byte_stream *in, const char *path) {
    int score;
    size_t len = (size_t)(in->end - in->at);
    const sl_source_ops *best =
        find_best(in->at, len < SL_PROBE_BYTES ? len : SL_PROBE_BYTES, path, &score);
    if (!best || score >= KNOWN_SCORE)
        return best;
    (void)sl_bytes_need(in, FAR_PROBE_BYTES);
    len = (size_t)(in->end - in->at);
    return find_best(in->at, len < FAR_PROBE_BYTES ? len : FAR_PROBE_BYTES, path, &score);
}

#define HEAD_SHOWN 8

static bool is_text(const unsigned char *head, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (head[i] > 0x7e || head[i] == 0 || (head[i] < 0x20 && !strchr("\t\n\r", head[i])))
            return false;
    return true;
}

/* What is given by mistake most often. */
static const struct {
    unsigned char magic[HEAD_SHOWN];
    size_t len;
    const char *what;
} strangers[] = {
    {{'P', 'K', 3, 4}, 4, "it looks like a zip file, such as a checkpoint of torch.save"},
    {{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'},
     8,
     "it looks like HDF5, such as Keras' weights"},
    {{0}, HEAD_SHOWN, "it begins with zeros: its writer ended before it wrote the header"},
};

static const char *find_stranger(const unsigned char *head, size_t len) {
    for (size_t i = 0; i < SL_COUNT_OF(strangers); i++)
        if (len >= strangers[i].len && memcmp(head, strangers[i].magic, strangers[i].len) == 0)
            return strangers[i].what;
    return NULL;
}

/* "it looks like text: 'import t...'", or "it begins with 89 50 4e 47 0d 0a 1a 0a". */
static void describe_head(char *to, size_t cap, const unsigned char *head, size_t len) {
    size_t shown = len < HEAD_SHOWN ? len : HEAD_SHOWN;
    const char *stranger = find_stranger(head, len);
    if (stranger) {
        snprintf(to, cap, "%s", stranger);
        return;
    }
    if (is_text(head, len < SL_PROBE_BYTES ? len : SL_PROBE_BYTES)) {
        size_t used = (size_t)snprintf(to, cap, "it looks like text: '");
        for (size_t i = 0; i < shown; i++)
            to[used++] = head[i] >= 0x20 ? (char)head[i] : ' ';
        snprintf(to + used, cap - used, "%s'", len > shown ? "..." : "");
        return;
    }
    size_t used = (size_t)snprintf(to, cap, "it begins with");
    for (size_t i = 0; i < shown; i++)
        used += (size_t)snprintf(to + used, cap - used, " %02x", head[i]);
}

static sl_status fail_foreign(const unsigned char *head, size_t len, sl_error *err) {
    char found[96];
    describe_head(found, sizeof found, head, len);
    return sl_fail_at(err, SL_E_FOREIGN, 0,
                      "not a recording, PyTorch snapshot, telemetry file or OOM bundle (%s)",
                      found);
}

static sl_status load_source(const sl_source_ops *source, const sl_source_input *input,
                             sl_trace **out, sl_error *err) {
    sl_trace *trace = sl_trace_new(input->path, source->kind);
    if (!trace)
        return sl_fail_no_memory(err, "a trace");
    sl_status status = source->load(input, trace, err);
    if (status < 0) {
        sl_trace_free(trace);
        return status;
    }
    *out = trace;
    return SL_OK;
}

static sl_status load_stream(const sl_source_input *input, sl_trace **out, sl_error *err) {
    sl_byte_stream *in = input->in;
    (void)sl_bytes_need(in, SL_PROBE_BYTES);
    if (in->failure.code < 0)
        return sl_bytes_failure(in, "the file", err);
    size_t len = (size_t)(in->end - in->at);
    if (len == 0)
        return sl_fail_at(err, SL_E_TRUNCATED, 0, "it is empty (0 bytes)");
    const sl_source_ops *source = find_source(in, input->path);
    return source ? load_source(source, input, out, err) : fail_foreign(in->at, len, err);
}

bool sl_trace_probe(const char *path, sl_source_kind *kind) {
    sl_byte_stream in;
    int best = 0;
    if (sl_bytes_open(&in, path, NULL, NULL) >= 0 && sl_bytes_need(&in, 1)) {
        (void)sl_bytes_need(&in, SL_PROBE_BYTES);
        size_t len = (size_t)(in.end - in.at), seen = len < SL_PROBE_BYTES ? len : SL_PROBE_BYTES;
        for (size_t i = 0; sl_sources[i]; i++) {
            int score = sl_sources[i]->probe(in.at, seen, path);
            if (score >= KNOWN_SCORE && score > best)
                best = score, *kind = sl_sources[i]->kind;
        }
    }
    sl_bytes_close(&in);
    return best > 0;
}

bool sl_trace_is_known(const char *path) {
    sl_source_kind ignored;
    return sl_trace_probe(path, &ignored);
}

static sl_status load_path(const char *path, const sl_load_options *options, sl_trace **out,
                           sl_error *err) {
    if (sl_bundle_is(path))
        return sl_bundle_load(path, options, out, err);
    sl_byte_stream in;
    sl_byte_options bytes = {options->progress, options->progress_ctx, options->max_expansion,
                             options->stop};
    sl_status status = sl_bytes_open(&in, path, &bytes, err);
    sl_source_input input = {path, &in, options};
    if (status >= 0)
        status = load_stream(&input, out, err);
    sl_bytes_close(&in);
    return status;
}

/* Where every reader's trace passes through once: what is outside the bounds is refused here. */
static sl_status finish_load(sl_status status, const char *name, sl_trace **out, sl_error *err) {
    if (status >= 0) {
        status = sl_trace_check_bounds(*out, err);
        if (status < 0) {
            sl_trace_free(*out);
            *out = NULL;
        }
    }
    return status < 0 ? sl_error_prefix(err, "cannot read '%s'", name) : SL_OK;
}

sl_status sl_trace_load(const char *path, const sl_load_options *options, sl_trace **out,
                        sl_error *err) {
    static const sl_load_options defaults;
    sl_error local = SL_ERROR_INIT;
    if (!err)
        err = &local;
    sl_status status = load_path(path, options ? options : &defaults, out, err);
    return finish_load(status, path, out, err);
}

sl_status sl_trace_load_memory(const char *name, const void *bytes, size_t len, sl_trace **out,
                               sl_error *err) {
    static const sl_load_options defaults;
    sl_error local = SL_ERROR_INIT;
    if (!err)
        err = &local;
    sl_byte_stream in;
    sl_bytes_init(&in, bytes, len);
    sl_source_input input = {name, &in, &defaults};
    sl_status status = load_stream(&input, out, err);
    return finish_load(status, name, out, err);
}
