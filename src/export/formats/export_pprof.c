/* SPDX-License-Identifier: MIT */
/* pprof's profile.proto, compressed if the build has zlib (pprof reads both). One sample for each
 * stack and device: live space and objects at the instant, and everything that was allocated. */
#include "sl_config.h"

#include <string.h>
#if HAVE_ZLIB
#include <zlib.h>
#endif

#include "export/formats/exporter.h"
#include "export/formats/pb_out.h"
#include "run/lines/stack_sums.h"

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_NUM = 3,
    MAPPING_ID = 1,
    MAPPING_FILENAME = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_LINE = 4,
    LINE_FUNCTION_ID = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
};

/* The string table: these first, then the trace's own strings in their order. pprof wants "" as
 * number 0. */
#define OWN_STRINGS(X)                \
    X(EMPTY, "")                      \
    X(INUSE_SPACE, "inuse_space")     \
    X(INUSE_OBJECTS, "inuse_objects") \
    X(ALLOC_SPACE, "alloc_space")     \
    X(ALLOC_OBJECTS, "alloc_objects") \
    X(SPACE, "space")                 \
    X(BYTES, "bytes")                 \
    X(COUNT, "count")                 \
    X(DEVICE, "device")               \
    X(UNRECORDED, "(no recorded stack)")

enum {
#define STRING_ENUM(name, text) STRING_##name,
    OWN_STRINGS(STRING_ENUM)
#undef STRING_ENUM
        STRING_OWN_CNT
};

static const char *const own_strings[] = {
#define STRING_TEXT(name, text) text,
    OWN_STRINGS(STRING_TEXT)
#undef STRING_TEXT
};

/* Order of the values in a sample. */
static const struct {
    uint64_t type, unit;
} sample_types[] = {
    {STRING_INUSE_SPACE, STRING_BYTES},
    {STRING_INUSE_OBJECTS, STRING_COUNT},
    {STRING_ALLOC_SPACE, STRING_BYTES},
    {STRING_ALLOC_OBJECTS, STRING_COUNT},
};

typedef struct profile_out {
    const sl_trace *trace;
    sl_pb_out out, part, inner;
    SL_VEC(uint64_t) locations; /* of the sample that is being written */
} profile_out;

/* Locations and functions are numbered from 1 by frame; the last one stands for "no stack". */
static uint64_t unrecorded_id(const profile_out *profile) {
    return profile->trace->stacks.frames.cnt + 1;
}

static void put_types(profile_out *profile) {
    for (size_t i = 0; i < SL_COUNT_OF(sample_types); i++) {
        sl_pb_varint(&profile->part, VALUE_TYPE_TYPE, sample_types[i].type);
        sl_pb_varint(&profile->part, VALUE_TYPE_UNIT, sample_types[i].unit);
        sl_pb_message(&profile->out, PROFILE_SAMPLE_TYPE, &profile->part);
    }
    sl_pb_varint(&profile->out, PROFILE_DEFAULT_SAMPLE_TYPE, STRING_INUSE_SPACE);
    /* Every byte is counted. Stores name profiles by this, too: it is that of Go's heap profiles. */
    sl_pb_varint(&profile->part, VALUE_TYPE_TYPE, STRING_SPACE);
    sl_pb_varint(&profile->part, VALUE_TYPE_UNIT, STRING_BYTES);
    sl_pb_message(&profile->out, PROFILE_PERIOD_TYPE, &profile->part);
    sl_pb_varint(&profile->out, PROFILE_PERIOD, 1);
}

static void put_mapping(profile_out *profile) {
    sl_pb_varint(&profile->part, MAPPING_ID, 1);
    sl_pb_varint(&profile->part, MAPPING_FILENAME,
                 STRING_OWN_CNT + profile->trace->strings.strings.cnt);
    sl_pb_varint(&profile->part, MAPPING_HAS_FUNCTIONS, 1);
    sl_pb_varint(&profile->part, MAPPING_HAS_FILENAMES, 1);
    sl_pb_varint(&profile->part, MAPPING_HAS_LINE_NUMBERS, 1);
    sl_pb_message(&profile->out, PROFILE_MAPPING, &profile->part);
}

static void put_function(profile_out *profile, uint64_t id, uint64_t name, uint64_t file) {
    sl_pb_varint(&profile->part, FUNCTION_ID, id);
    sl_pb_varint(&profile->part, FUNCTION_NAME, name);
    sl_pb_varint(&profile->part, FUNCTION_SYSTEM_NAME, name);
    sl_pb_varint(&profile->part, FUNCTION_FILENAME, file);
    sl_pb_message(&profile->out, PROFILE_FUNCTION, &profile->part);
}

static void put_location(profile_out *profile, uint64_t id, uint64_t line) {
    sl_pb_varint(&profile->inner, LINE_FUNCTION_ID, id);
    sl_pb_varint(&profile->inner, LINE_LINE, line);
    sl_pb_varint(&profile->part, LOCATION_ID, id);
    sl_pb_varint(&profile->part, LOCATION_MAPPING_ID, 1);
    sl_pb_message(&profile->part, LOCATION_LINE, &profile->inner);
    sl_pb_message(&profile->out, PROFILE_LOCATION, &profile->part);
}

static void put_frames(profile_out *profile) {
    const sl_stacks *stacks = &profile->trace->stacks;
    for (size_t i = 0; i < stacks->frames.cnt; i++) {
        sl_frame frame = stacks->frames.at[i];
        put_location(profile, i + 1, frame.line);
        put_function(profile, i + 1, STRING_OWN_CNT + frame.function, STRING_OWN_CNT + frame.file);
    }
    put_location(profile, unrecorded_id(profile), 0);
    put_function(profile, unrecorded_id(profile), STRING_UNRECORDED, STRING_EMPTY);
}

static void put_strings(profile_out *profile) {
    const sl_trace *trace = profile->trace;
    for (size_t i = 0; i < SL_COUNT_OF(own_strings); i++)
        sl_pb_text(&profile->out, PROFILE_STRING_TABLE,
                   (sl_str){own_strings[i], strlen(own_strings[i])});
    for (size_t i = 0; i < trace->strings.strings.cnt; i++)
        sl_pb_text(&profile->out, PROFILE_STRING_TABLE, trace->strings.strings.at[i]);
    sl_pb_text(&profile->out, PROFILE_STRING_TABLE, (sl_str){trace->path, strlen(trace->path)});
}

/* Innermost first, as pprof wants it. */
static bool collect_locations(profile_out *profile, uint32_t stack_id) {
    const sl_stacks *stacks = &profile->trace->stacks;
    size_t depth = sl_stack_depth(stacks, stack_id);
    profile->locations.cnt = 0;
    for (size_t i = 0; i < depth; i++) {
        uint64_t id = 1 + (uint64_t)stacks->frame_ids.at[stacks->spans.at[stack_id].first + i];
        if (!sl_vec_push(&profile->locations, id))
            return false;
    }
    return depth > 0 || sl_vec_push(&profile->locations, unrecorded_id(profile));
}

static bool put_sample(profile_out *profile, int device, uint32_t stack_id,
                       const sl_stack_sum *live, const sl_stack_sum *allocated) {
    const uint64_t values[] = {live->bytes, live->blocks, allocated->bytes, allocated->blocks};
    if (!collect_locations(profile, stack_id))
        return false;
    sl_pb_packed(&profile->part, SAMPLE_LOCATION_ID, profile->locations.at, profile->locations.cnt);
    sl_pb_packed(&profile->part, SAMPLE_VALUE, values, SL_COUNT_OF(values));
    sl_pb_varint(&profile->inner, LABEL_KEY, STRING_DEVICE);
    sl_pb_varint(&profile->inner, LABEL_NUM, (uint64_t)(int64_t)device);
    sl_pb_message(&profile->part, SAMPLE_LABEL, &profile->inner);
    sl_pb_message(&profile->out, PROFILE_SAMPLE, &profile->part);
    return true;
}

/* Live after the event, and allocated in the events [from, to). */
typedef struct sample_span {
    uint32_t event, from, to;
} sample_span;

static bool put_samples(profile_out *profile, const sl_replay *replay, sample_span span) {
    sl_stack_sum *live = sl_stack_sums_new(profile->trace);
    sl_stack_sum *allocated = sl_stack_sums_new(profile->trace);
    bool is_done = live && allocated && sl_stack_sums_live(replay, span.event, live);
    if (is_done)
        sl_stack_sums_allocated(replay, span.from, span.to, allocated);
    for (size_t id = 0; is_done && id < sl_stack_sums_cnt(profile->trace); id++)
        if (live[id].blocks || allocated[id].blocks)
            is_done = put_sample(profile, replay->device->device, (uint32_t)id, &live[id],
                                 &allocated[id]);
    free(live);
    free(allocated);
    return is_done;
}

static sl_status put_device(profile_out *profile, const sl_run_device *device,
                            const sl_export_options *options, sl_error *err) {
    const sl_interval *part = options->interval;
    sl_state state;
    SL_TRY(sl_run_state_at(device, part ? (sl_moment){SL_AT_END, 0} : options->at, &state, err));
    sample_span span = part ? (sample_span){part->peak, part->from, part->to}
                            : (sample_span){state.event, 0, SL_EVENT_NEVER};
    return put_samples(profile, state.replay, span) ? SL_OK
                                                    : sl_fail_no_memory(err, "the live blocks");
}

/* When it was recorded, where the input has a clock that fits into nanoseconds. */
static void put_times(profile_out *profile, const sl_run_input *input,
                      const sl_interval *interval) {
    sl_span span;
    if (!input->trace->has_time || !sl_run_span(input, NULL, &span) || span.first_us < 0 ||
        span.last_us > INT64_MAX / 1000)
        return;
    if (interval)
        span = (sl_span){.first_us = interval->from_us, .last_us = interval->until_us};
    sl_pb_varint(&profile->out, PROFILE_TIME_NANOS, (uint64_t)span.first_us * 1000);
    sl_pb_varint(&profile->out, PROFILE_DURATION_NANOS,
                 (uint64_t)(span.last_us - span.first_us) * 1000);
}

#if HAVE_ZLIB
#define GZIP_CHUNK 2048u
#define GZIP_PART  ((size_t)1 << 30) /* zlib counts in 32 bits */

/* Compresses what is in the input buffer; is_last ends the stream. */
static bool compress_part(z_stream *zip, bool is_last, FILE *to) {
    unsigned char chunk[GZIP_CHUNK] = {0};
    int code = Z_OK;
    do {
        zip->next_out = chunk;
        zip->avail_out = sizeof chunk;
        code = deflate(zip, is_last ? Z_FINISH : Z_NO_FLUSH);
        fwrite(chunk, 1, sizeof chunk - zip->avail_out, to);
    } while (code == Z_OK && (is_last || zip->avail_in));
    return code == (is_last ? Z_STREAM_END : Z_OK);
}

static sl_status write_bytes(const uint8_t *bytes, size_t cnt, FILE *to, sl_error *err) {
    z_stream zip = {0};
    if (deflateInit2(&zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return sl_fail_no_memory(err, "the compression");
    bool is_done = true, is_last = false;
    for (size_t at = 0; is_done && !is_last; at += GZIP_PART) {
        is_last = cnt - at <= GZIP_PART;
        zip.next_in = (unsigned char *)(uintptr_t)(bytes + at);
        zip.avail_in = (uInt)(is_last ? cnt - at : GZIP_PART);
        is_done = compress_part(&zip, is_last, to);
    }
    deflateEnd(&zip);
    return is_done ? SL_OK : sl_fail(err, SL_E_INTERNAL, "the profile could not be compressed");
}
#else
static sl_status write_bytes(const uint8_t *bytes, size_t cnt, FILE *to, sl_error *err) {
    SL_UNUSED(err);
    fwrite(bytes, 1, cnt, to);
    return SL_OK;
}
#endif

static sl_status put_all(profile_out *profile, const sl_run_input *input,
                         const sl_export_options *options, sl_error *err) {
    put_types(profile);
    put_mapping(profile);
    for (size_t i = 0; i < input->device_cnt; i++)
        if (sl_export_wants_device(options, input->devices[i].events->device))
            SL_TRY(put_device(profile, &input->devices[i], options, err));
    put_frames(profile);
    put_strings(profile);
    put_times(profile, input, options->interval);
    if (profile->out.has_failed)
        return sl_fail_no_memory(err, "the profile");
    return SL_OK;
}

sl_status sl_export_pprof(const sl_run_input *input, const sl_export_options *options, FILE *to,
                          sl_error *err) {
    SL_TRY(sl_export_check_events(input, "a pprof profile", err));
    profile_out profile = {.trace = input->trace};
    sl_status status = put_all(&profile, input, options, err);
    if (status == SL_OK)
        status = write_bytes(profile.out.bytes.at, profile.out.bytes.cnt, to, err);
    sl_pb_fini(&profile.out);
    sl_pb_fini(&profile.part);
    sl_pb_fini(&profile.inner);
    sl_vec_free(&profile.locations);
    return status < 0 ? status : sl_export_finish(to, err);
}
