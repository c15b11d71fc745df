/* SPDX-License-Identifier: MIT */
/* Turns the objects of a snapshot, as they end, into rows of a trace. A driver (pickle or JSON)
 * tells it where containers begin and end and what is in them; nothing of the input is kept
 * but the rows. One thread.
 *
 * (B1) One object of each role is open at a time.
 * (B2) A driver ends an object before it hands it to its parent. */
#ifndef SL_TORCH_BUILD_H
#define SL_TORCH_BUILD_H

#include "model/trace.h"
#include "read/torch/torch_schema.h"

typedef enum sl_torch_kind {
    SL_VAL_MARK, /* the pickle machine's own */
    SL_VAL_NONE,
    SL_VAL_BOOL,
    SL_VAL_INT,
    SL_VAL_BIG, /* an int of more than 64 bits */
    SL_VAL_FLOAT,
    SL_VAL_STR,
    SL_VAL_BYTES,
    SL_VAL_TUPLE,
    SL_VAL_LIST,
    SL_VAL_DICT,
    SL_VAL_PAST, /* a reference to an object that was not kept */
    SL_VAL_KIND_LIMIT
} sl_torch_kind;

/* A value of the input. Containers carry their role; what they amount to is in id. */
typedef struct sl_torch_value {
    uint8_t kind;     /* sl_torch_kind */
    uint8_t role;     /* sl_torch_role of a list or dict */
    bool is_negative; /* int: u is its two's complement */
    bool is_open;     /* container: not ended yet */
    uint32_t id;      /* STR: string; FRAMES: stack; FRAME: frame; TUPLE and POOL: pool index */
    union {
        uint64_t u; /* INT, BOOL; number of items of a list */
        double f;
    };
} sl_torch_value;

/* id of a TUPLE that is not a pair of ints. */
#define SL_POOL_NONE UINT32_MAX

typedef struct sl_torch_build {
    sl_trace *trace; /* borrowed */
    sl_torch_drafts draft;
    uint64_t seen[SL_ROLE_LIMIT]; /* bit f: field f of sl_torch_fields was set in the draft */
    uint8_t field_of[SL_ROLE_LIMIT][SL_WORD_LIMIT]; /* index into sl_torch_fields + 1, 0 = none */
    uint8_t kind_of_word[SL_WORD_LIMIT];            /* sl_event_kind of an action */
    uint64_t at_byte;                               /* of the value at hand, for messages */

    int trace_device;        /* of the events that come now */
    bool is_host;            /* inside host_traces */
    bool has_segments;       /* the input lists segments, if only none */
    sl_device_trace *events; /* borrowed from trace; NULL until its first event */
    uint64_t event_cnt;      /* of the device at hand, unknown actions included */
    uint64_t timeless_cnt;   /* events without time_us, over all devices */
    uint64_t total_cnt;      /* events over all devices */

    SL_VEC(uint32_t) frames; /* of the open list of frames */
    SL_VEC(sl_block) blocks; /* of the open segment */
    uint32_t history_cnt;    /* entries of the open block */
    uint64_t pool_ids[2];    /* of the open pool list */
    uint32_t pool_id_cnt;
    uint64_t unbalanced_segments;                     /* whose blocks do not add up to their size */
    void (*on_end_state)(void *ctx, sl_trace *trace); /* as in sl_load_options; NULL once called */
    void *on_end_state_ctx;
    uint64_t stream_cache_handle[64];
    uint16_t stream_cache_idx[64]; /* 0xffff = empty */
} sl_torch_build;

/* Interns the words; the trace must be new. */
sl_status sl_torch_build_init(sl_torch_build *build, sl_trace *trace, sl_error *err);
void sl_torch_build_fini(sl_torch_build *build);

/* An object of this role begins; index = its place in its parent list. */
sl_status sl_torch_begin(sl_torch_build *build, sl_torch_role role, uint64_t index, sl_error *err);

/* key: value in the open dict of this role. */
sl_status sl_torch_set(sl_torch_build *build, sl_torch_role role, uint32_t key,
                       const sl_torch_value *value, sl_error *err);

/* One more item of the open list of this role. */
sl_status sl_torch_append(sl_torch_build *build, sl_torch_role role, const sl_torch_value *item,
                          sl_error *err);

/* The open object of this role ends; *id is what it amounts to (frame, stack, pool) or 0. */
sl_status sl_torch_end(sl_torch_build *build, sl_torch_role role, uint32_t *id, sl_error *err);

/* The segments that were read, in order of address. Once more when others have followed. */
sl_status sl_torch_settle_segments(const sl_torch_build *build, sl_error *err);

/* Everything that needs the whole input: clock, order, addresses, notes. */
sl_status sl_torch_finish(sl_torch_build *build, sl_error *err);

/* The role when the container is of its kind, else SL_ROLE_SKIP. */
static inline sl_torch_role sl_torch_fit(sl_torch_role role, bool is_list) {
    return sl_torch_roles[role].is_list == is_list ? role : SL_ROLE_SKIP;
}

/* The role of a container that is the value of key in a dict of this role. */
sl_torch_role sl_torch_child_role(const sl_torch_build *build, sl_torch_role role, uint32_t key);

/* Stores one event of the device at hand. */
sl_status sl_torch_put_event(sl_torch_build *build, const sl_event *event, sl_error *err);

/* Index of a stream; remembers the last ones. */
uint16_t sl_torch_stream(sl_torch_build *build, uint64_t handle);

/* "an int", "a str": for messages. */
const char *sl_torch_kind_text(const sl_torch_value *value);

#endif
