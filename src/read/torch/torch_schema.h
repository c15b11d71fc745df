/* SPDX-License-Identifier: MIT */
/* What a PyTorch memory snapshot consists of: its words, the roles its containers play, and which
 * key of which role goes where. The pickle and the JSON reader share it. Data only. */
#ifndef SL_TORCH_SCHEMA_H
#define SL_TORCH_SCHEMA_H

#include "base/core/sl_base.h"
#include "model/event.h"

/* Every word with a meaning. They are interned first, in this order, so a word's number is its
 * string id in the trace that is being built. */
#define SL_TORCH_WORD_MAP(X)                              \
    X(SEGMENTS, "segments")                               \
    X(DEVICE_TRACES, "device_traces")                     \
    X(ALLOCATOR_SETTINGS, "allocator_settings")           \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")       \
    X(HOST_SEGMENTS, "host_segments")                     \
    X(HOST_TRACES, "host_traces")                         \
    X(DEVICE, "device")                                   \
    X(ADDRESS, "address")                                 \
    X(TOTAL_SIZE, "total_size")                           \
    X(ALLOCATED_SIZE, "allocated_size")                   \
    X(ACTIVE_SIZE, "active_size")                         \
    X(REQUESTED_SIZE, "requested_size")                   \
    X(STREAM, "stream")                                   \
    X(SEGMENT_TYPE, "segment_type")                       \
    X(SEGMENT_POOL_ID, "segment_pool_id")                 \
    X(IS_EXPANDABLE, "is_expandable")                     \
    X(FRAMES, "frames")                                   \
    X(BLOCKS, "blocks")                                   \
    X(SIZE, "size")                                       \
    X(STATE, "state")                                     \
    X(HISTORY, "history")                                 \
    X(ADDR, "addr")                                       \
    X(REAL_SIZE, "real_size")                             \
    X(CPP_FRAMES, "cpp_frames")                           \
    X(ACTION, "action")                                   \
    X(DEVICE_FREE, "device_free")                         \
    X(TIME_US, "time_us")                                 \
    X(COMPILE_CONTEXT, "compile_context")                 \
    X(USER_METADATA, "user_metadata")                     \
    X(INTERNAL_METADATA, "internal_metadata")             \
    X(POOL_ID, "pool_id")                                 \
    X(FORWARD_FRAMES, "forward_frames")                   \
    X(CATEGORY, "category")                               \
    X(NAME, "name")                                       \
    X(FILENAME, "filename")                               \
    X(LINE, "line")                                       \
    X(FX_NODE_OP, "fx_node_op")                           \
    X(FX_NODE_NAME, "fx_node_name")                       \
    X(FX_NODE_TARGET, "fx_node_target")                   \
    X(FX_ORIGINAL_TRACE, "fx_original_trace")             \
    X(STAGE, "stage")                                     \
    X(START, "START")                                     \
    X(END, "END")                                         \
    X(SMALL, "small")                                     \
    X(LARGE, "large")                                     \
    X(ACTIVE_ALLOCATED, "active_allocated")               \
    X(ACTIVE_PENDING_FREE, "active_pending_free")         \
    X(ACTIVE_AWAITING_FREE, "active_awaiting_free")       \
    X(INACTIVE, "inactive")                               \
    X(CUDA_ALLOC_CONF, "PYTORCH_CUDA_ALLOC_CONF")         \
    X(ALLOC_CONF, "PYTORCH_ALLOC_CONF")                   \
    X(MAX_SPLIT_SIZE, "max_split_size")                   \
    X(GC_THRESHOLD, "garbage_collection_threshold")       \
    X(EXPANDABLE_SEGMENTS, "expandable_segments")         \
    X(ROUNDUP_DIVISIONS, "roundup_power2_divisions")      \
    X(PINNED_THREADS, "pinned_num_register_threads")      \
    X(RELEASE_LOCK, "release_lock_on_cudamalloc")         \
    X(PINNED_REGISTER, "pinned_use_cuda_host_register")   \
    X(CAPTURE_REUSE, "graph_capture_record_stream_reuse") \
    X(MAX_ROUND, "max_round_threshold")                   \
    X(MAX_CACHED, "max_cached_size")

/* The actions of events come after these words, from the list of event kinds. */
#define SL_TORCH_ACTION_0(row)
#define SL_TORCH_ACTION_1(row) row,

typedef enum sl_torch_word {
    SL_WORD_EMPTY = 0, /* the empty string */
#define SL_TORCH_WORD_ENUM(name, text) SL_WORD_##name,
#define SL_TORCH_ACTION_ENUM(number, name, text, effect, domain, in_trace, in_torch, ...) \
    SL_TORCH_ACTION_##in_torch(SL_WORD_##name)
    SL_TORCH_WORD_MAP(SL_TORCH_WORD_ENUM) SL_EVENT_KIND_MAP(SL_TORCH_ACTION_ENUM)
#undef SL_TORCH_ACTION_ENUM
#undef SL_TORCH_WORD_ENUM
        SL_WORD_LIMIT
} sl_torch_word;

/* role, is it a list, role of its elements that are dicts, of those that are lists, its name in
 * messages. Elements of a dict have their role from the field table. */
#define SL_TORCH_ROLE_MAP(X)                                          \
    X(SKIP, false, SKIP, SKIP, "an ignored object")                   \
    X(ROOT, false, SKIP, SKIP, "the snapshot")                        \
    X(SEGMENTS, true, SEGMENT, SKIP, "the list of segments")          \
    X(SEGMENT, false, SKIP, SKIP, "a segment")                        \
    X(BLOCKS, true, BLOCK, SKIP, "the blocks of a segment")           \
    X(BLOCK, false, SKIP, SKIP, "a block")                            \
    X(HISTORY, true, HISTORY_ITEM, SKIP, "the history of a block")    \
    X(HISTORY_ITEM, false, SKIP, SKIP, "a history entry")             \
    X(FRAMES, true, FRAME, SKIP, "a list of frames")                  \
    X(FRAME, false, SKIP, SKIP, "a frame")                            \
    X(TRACES, true, SKIP, TRACE, "the list of device traces")         \
    X(HOST_TRACES, true, EVENT, TRACE, "the list of host events")     \
    X(TRACE, true, EVENT, SKIP, "the trace of a device")              \
    X(EVENT, false, SKIP, SKIP, "an event")                           \
    X(ANNOTATIONS, true, ANNOTATION, SKIP, "the list of annotations") \
    X(ANNOTATION, false, SKIP, SKIP, "an annotation")                 \
    X(SETTINGS, false, SKIP, SKIP, "the allocator settings")          \
    X(POOL, true, SKIP, SKIP, "a pool id")

typedef enum sl_torch_role {
#define SL_TORCH_ROLE_ENUM(name, is_list, of_dicts, of_lists, text) SL_ROLE_##name,
    SL_TORCH_ROLE_MAP(SL_TORCH_ROLE_ENUM)
#undef SL_TORCH_ROLE_ENUM
        SL_ROLE_LIMIT
} sl_torch_role;

typedef struct sl_torch_role_row {
    bool is_list;
    uint8_t of_dicts; /* sl_torch_role of elements that are dicts */
    uint8_t of_lists;
    const char *text;
} sl_torch_role_row;

/* How a value is taken into its place. */
typedef enum sl_torch_take {
    SL_TAKE_UNKNOWN = 0, /* the role has no such key */
    SL_TAKE_NOTHING,     /* known and not kept */
    SL_TAKE_CHILD,       /* a container that has done its work when it ended */
    SL_TAKE_BYTES,       /* int, not negative -> uint64_t */
    SL_TAKE_ADDR,        /* int, negative ones wrap (C++ casts addresses to signed) -> uint64_t */
    SL_TAKE_SIGNED,      /* int -> int64_t */
    SL_TAKE_LINE,        /* int, clamped -> uint32_t */
    SL_TAKE_FLOAT,       /* float or int -> double */
    SL_TAKE_BOOL,        /* bool -> bool */
    SL_TAKE_STR,         /* str -> uint32_t string id */
    SL_TAKE_STACK,       /* list of frames -> uint32_t stack id */
    SL_TAKE_POOL,        /* pair of ints -> uint32_t pool index */
} sl_torch_take;

typedef struct sl_torch_field {
    uint8_t role;
    uint8_t word;
    uint8_t take;
    uint8_t child;   /* sl_torch_role of a container that is here */
    uint16_t offset; /* within sl_torch_drafts */
} sl_torch_field;

/* Half-finished objects: one of each role at a time, because no role contains itself. */
typedef struct sl_torch_drafts {
    struct {
        uint64_t addr, device_free, size, stream;
        int64_t time_us;
        uint32_t action, stack_id, pool_idx, metadata;
    } event;
    struct {
        int64_t device;
        uint64_t addr, total, allocated, active, requested, stream;
        uint32_t type, stack_id, pool_idx;
        bool is_expandable;
    } segment;
    struct {
        uint64_t addr, size, requested;
        uint32_t state, stack_id;
    } block;
    struct {
        uint64_t addr, real_size;
        uint32_t stack_id;
    } history_item;
    struct {
        uint32_t name, filename, line;
    } frame;
    struct {
        int64_t time_us, device;
        uint32_t stage, name;
    } annotation;
    struct {
        int64_t max_split;
        double gc_threshold;
        uint32_t conf;
        bool is_expandable;
    } settings;
} sl_torch_drafts;

extern const char *const sl_torch_words[SL_WORD_LIMIT];
extern const sl_torch_role_row sl_torch_roles[SL_ROLE_LIMIT];
extern const sl_torch_field sl_torch_fields[];
extern const size_t sl_torch_field_cnt;

#endif
