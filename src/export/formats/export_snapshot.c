/* SPDX-License-Identifier: MIT */
/* A PyTorch memory snapshot: pickle protocol 4 with the keys PyTorch itself writes, so that its
 * viewer, pickle.load and other tools open it. Every distinct stack is one list and every distinct
 * frame one dict, which is legal and keeps the file small. */
#include <string.h>

#include "export/formats/exporter.h"
#include "export/formats/pickle_out.h"
#include "model/bounds.h"
#include "run/blocks/end_state.h"
#include "run/work_end.h"

/* Keys and fixed words; each is written once and then referenced. */
#define WORD_MAP(X)                             \
    X(SEGMENTS, "segments")                     \
    X(DEVICE_TRACES, "device_traces")           \
    X(SETTINGS, "allocator_settings")           \
    X(ANNOTATIONS, "external_annotations")      \
    X(DEVICE, "device")                         \
    X(ADDRESS, "address")                       \
    X(TOTAL_SIZE, "total_size")                 \
    X(ALLOCATED_SIZE, "allocated_size")         \
    X(ACTIVE_SIZE, "active_size")               \
    X(REQUESTED_SIZE, "requested_size")         \
    X(STREAM, "stream")                         \
    X(SEGMENT_TYPE, "segment_type")             \
    X(SEGMENT_POOL, "segment_pool_id")          \
    X(IS_EXPANDABLE, "is_expandable")           \
    X(FRAMES, "frames")                         \
    X(BLOCKS, "blocks")                         \
    X(SIZE, "size")                             \
    X(STATE, "state")                           \
    X(ACTION, "action")                         \
    X(ADDR, "addr")                             \
    X(DEVICE_FREE, "device_free")               \
    X(TIME, "time_us")                          \
    X(POOL, "pool_id")                          \
    X(NAME, "name")                             \
    X(FILENAME, "filename")                     \
    X(LINE, "line")                             \
    X(STAGE, "stage")                           \
    X(START, "START")                           \
    X(END, "END")                               \
    X(SMALL, "small")                           \
    X(LARGE, "large")                           \
    X(INACTIVE, "inactive")                     \
    X(ALLOCATED, "active_allocated")            \
    X(PENDING_FREE, "active_pending_free")      \
    X(ALLOC_CONF, "PYTORCH_CUDA_ALLOC_CONF")    \
    X(MAX_SPLIT, "max_split_size")              \
    X(GC_LEVEL, "garbage_collection_threshold") \
    X(EXPANDABLE, "expandable_segments")

typedef enum word_id {
#define WORD_ENUM(name, text) W_##name,
    WORD_MAP(WORD_ENUM)
#undef WORD_ENUM
        W_LIMIT
} word_id;

static const char *const word_texts[] = {
#define WORD_TEXT(name, text) text,
    WORD_MAP(WORD_TEXT)
#undef WORD_TEXT
};

typedef struct snapshot_out {
    sl_pickle_out pickle;
    const sl_run_input *input;
    const sl_trace *trace;
    const sl_export_options *options;
    uint32_t words[W_LIMIT];       /* memo numbers */
    uint32_t actions[SL_EV_LIMIT]; /* of the action's name */
    uint32_t *strings;             /* owned; by string id */
    uint32_t *frames;              /* owned; by frame id */
    uint32_t *stacks;              /* owned; by stack id */
} snapshot_out;

static void put_word(snapshot_out *out, word_id word) {
    sl_pickle_out_shared_str(&out->pickle, (sl_str){word_texts[word], strlen(word_texts[word])},
                             &out->words[word]);
}

static void put_string(snapshot_out *out, uint32_t string_id) {
    sl_str text = sl_strtab_get(&out->trace->strings, string_id);
    uint32_t unshared = SL_PICKLE_NO_MEMO;
    bool is_known = string_id < out->trace->strings.strings.cnt;
    sl_pickle_out_shared_str(&out->pickle, text, is_known ? &out->strings[string_id] : &unshared);
}

static void key_u64(snapshot_out *out, word_id key, uint64_t value) {
    put_word(out, key);
    sl_pickle_out_u64(&out->pickle, value);
}

static void key_word(snapshot_out *out, word_id key, word_id value) {
    put_word(out, key);
    put_word(out, value);
}

static void put_frame(snapshot_out *out, uint32_t frame_id) {
    sl_pickle_out *pickle = &out->pickle;
    if (out->frames[frame_id] != SL_PICKLE_NO_MEMO) {
        sl_pickle_out_get(pickle, out->frames[frame_id]);
        return;
    }
    sl_frame frame = out->trace->stacks.frames.at[frame_id];
    sl_pickle_out_empty_dict(pickle);
    out->frames[frame_id] = sl_pickle_out_memoize(pickle);
    sl_pickle_out_mark(pickle);
    put_word(out, W_NAME);
    put_string(out, frame.function);
    put_word(out, W_FILENAME);
    put_string(out, frame.file);
    key_u64(out, W_LINE, frame.line);
    sl_pickle_out_set_items(pickle);
}

static void put_stack(snapshot_out *out, uint32_t stack_id) {
    sl_pickle_out *pickle = &out->pickle;
    if (out->stacks[stack_id] != SL_PICKLE_NO_MEMO) {
        sl_pickle_out_get(pickle, out->stacks[stack_id]);
        return;
    }
    const sl_stacks *stacks = &out->trace->stacks;
    size_t depth = sl_stack_depth(stacks, stack_id);
    sl_pickle_out_empty_list(pickle);
    out->stacks[stack_id] = sl_pickle_out_memoize(pickle);
    for (size_t i = 0; i < depth; i++) {
        sl_pickle_out_list_item(pickle, i);
        put_frame(out, stacks->frame_ids.at[stacks->spans.at[stack_id].first + i]);
    }
    sl_pickle_out_list_end(pickle, depth);
}

static void key_pool(snapshot_out *out, word_id key, uint16_t pool_idx) {
    sl_pool pool = {0};
    if (pool_idx < out->trace->pools.cnt)
        pool = out->trace->pools.at[pool_idx];
    put_word(out, key);
    sl_pickle_out_i64(&out->pickle, pool.capture_id);
    sl_pickle_out_i64(&out->pickle, pool.user_id);
    sl_pickle_out_tuple2(&out->pickle);
}

static void key_stream(snapshot_out *out, uint16_t stream_idx) {
    bool is_known = stream_idx < out->trace->streams.cnt;
    key_u64(out, W_STREAM, is_known ? out->trace->streams.at[stream_idx] : 0);
}

static void put_block(snapshot_out *out, const sl_block *block) {
    static const word_id states[] = {
        [SL_BLOCK_INACTIVE] = W_INACTIVE,
        [SL_BLOCK_ALLOCATED] = W_ALLOCATED,
        [SL_BLOCK_PENDING_FREE] = W_PENDING_FREE,
    };
    sl_pickle_out_empty_dict(&out->pickle);
    sl_pickle_out_mark(&out->pickle);
    key_u64(out, W_ADDRESS, block->addr);
    key_u64(out, W_SIZE, block->size_bytes);
    key_u64(out, W_REQUESTED_SIZE, block->requested_bytes);
    key_word(out, W_STATE, states[block->state]);
    put_word(out, W_FRAMES);
    put_stack(out, block->stack_id);
    sl_pickle_out_set_items(&out->pickle);
}

static void put_segment(snapshot_out *out, int device, const sl_segment *segment,
                        const sl_block *blocks) {
    sl_pickle_out *pickle = &out->pickle;
    sl_pickle_out_empty_dict(pickle);
    sl_pickle_out_mark(pickle);
    put_word(out, W_DEVICE);
    sl_pickle_out_i64(pickle, device);
    key_u64(out, W_ADDRESS, segment->addr);
    key_u64(out, W_TOTAL_SIZE, segment->total_bytes);
    key_u64(out, W_ALLOCATED_SIZE, segment->allocated_bytes);
    key_u64(out, W_ACTIVE_SIZE, segment->active_bytes);
    key_u64(out, W_REQUESTED_SIZE, segment->requested_bytes);
    key_stream(out, segment->stream_idx);
    key_word(out, W_SEGMENT_TYPE, segment->is_large ? W_LARGE : W_SMALL);
    key_pool(out, W_SEGMENT_POOL, segment->pool_idx);
    put_word(out, W_IS_EXPANDABLE);
    sl_pickle_out_bool(pickle, segment->is_expandable);
    put_word(out, W_FRAMES);
    put_stack(out, segment->stack_id);
    put_word(out, W_BLOCKS);
    sl_pickle_out_empty_list(pickle);
    for (size_t i = 0; i < segment->block_cnt; i++) {
        sl_pickle_out_list_item(pickle, i);
        put_block(out, &blocks[segment->first_block + i]);
    }
    sl_pickle_out_list_end(pickle, segment->block_cnt);
    sl_pickle_out_set_items(pickle);
}

/* The number a device gets in the file; -1 = not written. PyTorch's viewers do not support host
 * memory, so a recording with host memory only is written as device 0. */
static int number_of(const snapshot_out *out, const sl_device_trace *device) {
    bool is_alone = out->trace->devices.cnt == 1 || out->options->has_device;
    if (!sl_export_wants_device(out->options, device->device))
        return -1;
    if (device->device == SL_DEVICE_HOST)
        return is_alone ? 0 : -1;
    return device->device;
}

static const sl_device_trace *find_number(const snapshot_out *out, int number) {
    for (size_t i = 0; i < out->trace->devices.cnt; i++)
        if (number_of(out, out->trace->devices.at[i]) == number)
            return out->trace->devices.at[i];
    return NULL;
}

static sl_status put_segments(snapshot_out *out, sl_error *err) {
    size_t cnt = 0;
    put_word(out, W_SEGMENTS);
    sl_pickle_out_empty_list(&out->pickle);
    for (size_t i = 0; i < out->trace->devices.cnt; i++) {
        const sl_device_trace *device = out->trace->devices.at[i];
        int number = number_of(out, device);
        sl_end_state state;
        if (number < 0)
            continue;
        SL_TRY(sl_end_state_load(&state, &out->input->devices[i], err));
        for (size_t j = 0; j < state.segments.cnt; j++) {
            sl_pickle_out_list_item(&out->pickle, cnt++);
            put_segment(out, number, &state.segments.at[j], state.blocks.at);
        }
        sl_end_state_fini(&state);
    }
    sl_pickle_out_list_end(&out->pickle, cnt);
    return SL_OK;
}

static void put_event(snapshot_out *out, const sl_event *event, sl_event_kind kind) {
    sl_pickle_out *pickle = &out->pickle;
    const char *action = sl_event_kind_name(kind);
    sl_pickle_out_empty_dict(pickle);
    sl_pickle_out_mark(pickle);
    put_word(out, W_ACTION);
    sl_pickle_out_shared_str(pickle, (sl_str){action, strlen(action)}, &out->actions[kind]);
    bool has_free = sl_event_rows[kind].addr == SL_ADDR_FREE_BYTES;
    key_u64(out, has_free ? W_DEVICE_FREE : W_ADDR, event->addr);
    key_u64(out, W_SIZE, event->size_bytes);
    key_stream(out, event->stream_idx);
    if (out->trace->has_time) {
        put_word(out, W_TIME);
        sl_pickle_out_i64(pickle, event->time_us);
    }
    if (event->pool_idx != SL_POOL_UNKNOWN)
        key_pool(out, W_POOL, event->pool_idx);
    if (out->trace->has_event_stacks) {
        put_word(out, W_FRAMES);
        put_stack(out, event->stack_id);
    }
    sl_pickle_out_set_items(pickle);
}

/* PyTorch writes a free as two events; a fused one becomes both. Kinds that PyTorch does not have
 * (samples, steps, driver calls) are skipped. Returns the number of events written. */
static size_t put_mapped(snapshot_out *out, const sl_event *event, size_t idx) {
    static const sl_event_kind free_pair[] = {SL_EV_FREE_REQUESTED, SL_EV_FREE_COMPLETED};
    if (!sl_event_rows[event->kind].is_in_torch || event->kind == SL_EV_ANNOTATE)
        return 0;
    if (event->kind != SL_EV_FREE) {
        sl_pickle_out_list_item(&out->pickle, idx);
        put_event(out, event, event->kind);
        return 1;
    }
    for (size_t i = 0; i < SL_COUNT_OF(free_pair); i++) {
        sl_pickle_out_list_item(&out->pickle, idx + i);
        put_event(out, event, free_pair[i]);
    }
    return SL_COUNT_OF(free_pair);
}

static void put_device_events(snapshot_out *out, const sl_device_trace *device) {
    size_t cnt = 0;
    sl_pickle_out_empty_list(&out->pickle);
    size_t work_cnt = device ? sl_work_count(out->trace, device) : 0; /* as the end state */
    for (size_t i = 0; i < work_cnt && !ferror(out->pickle.to); i++) {
        sl_event event = sl_events_get(&device->events, i);
        cnt += put_mapped(out, &event, cnt);
    }
    sl_pickle_out_list_end(&out->pickle, cnt);
}

/* The position in the outer list is the device, so idle devices below the highest one need an empty list
 * each. The number comes from the input: unchecked, one record of device 2^31 - 1 makes a file of gigabytes.
 * Our own readers of snapshots take no higher number either. */
static sl_status check_devices(const snapshot_out *out, sl_error *err) {
    for (size_t i = 0; i < out->trace->devices.cnt; i++) {
        int number = number_of(out, out->trace->devices.at[i]);
        if (number >= SL_DEVICE_LIMIT)
            return sl_fail(err, SL_E_LIMIT,
                           "'%s' holds device %d; expected at most %d, because a snapshot lists "
                           "every device below it",
                           out->trace->path, number, SL_DEVICE_LIMIT - 1);
    }
    return SL_OK;
}

static void put_traces(snapshot_out *out) {
    int cnt = 0;
    for (size_t i = 0; i < out->trace->devices.cnt; i++) {
        int number = number_of(out, out->trace->devices.at[i]);
        cnt = number >= cnt ? number + 1 : cnt;
    }
    put_word(out, W_DEVICE_TRACES);
    sl_pickle_out_empty_list(&out->pickle);
    for (int number = 0; number < cnt; number++) {
        sl_pickle_out_list_item(&out->pickle, (size_t)number);
        put_device_events(out, find_number(out, number));
    }
    sl_pickle_out_list_end(&out->pickle, (size_t)cnt);
}

static void put_settings(snapshot_out *out) {
    const sl_allocator_settings *settings = &out->trace->settings;
    put_word(out, W_SETTINGS);
    sl_pickle_out_empty_dict(&out->pickle);
    sl_pickle_out_mark(&out->pickle);
    put_word(out, W_ALLOC_CONF);
    put_string(out, settings->conf);
    if (settings->max_split_bytes.known)
        key_u64(out, W_MAX_SPLIT, settings->max_split_bytes.value);
    if (settings->gc_threshold.known) {
        put_word(out, W_GC_LEVEL);
        sl_pickle_out_f64(&out->pickle, settings->gc_threshold.value);
    }
    if (settings->expandable_known) {
        put_word(out, W_EXPANDABLE);
        sl_pickle_out_bool(&out->pickle, settings->is_expandable);
    }
    sl_pickle_out_set_items(&out->pickle);
}

static void put_annotations(snapshot_out *out) {
    size_t cnt = 0;
    put_word(out, W_ANNOTATIONS);
    sl_pickle_out_empty_list(&out->pickle);
    for (size_t i = 0; i < out->trace->marks.cnt; i++) {
        const sl_mark *mark = &out->trace->marks.at[i];
        if (mark->kind != SL_MARK_BEGIN && mark->kind != SL_MARK_END)
            continue;
        sl_pickle_out_list_item(&out->pickle, cnt++);
        sl_pickle_out_empty_dict(&out->pickle);
        sl_pickle_out_mark(&out->pickle);
        key_word(out, W_STAGE, mark->kind == SL_MARK_BEGIN ? W_START : W_END);
        put_word(out, W_NAME);
        put_string(out, mark->name);
        put_word(out, W_DEVICE);
        sl_pickle_out_i64(&out->pickle, mark->device);
        put_word(out, W_TIME);
        sl_pickle_out_i64(&out->pickle, mark->time_us);
        sl_pickle_out_set_items(&out->pickle);
    }
    sl_pickle_out_list_end(&out->pickle, cnt);
}

/* Memo numbers, all of them "not written yet". NULL when memory ran out. */
static uint32_t *new_memo(size_t cnt) {
    size_t slots = cnt ? cnt : 1;
    uint32_t *memo = malloc(slots * sizeof *memo);
    if (memo)
        memset(memo, 0xff, slots * sizeof *memo);
    return memo;
}

static sl_status write_all(snapshot_out *out, FILE *to, sl_error *err) {
    sl_pickle_out_begin(&out->pickle, to);
    sl_pickle_out_empty_dict(&out->pickle);
    sl_pickle_out_mark(&out->pickle);
    SL_TRY(put_segments(out, err));
    put_traces(out);
    put_settings(out);
    put_annotations(out);
    sl_pickle_out_set_items(&out->pickle);
    sl_pickle_out_end(&out->pickle);
    return sl_export_finish(to, err);
}

sl_status sl_export_snapshot(const sl_run_input *input, const sl_export_options *options, FILE *to,
                             sl_error *err) {
    const sl_trace *trace = input->trace;
    snapshot_out out = {.input = input, .trace = trace, .options = options};
    SL_TRY(sl_export_check_events(input, "a snapshot", err));
    SL_TRY(check_devices(&out, err));
    memset(out.words, 0xff, sizeof out.words);
    memset(out.actions, 0xff, sizeof out.actions);
    out.strings = new_memo(trace->strings.strings.cnt);
    out.frames = new_memo(trace->stacks.frames.cnt);
    out.stacks = new_memo(trace->stacks.spans.cnt);
    sl_status status = out.strings && out.frames && out.stacks ? write_all(&out, to, err)
                                                               : sl_fail_no_memory(err, "the memo");
    free(out.strings);
    free(out.frames);
    free(out.stacks);
    return status;
}
