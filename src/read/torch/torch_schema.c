/* SPDX-License-Identifier: MIT */
#include "read/torch/torch_schema.h"

const char *const sl_torch_words[SL_WORD_LIMIT] = {[SL_WORD_EMPTY] = "",
#define SL_TORCH_WORD_TEXT(name, text) [SL_WORD_##name] = text,
#define SL_TORCH_ACTION_TEXT(number, name, text, effect, domain, in_trace, in_torch, ...) \
    SL_TORCH_ACTION_##in_torch([SL_WORD_##name] = text)
                                                   SL_TORCH_WORD_MAP(SL_TORCH_WORD_TEXT)
                                                       SL_EVENT_KIND_MAP(SL_TORCH_ACTION_TEXT)
#undef SL_TORCH_ACTION_TEXT
#undef SL_TORCH_WORD_TEXT
};

const sl_torch_role_row sl_torch_roles[SL_ROLE_LIMIT] = {
#define SL_TORCH_ROLE_ROW(name, is_list, of_dicts, of_lists, text) \
    [SL_ROLE_##name] = {is_list, SL_ROLE_##of_dicts, SL_ROLE_##of_lists, text},
    SL_TORCH_ROLE_MAP(SL_TORCH_ROLE_ROW)
#undef SL_TORCH_ROLE_ROW
};

#define AT(member) offsetof(sl_torch_drafts, member)
#define VALUE(role, word, take, member) \
    { SL_ROLE_##role, SL_WORD_##word, SL_TAKE_##take, SL_ROLE_SKIP, AT(member) }
#define CHILD(role, word, child) \
    { SL_ROLE_##role, SL_WORD_##word, SL_TAKE_CHILD, SL_ROLE_##child, 0 }
#define STACK(role, word, member) \
    { SL_ROLE_##role, SL_WORD_##word, SL_TAKE_STACK, SL_ROLE_FRAMES, AT(member) }
#define POOL(role, word, member) \
    { SL_ROLE_##role, SL_WORD_##word, SL_TAKE_POOL, SL_ROLE_POOL, AT(member) }
#define NOTHING(role, word) \
    { SL_ROLE_##role, SL_WORD_##word, SL_TAKE_NOTHING, SL_ROLE_SKIP, 0 }

const sl_torch_field sl_torch_fields[] = {
    CHILD(ROOT, SEGMENTS, SEGMENTS),
    CHILD(ROOT, DEVICE_TRACES, TRACES),
    CHILD(ROOT, ALLOCATOR_SETTINGS, SETTINGS),
    CHILD(ROOT, EXTERNAL_ANNOTATIONS, ANNOTATIONS),
    CHILD(ROOT, HOST_SEGMENTS, SEGMENTS),
    CHILD(ROOT, HOST_TRACES, HOST_TRACES),

    VALUE(SEGMENT, DEVICE, SIGNED, segment.device),
    VALUE(SEGMENT, ADDRESS, ADDR, segment.addr),
    VALUE(SEGMENT, TOTAL_SIZE, BYTES, segment.total),
    VALUE(SEGMENT, ALLOCATED_SIZE, BYTES, segment.allocated),
    VALUE(SEGMENT, ACTIVE_SIZE, BYTES, segment.active),
    VALUE(SEGMENT, REQUESTED_SIZE, BYTES, segment.requested),
    VALUE(SEGMENT, STREAM, ADDR, segment.stream),
    VALUE(SEGMENT, SEGMENT_TYPE, STR, segment.type),
    POOL(SEGMENT, SEGMENT_POOL_ID, segment.pool_idx),
    VALUE(SEGMENT, IS_EXPANDABLE, BOOL, segment.is_expandable),
    STACK(SEGMENT, FRAMES, segment.stack_id),
    CHILD(SEGMENT, BLOCKS, BLOCKS),

    VALUE(BLOCK, ADDRESS, ADDR, block.addr),
    VALUE(BLOCK, SIZE, BYTES, block.size),
    VALUE(BLOCK, REQUESTED_SIZE, BYTES, block.requested),
    VALUE(BLOCK, STATE, STR, block.state),
    STACK(BLOCK, FRAMES, block.stack_id),
    CHILD(BLOCK, HISTORY, HISTORY),

    VALUE(HISTORY_ITEM, ADDR, ADDR, history_item.addr),
    VALUE(HISTORY_ITEM, REAL_SIZE, BYTES, history_item.real_size),
    STACK(HISTORY_ITEM, FRAMES, history_item.stack_id),
    NOTHING(HISTORY_ITEM, CPP_FRAMES),

    VALUE(FRAME, NAME, STR, frame.name),
    VALUE(FRAME, FILENAME, STR, frame.filename),
    VALUE(FRAME, LINE, LINE, frame.line),
    NOTHING(FRAME, FX_NODE_OP),
    NOTHING(FRAME, FX_NODE_NAME),
    NOTHING(FRAME, FX_NODE_TARGET),
    NOTHING(FRAME, FX_ORIGINAL_TRACE),

    VALUE(EVENT, ACTION, STR, event.action),
    VALUE(EVENT, ADDR, ADDR, event.addr),
    VALUE(EVENT, DEVICE_FREE, BYTES, event.device_free),
    VALUE(EVENT, SIZE, BYTES, event.size),
    VALUE(EVENT, STREAM, ADDR, event.stream),
    VALUE(EVENT, TIME_US, SIGNED, event.time_us),
    POOL(EVENT, POOL_ID, event.pool_idx),
    STACK(EVENT, FRAMES, event.stack_id),
    NOTHING(EVENT, COMPILE_CONTEXT),
    VALUE(EVENT, USER_METADATA, STR, event.metadata),
    NOTHING(EVENT, INTERNAL_METADATA),
    NOTHING(EVENT, FORWARD_FRAMES),
    NOTHING(EVENT, CATEGORY),

    VALUE(ANNOTATION, STAGE, STR, annotation.stage),
    VALUE(ANNOTATION, NAME, STR, annotation.name),
    VALUE(ANNOTATION, DEVICE, SIGNED, annotation.device),
    VALUE(ANNOTATION, TIME_US, SIGNED, annotation.time_us),

    VALUE(SETTINGS, CUDA_ALLOC_CONF, STR, settings.conf),
    VALUE(SETTINGS, ALLOC_CONF, STR, settings.conf),
    VALUE(SETTINGS, MAX_SPLIT_SIZE, SIGNED, settings.max_split),
    VALUE(SETTINGS, GC_THRESHOLD, FLOAT, settings.gc_threshold),
    VALUE(SETTINGS, EXPANDABLE_SEGMENTS, BOOL, settings.is_expandable),
    NOTHING(SETTINGS, ROUNDUP_DIVISIONS),
    NOTHING(SETTINGS, PINNED_THREADS),
    NOTHING(SETTINGS, RELEASE_LOCK),
    NOTHING(SETTINGS, PINNED_REGISTER),
    NOTHING(SETTINGS, CAPTURE_REUSE),
    NOTHING(SETTINGS, MAX_ROUND),
    NOTHING(SETTINGS, MAX_CACHED),
};

const size_t sl_torch_field_cnt = SL_COUNT_OF(sl_torch_fields);
