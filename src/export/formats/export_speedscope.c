/* SPDX-License-Identifier: MIT */
/* speedscope's own file format: shared frames, and for each device the live bytes at the peak, at
 * the end, and what the trace added and kept, as sampled profiles weighted in bytes. Schema:
 * https://www.speedscope.app/file-format-schema.json */
#include <stdio.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/json_out.h"
#include "export/formats/exporter.h"
#include "export/report/report_words.h"
#include "run/lines/stack_sums.h"
#include "sl_config.h"

typedef struct speedscope {
    const sl_trace *trace;
    sl_json_out json;
    uint64_t unrecorded; /* index of the frame that stands for "no stack", after all others */
} speedscope;

static void write_frames(speedscope *out) {
    sl_json_key(&out->json, "frames");
    sl_json_begin_array(&out->json);
    for (size_t i = 0; i < out->trace->stacks.frames.cnt; i++) {
        sl_frame frame = out->trace->stacks.frames.at[i];
        sl_str file = sl_strtab_get(&out->trace->strings, frame.file);
        sl_json_begin_object(&out->json);
        sl_json_key(&out->json, "name");
        sl_json_str(&out->json, sl_strtab_get(&out->trace->strings, frame.function));
        if (file.len) {
            sl_json_key(&out->json, "file");
            sl_json_str(&out->json, file);
        }
        if (frame.line) {
            sl_json_key(&out->json, "line");
            sl_json_u64(&out->json, frame.line);
        }
        sl_json_end_object(&out->json);
    }
    sl_json_begin_object(&out->json);
    sl_json_key(&out->json, "name");
    sl_json_cstr(&out->json, "(no recorded stack)");
    sl_json_end_object(&out->json);
    sl_json_end_array(&out->json);
    out->unrecorded = out->trace->stacks.frames.cnt;
}

/* Outermost first, as speedscope wants it. */
static void write_sample(speedscope *out, size_t stack_id) {
    const sl_stacks *stacks = &out->trace->stacks;
    size_t depth = sl_stack_depth(stacks, (uint32_t)stack_id);
    sl_json_begin_array(&out->json);
    if (depth == 0)
        sl_json_u64(&out->json, out->unrecorded);
    for (size_t i = depth; i > 0; i--)
        sl_json_u64(&out->json, stacks->frame_ids.at[stacks->spans.at[stack_id].first + i - 1]);
    sl_json_end_array(&out->json);
}

static uint64_t write_samples(speedscope *out, const sl_stack_sum *sums) {
    size_t cnt = sl_stack_sums_cnt(out->trace);
    uint64_t total = 0;
    sl_json_key(&out->json, "samples");
    sl_json_begin_array(&out->json);
    for (size_t id = 0; id < cnt; id++)
        if (sums[id].bytes)
            write_sample(out, id);
    sl_json_end_array(&out->json);
    sl_json_key(&out->json, "weights");
    sl_json_begin_array(&out->json);
    for (size_t id = 0; id < cnt; id++) {
        if (sums[id].bytes)
            sl_json_u64(&out->json, sums[id].bytes);
        total += sums[id].bytes;
    }
    sl_json_end_array(&out->json);
    return total;
}

static void write_profile(speedscope *out, int device, const char *what, const sl_stack_sum *sums) {
    char name[SL_WORDS_CAP];
    sl_words_device(name, device);
    sl_words_append(name, ": %s", what);
    sl_json_begin_object(&out->json);
    sl_json_key(&out->json, "type");
    sl_json_cstr(&out->json, "sampled");
    sl_json_key(&out->json, "name");
    sl_json_cstr(&out->json, name);
    sl_json_key(&out->json, "unit");
    sl_json_cstr(&out->json, "bytes");
    sl_json_key(&out->json, "startValue");
    sl_json_u64(&out->json, 0);
    uint64_t total = write_samples(out, sums);
    sl_json_key(&out->json, "endValue");
    sl_json_u64(&out->json, total);
    sl_json_end_object(&out->json);
}

static bool write_live(speedscope *out, const sl_replay *replay, const char *what, uint32_t event,
                       sl_stack_sum *sums) {
    memset(sums, 0, sl_stack_sums_cnt(out->trace) * sizeof *sums);
    if (!sl_stack_sums_live(replay, event, sums))
        return false;
    write_profile(out, replay->device->device, what, sums);
    return true;
}

static bool write_profiles(speedscope *out, const sl_replay *replay) {
    sl_stack_sum *sums = sl_stack_sums_new(out->trace);
    bool is_done = sums != NULL;
    if (is_done && replay->has_history)
        is_done = write_live(out, replay, "live at the peak", replay->peak_requested.event, sums);
    is_done = is_done && write_live(out, replay, "live at the end", sl_replay_end(replay), sums);
    if (is_done && replay->has_history) {
        memset(sums, 0, sl_stack_sums_cnt(out->trace) * sizeof *sums);
        sl_stack_sums_grown(replay, sums);
        write_profile(out, replay->device->device, "added and kept", sums);
    }
    free(sums);
    return is_done;
}

static sl_status write_device(speedscope *out, const sl_run_device *device, sl_error *err) {
    const sl_replay *replay;
    SL_TRY(sl_run_replay(device, &replay, err));
    return write_profiles(out, replay) ? SL_OK : sl_fail_no_memory(err, "the live blocks");
}

static void write_head(speedscope *out) {
    sl_json_key(&out->json, "$schema");
    sl_json_cstr(&out->json, "https://www.speedscope.app/file-format-schema.json");
    sl_json_key(&out->json, "exporter");
    sl_json_cstr(&out->json, "stormlog " SL_BUILD_VERSION);
    sl_json_key(&out->json, "name");
    sl_json_cstr(&out->json, sl_base_name(out->trace->path));
    sl_json_key(&out->json, "shared");
    sl_json_begin_object(&out->json);
    write_frames(out);
    sl_json_end_object(&out->json);
}

sl_status sl_export_speedscope(const sl_run_input *input, const sl_export_options *options,
                               FILE *to, sl_error *err) {
    SL_TRY(sl_export_check_events(input, "a speedscope profile", err));
    speedscope out = {.trace = input->trace};
    sl_json_init(&out.json, to, 0);
    sl_json_begin_object(&out.json);
    write_head(&out);
    sl_json_key(&out.json, "profiles");
    sl_json_begin_array(&out.json);
    for (size_t i = 0; i < input->device_cnt; i++)
        if (sl_export_wants_device(options, input->devices[i].events->device))
            SL_TRY(write_device(&out, &input->devices[i], err));
    sl_json_end_array(&out.json);
    sl_json_end_object(&out.json);
    return sl_json_finish(&out.json, err);
}
