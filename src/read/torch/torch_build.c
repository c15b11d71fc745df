/* SPDX-License-Identifier: MIT */
#include "read/torch/torch_build.h"

#include <assert.h>
#include <string.h>

#include "model/bounds.h"
#include "read/torch/torch_take.h"

/* More cards than any machine has; keeps a hostile file from making a device per byte. */
sl_status sl_torch_build_init(sl_torch_build *build, sl_trace *trace, sl_error *err) {
    *build = (sl_torch_build){.trace = trace};
    for (uint32_t word = 1; word < SL_WORD_LIMIT; word++) {
        const char *text = sl_torch_words[word];
        uint32_t id = sl_strtab_intern(&trace->strings, text, strlen(text));
        if (id == SL_STR_NONE)
            return sl_fail_no_memory(err, "the snapshot");
        assert(id == word);
    }
    for (uint32_t word = SL_WORD_ALLOC; word < SL_WORD_LIMIT; word++)
        build->kind_of_word[word] =
            (uint8_t)sl_event_kind_find(sl_torch_words[word], strlen(sl_torch_words[word]));
    for (size_t i = 0; i < sl_torch_field_cnt; i++)
        build->field_of[sl_torch_fields[i].role][sl_torch_fields[i].word] = (uint8_t)(i + 1);
    memset(build->stream_cache_idx, 0xff, sizeof build->stream_cache_idx);
    trace->has_requested_sizes = true;
    return SL_OK;
}

void sl_torch_build_fini(sl_torch_build *build) {
    sl_vec_free(&build->frames);
    sl_vec_free(&build->blocks);
}

uint16_t sl_torch_stream(sl_torch_build *build, uint64_t handle) {
    /* Handles are pointers: the low bits say nothing. */
    size_t slot = (size_t)((handle * 0x9e3779b97f4a7c15u) >> 58);
    if (build->stream_cache_idx[slot] != UINT16_MAX && build->stream_cache_handle[slot] == handle)
        return build->stream_cache_idx[slot];
    build->stream_cache_handle[slot] = handle;
    return build->stream_cache_idx[slot] = sl_trace_stream(build->trace, handle);
}

static bool has(const sl_torch_build *build, sl_torch_role role, sl_torch_word word) {
    uint8_t field = build->field_of[role][word];
    return field && (build->seen[role] >> ((field - 1) % 64) & 1);
}

sl_torch_role sl_torch_child_role(const sl_torch_build *build, sl_torch_role role, uint32_t key) {
    uint8_t field = key < SL_WORD_LIMIT ? build->field_of[role][key] : 0;
    return field ? (sl_torch_role)sl_torch_fields[field - 1].child : SL_ROLE_SKIP;
}

/* --- Begin ------------------------------------------------------------------------------------ */

static sl_status begin_trace(sl_torch_build *build, uint64_t index, sl_error *err) {
    if (index >= SL_DEVICE_LIMIT)
        return sl_fail_at(err, SL_E_LIMIT, build->at_byte,
                          "more than %d device traces, at byte %llu", SL_DEVICE_LIMIT,
                          (unsigned long long)build->at_byte);
    build->trace_device = build->is_host ? SL_DEVICE_HOST : (int)index;
    build->events = NULL;
    build->event_cnt = 0;
    return SL_OK;
}

/* The events begin: if the segments came first, as in torch's files, what is live is known. What is wrong
 * with them is reported when all is read. */
static void show_end_state(sl_torch_build *build) {
    sl_error ignored = SL_ERROR_INIT;
    void (*show)(void *, sl_trace *) = build->on_end_state;
    if (!show || !build->has_segments || build->total_cnt > 0)
        return;
    build->on_end_state = NULL;
    if (sl_torch_settle_segments(build, &ignored) >= 0 &&
        sl_trace_check_bounds(build->trace, &ignored) >= 0)
        show(build->on_end_state_ctx, build->trace);
}

sl_status sl_torch_begin(sl_torch_build *build, sl_torch_role role, uint64_t index, sl_error *err) {
    build->seen[role] = 0;
    switch (role) {
    case SL_ROLE_SEGMENTS: build->has_segments = true; break;
    case SL_ROLE_TRACES:
        build->is_host = false;
        show_end_state(build);
        break;
    case SL_ROLE_HOST_TRACES: build->is_host = true; return begin_trace(build, 0, err);
    case SL_ROLE_TRACE: return begin_trace(build, index, err);
    case SL_ROLE_EVENT:
        memset(&build->draft.event, 0, sizeof build->draft.event);
        build->draft.event.pool_idx = SL_POOL_UNKNOWN;
        break;
    case SL_ROLE_SEGMENT:
        memset(&build->draft.segment, 0, sizeof build->draft.segment);
        build->blocks.cnt = 0;
        break;
    case SL_ROLE_BLOCK:
        memset(&build->draft.block, 0, sizeof build->draft.block);
        build->history_cnt = 0;
        break;
    case SL_ROLE_HISTORY_ITEM:
        memset(&build->draft.history_item, 0, sizeof build->draft.history_item);
        break;
    case SL_ROLE_FRAMES: build->frames.cnt = 0; break;
    case SL_ROLE_FRAME: memset(&build->draft.frame, 0, sizeof build->draft.frame); break;
    case SL_ROLE_ANNOTATION:
        memset(&build->draft.annotation, 0, sizeof build->draft.annotation);
        break;
    case SL_ROLE_POOL: build->pool_id_cnt = 0; break;
    default: break;
    }
    return SL_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

sl_status sl_torch_set(sl_torch_build *build, sl_torch_role role, uint32_t key,
                       const sl_torch_value *value, sl_error *err) {
    uint8_t field = key < SL_WORD_LIMIT ? build->field_of[role][key] : 0;
    if (!field) {
        build->trace->unknown_keys++;
        return SL_OK;
    }
    if (value->kind == SL_VAL_NONE) /* what json and hand-made files write for "not known" */
        return SL_OK;
    build->seen[role] |= (uint64_t)1 << ((field - 1) % 64);
    return sl_torch_take_value(build, &sl_torch_fields[field - 1], value, err);
}

static sl_status wrong_item(const sl_torch_build *build, sl_torch_role role,
                            const sl_torch_value *item, sl_error *err) {
    return sl_fail_at(err, SL_E_FORMAT, build->at_byte, "%s holds %s at byte %llu, expected %s",
                      sl_torch_roles[role].text, sl_torch_kind_text(item),
                      (unsigned long long)build->at_byte,
                      role == SL_ROLE_POOL     ? "an int"
                      : role == SL_ROLE_TRACES ? "a list of events"
                                               : "a dict");
}

static sl_status append_pool_id(sl_torch_build *build, const sl_torch_value *item, sl_error *err) {
    if (item->kind != SL_VAL_INT)
        return wrong_item(build, SL_ROLE_POOL, item, err);
    if (build->pool_id_cnt < 2)
        build->pool_ids[build->pool_id_cnt] = item->u;
    build->pool_id_cnt++;
    return SL_OK;
}

sl_status sl_torch_append(sl_torch_build *build, sl_torch_role role, const sl_torch_value *item,
                          sl_error *err) {
    const sl_torch_role_row *row = &sl_torch_roles[role];
    if (role == SL_ROLE_POOL)
        return append_pool_id(build, item, err);
    bool is_dict = item->kind == SL_VAL_DICT && row->of_dicts && item->role == row->of_dicts;
    bool is_list =
        item->kind == SL_VAL_LIST && row->of_lists && (item->role == row->of_lists || item->u == 0);
    if (!is_dict && !is_list)
        return wrong_item(build, role, item, err);
    if (role == SL_ROLE_FRAMES && !sl_vec_push(&build->frames, item->id))
        return sl_fail_no_memory(err, "the snapshot");
    return SL_OK;
}

/* --- End -------------------------------------------------------------------------------------- */

sl_status sl_torch_put_event(sl_torch_build *build, const sl_event *event, sl_error *err) {
    if (!build->events)
        build->events = sl_trace_device(build->trace, build->trace_device);
    if (!build->events || !sl_events_push(&build->events->events, event))
        return sl_fail_no_memory(err, "the snapshot");
    return SL_OK;
}

static sl_status fail_event(const sl_torch_build *build, const char *missing, sl_error *err) {
    return sl_fail_at(err, SL_E_FORMAT, build->at_byte,
                      "event %llu of device %d, which ends at byte %llu, has no '%s'",
                      (unsigned long long)build->event_cnt, build->trace_device,
                      (unsigned long long)build->at_byte, missing);
}

/* What the program said about a block becomes a point in time with that name. */
static sl_status put_annotation(sl_torch_build *build, sl_error *err) {
    sl_mark mark = {.time_us = build->draft.event.time_us,
                    .name = build->draft.event.metadata,
                    .device = build->trace_device,
                    .kind = SL_MARK_POINT};
    if (mark.name == SL_WORD_EMPTY || sl_vec_push(&build->trace->marks, mark))
        return SL_OK;
    return sl_fail_no_memory(err, "the snapshot");
}

static sl_status end_event(sl_torch_build *build, sl_error *err) {
    const sl_torch_role r = SL_ROLE_EVENT;
    uint32_t action = build->draft.event.action;
    sl_event_kind kind = action < SL_WORD_LIMIT ? build->kind_of_word[action] : SL_EV_UNKNOWN;
    sl_event_addr addr = (sl_event_addr)sl_event_rows[kind].addr;
    bool has_free = addr == SL_ADDR_FREE_BYTES && has(build, r, SL_WORD_DEVICE_FREE);
    if (!has(build, r, SL_WORD_ACTION))
        return fail_event(build, "action", err);
    if (!has(build, r, SL_WORD_ADDR) && (addr == SL_ADDR_ADDRESS || kind == SL_EV_UNKNOWN))
        return fail_event(build, "addr", err);
    if (!has(build, r, SL_WORD_SIZE))
        return fail_event(build, "size", err);
    build->event_cnt++;
    if (kind == SL_EV_UNKNOWN) {
        build->trace->unknown_actions++;
        return SL_OK;
    }
    build->total_cnt++;
    build->timeless_cnt += !has(build, r, SL_WORD_TIME_US);
    build->trace->has_event_stacks |= has(build, r, SL_WORD_FRAMES);
    sl_event event = {
        .time_us = build->draft.event.time_us,
        .addr = has_free ? build->draft.event.device_free : build->draft.event.addr,
        .size_bytes = build->draft.event.size,
        .stack_id = build->draft.event.stack_id,
        .stream_idx = sl_torch_stream(build, build->draft.event.stream),
        .pool_idx = (uint16_t)build->draft.event.pool_idx,
        .kind = kind,
    };
    if (kind == SL_EV_ANNOTATE)
        SL_TRY(put_annotation(build, err));
    return sl_torch_put_event(build, &event, err);
}

typedef struct state_row {
    sl_torch_word word;
    sl_block_state state;
} state_row;

static const state_row states[] = {
    {SL_WORD_INACTIVE, SL_BLOCK_INACTIVE},
    {SL_WORD_ACTIVE_ALLOCATED, SL_BLOCK_ALLOCATED},
    {SL_WORD_ACTIVE_PENDING_FREE, SL_BLOCK_PENDING_FREE},
    {SL_WORD_ACTIVE_AWAITING_FREE, SL_BLOCK_PENDING_FREE}, /* the name in torch's documentation */
};

static sl_status find_state(const sl_torch_build *build, uint8_t *state, sl_error *err) {
    uint32_t word = build->draft.block.state;
    for (size_t i = 0; i < SL_COUNT_OF(states); i++)
        if (states[i].word == word) {
            *state = (uint8_t)states[i].state;
            return SL_OK;
        }
    return sl_fail_at(err, SL_E_FORMAT, build->at_byte,
                      "the block that ends at byte %llu has the state '%.40s', expected "
                      "active_allocated, active_pending_free or inactive",
                      (unsigned long long)build->at_byte,
                      sl_strtab_get(&build->trace->strings, word).ptr);
}

static sl_status end_block(sl_torch_build *build, sl_error *err) {
    sl_block block = {
        .addr = build->draft.block.addr,
        .size_bytes = build->draft.block.size,
        .requested_bytes = build->draft.block.requested,
        .stack_id = build->draft.block.stack_id,
    };
    SL_TRY(find_state(build, &block.state, err));
    if (!has(build, SL_ROLE_BLOCK, SL_WORD_REQUESTED_SIZE) && build->history_cnt == 0)
        block.requested_bytes = block.size_bytes;
    if (!has(build, SL_ROLE_BLOCK, SL_WORD_ADDRESS)) {
        /* torch 2.0 and older: blocks lie one after another. The segment's own address may come
         * after its blocks, so this is an offset until the segment ends. */
        const sl_block *prev = build->blocks.cnt ? &build->blocks.at[build->blocks.cnt - 1] : NULL;
        block.addr = prev ? prev->addr + prev->size_bytes : 0;
        block.segment_idx = SL_IDX_NONE;
    }
    return sl_vec_push(&build->blocks, block) ? SL_OK : sl_fail_no_memory(err, "the snapshot");
}

/* Entries are newest first: the first one is the tenant. */
static void end_history_item(sl_torch_build *build) {
    if (build->history_cnt++ > 0)
        return;
    build->draft.block.requested = build->draft.history_item.real_size;
    build->draft.block.stack_id = build->draft.history_item.stack_id;
}

typedef struct block_sums {
    uint64_t total, allocated, active, requested;
} block_sums;

static block_sums sum_blocks(const sl_torch_build *build) {
    block_sums sums = {0};
    for (size_t i = 0; i < build->blocks.cnt; i++) {
        const sl_block *block = &build->blocks.at[i];
        sums.total += block->size_bytes;
        if (block->state == SL_BLOCK_ALLOCATED)
            sums.allocated += block->size_bytes;
        if (block->state != SL_BLOCK_INACTIVE) {
            sums.active += block->size_bytes;
            sums.requested += block->requested_bytes;
        }
    }
    return sums;
}

static sl_segment make_segment(sl_torch_build *build) {
    block_sums sums = sum_blocks(build);
    const sl_torch_role r = SL_ROLE_SEGMENT;
    sl_segment segment = {
        .addr = build->draft.segment.addr,
        .total_bytes = has(build, r, SL_WORD_TOTAL_SIZE) ? build->draft.segment.total : sums.total,
        .allocated_bytes =
            has(build, r, SL_WORD_ALLOCATED_SIZE) ? build->draft.segment.allocated : sums.allocated,
        .active_bytes =
            has(build, r, SL_WORD_ACTIVE_SIZE) ? build->draft.segment.active : sums.active,
        .requested_bytes =
            has(build, r, SL_WORD_REQUESTED_SIZE) ? build->draft.segment.requested : sums.requested,
        .stack_id = build->draft.segment.stack_id,
        .block_cnt = (uint32_t)build->blocks.cnt,
        .stream_idx = sl_torch_stream(build, build->draft.segment.stream),
        .pool_idx = (uint16_t)build->draft.segment.pool_idx,
        .is_large = build->draft.segment.type == SL_WORD_LARGE,
        .is_expandable = build->draft.segment.is_expandable,
    };
    build->unbalanced_segments += segment.total_bytes != sums.total;
    return segment;
}

static sl_status end_segment(sl_torch_build *build, sl_error *err) {
    /* Every torch writes both. Any array of objects would be a snapshot otherwise, and a healthy one. */
    if (!has(build, SL_ROLE_SEGMENT, SL_WORD_ADDRESS) &&
        !has(build, SL_ROLE_SEGMENT, SL_WORD_TOTAL_SIZE))
        return sl_fail_at(
            err, SL_E_FOREIGN, build->at_byte,
            "it is not a torch memory snapshot: the object that ends at byte %llu has "
            "neither 'address' nor 'total_size'",
            (unsigned long long)build->at_byte);
    int64_t index = build->draft.segment.device;
    if (index < SL_DEVICE_HOST || index >= SL_DEVICE_LIMIT)
        return sl_fail_at(err, SL_E_FORMAT, build->at_byte,
                          "the segment that ends at byte %llu is of device %lld, expected %d..%d",
                          (unsigned long long)build->at_byte, (long long)index, SL_DEVICE_HOST,
                          SL_DEVICE_LIMIT - 1);
    sl_device_trace *device = sl_trace_device(build->trace, (int)index);
    if (!device || build->blocks.cnt + device->blocks.cnt >= SL_IDX_NONE ||
        device->segments.cnt >= SL_IDX_NONE - 1 ||
        !sl_vec_reserve(&device->blocks, build->blocks.cnt))
        return sl_fail_no_memory(err, "the snapshot");
    sl_segment segment = make_segment(build);
    segment.first_block = (uint32_t)device->blocks.cnt;
    for (size_t i = 0; i < build->blocks.cnt; i++) {
        sl_block block = build->blocks.at[i];
        if (block.segment_idx == SL_IDX_NONE)
            block.addr += segment.addr;
        block.segment_idx = (uint32_t)device->segments.cnt;
        device->blocks.at[device->blocks.cnt++] = block;
    }
    return sl_vec_push(&device->segments, segment) ? SL_OK : sl_fail_no_memory(err, "the snapshot");
}

static sl_status end_frame(sl_torch_build *build, uint32_t *id, sl_error *err) {
    sl_frame frame = {build->draft.frame.name, build->draft.frame.filename,
                      build->draft.frame.line};
    *id = sl_stacks_intern_frame(&build->trace->stacks, frame);
    return *id == SL_STACK_NONE ? sl_fail_no_memory(err, "the snapshot") : SL_OK;
}

static sl_status end_frames(sl_torch_build *build, uint32_t *id, sl_error *err) {
    *id = sl_stacks_intern(&build->trace->stacks, build->frames.at, build->frames.cnt);
    return *id == SL_STACK_NONE ? sl_fail_no_memory(err, "the snapshot") : SL_OK;
}

static sl_status end_annotation(sl_torch_build *build, sl_error *err) {
    uint32_t stage = build->draft.annotation.stage;
    sl_mark mark = {
        .time_us = build->draft.annotation.time_us,
        .name = build->draft.annotation.name,
        .device = (int32_t)build->draft.annotation.device,
        .kind = stage == SL_WORD_START ? SL_MARK_BEGIN
                : stage == SL_WORD_END ? SL_MARK_END
                                       : SL_MARK_POINT,
    };
    return sl_vec_push(&build->trace->marks, mark) ? SL_OK : sl_fail_no_memory(err, "the snapshot");
}

static void end_settings(sl_torch_build *build) {
    const sl_torch_role r = SL_ROLE_SETTINGS;
    sl_allocator_settings *to = &build->trace->settings;
    to->conf = build->draft.settings.conf;
    /* -1 is torch's "no limit". */
    if (has(build, r, SL_WORD_MAX_SPLIT_SIZE) && build->draft.settings.max_split >= 0)
        to->max_split_bytes = sl_known_u64((uint64_t)build->draft.settings.max_split);
    if (has(build, r, SL_WORD_GC_THRESHOLD))
        to->gc_threshold = sl_known_f64(build->draft.settings.gc_threshold);
    to->expandable_known = has(build, r, SL_WORD_EXPANDABLE_SEGMENTS);
    to->is_expandable = to->expandable_known && build->draft.settings.is_expandable;
}

static sl_status end_pool(sl_torch_build *build, uint32_t *id, sl_error *err) {
    if (build->pool_id_cnt != 2)
        return sl_fail_at(err, SL_E_FORMAT, build->at_byte,
                          "a pool id of %u numbers at byte %llu, expected 2", build->pool_id_cnt,
                          (unsigned long long)build->at_byte);
    *id = sl_trace_pool(build->trace, (int64_t)build->pool_ids[0], (int64_t)build->pool_ids[1]);
    return SL_OK;
}

static sl_status end_root(const sl_torch_build *build, sl_error *err) {
    if (has(build, SL_ROLE_ROOT, SL_WORD_SEGMENTS) ||
        has(build, SL_ROLE_ROOT, SL_WORD_DEVICE_TRACES))
        return SL_OK;
    return sl_fail(
        err, SL_E_FOREIGN,
        "it is not a torch memory snapshot: its outermost dict has neither 'segments' nor "
        "'device_traces'");
}

sl_status sl_torch_end(sl_torch_build *build, sl_torch_role role, uint32_t *id, sl_error *err) {
    *id = 0;
    switch (role) {
    case SL_ROLE_ROOT: return end_root(build, err);
    case SL_ROLE_EVENT: return end_event(build, err);
    case SL_ROLE_FRAME: return end_frame(build, id, err);
    case SL_ROLE_FRAMES: return end_frames(build, id, err);
    case SL_ROLE_BLOCK: return end_block(build, err);
    case SL_ROLE_HISTORY_ITEM: end_history_item(build); return SL_OK;
    case SL_ROLE_SEGMENT: return end_segment(build, err);
    case SL_ROLE_ANNOTATION: return end_annotation(build, err);
    case SL_ROLE_SETTINGS: end_settings(build); return SL_OK;
    case SL_ROLE_POOL: return end_pool(build, id, err);
    default: return SL_OK;
    }
}
