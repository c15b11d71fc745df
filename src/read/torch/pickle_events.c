/* SPDX-License-Identifier: MIT */
#include "read/torch/pickle_events.h"

#include <string.h>

#include "read/torch/pickle_ops.h"
#include "read/torch/pickle_vm.h"

/* An event has at most this many keys here, each at most 5 bytes, and values of at most 10 bytes
 * other than strings and lists, which are checked on their own. */
#define KEY_LIMIT   16
#define FIXED_BYTES 512
/* Memo entries an event may make: itself, and one for each value. */
#define MEMO_LIMIT  (KEY_LIMIT + 1)
/* Wanted in the window before an event is tried; longer ones go the slow way. */
#define EVENT_BYTES ((size_t)32 * 1024)

/* The state of one attempt. */
typedef struct attempt {
    sl_pickle_vm *vm;
    const unsigned char *at;
    const unsigned char *end;
    uint32_t *memo; /* the next free entry */
    uint64_t addr, device_free, size, stream;
    int64_t time_us;
    uint32_t action, stack_id, pool_idx, run;
    uint32_t seen; /* bit per entry of the word switch below */
    bool has_run;
} attempt;

enum {
    SEEN_ACTION = 1,
    SEEN_ADDR = 2,
    SEEN_FREE = 4,
    SEEN_SIZE = 8,
    SEEN_TIME = 16,
    SEEN_STACK = 32
};

static inline uint64_t load8(const unsigned char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* A reference to the memo: its entry, or 0. */
static inline uint32_t take_reference(attempt *a) {
    uint64_t word = load8(a->at);
    uint32_t id;
    if ((word & 0xff) == SL_OP_BINGET) {
        id = (uint32_t)(word >> 8) & 0xff;
        a->at += 2;
    } else if ((word & 0xff) == SL_OP_LONG_BINGET) {
        id = (uint32_t)(word >> 8);
        a->at += 5;
    } else {
        return 0;
    }
    return sl_memo_get(&a->vm->memo, id);
}

static inline bool take_number(attempt *a, uint64_t *value, bool *is_negative) {
    uint64_t word = load8(a->at);
    *is_negative = false;
    switch (word & 0xff) {
    case SL_OP_BININT1:
        *value = (word >> 8) & 0xff;
        a->at += 2;
        return true;
    case SL_OP_BININT2:
        *value = (word >> 8) & 0xffff;
        a->at += 3;
        return true;
    case SL_OP_BININT:
        *value = (uint64_t)(int64_t)(int32_t)(word >> 8);
        *is_negative = *value >> 63;
        a->at += 5;
        return true;
    case SL_OP_LONG1: {
        unsigned len = (word >> 8) & 0xff;
        if (len == 0 || len > 8)
            return false;
        int64_t wide = (int64_t)(load8(a->at + 2) << (64 - 8 * len));
        *value = (uint64_t)(wide >> (64 - 8 * len));
        *is_negative = wide < 0;
        a->at += 2 + len;
        return true;
    }
    default: return false;
    }
}

static inline bool take_bytes(attempt *a, uint64_t *value) {
    bool is_negative;
    return take_number(a, value, &is_negative) && !is_negative;
}

static inline bool take_any(attempt *a, uint64_t *value) {
    bool is_negative;
    return take_number(a, value, &is_negative);
}

/* Python's pickler memoises every object, our own exporter only what it refers to later. */
static inline void take_memoize(attempt *a, uint32_t entry) {
    if (*a->at != SL_OP_MEMOIZE)
        return;
    a->at++;
    *a->memo++ = entry;
}

/* A string that is not kept: only its place in the memo counts. */
static inline bool take_text(attempt *a) {
    if (*a->at != SL_OP_SHORT_BINUNICODE)
        return sl_memo_tag_of(take_reference(a)) == SL_MEMO_STR;
    size_t len = a->at[1];
    if ((size_t)(a->end - a->at) < FIXED_BYTES + len)
        return false;
    /* "N/A" in every event, each time as a new object: the last one is nearly always the same. */
    sl_torch_build *build = a->vm->build;
    sl_str last = sl_strtab_get(&build->trace->strings, a->vm->last_text);
    if (last.len != len || memcmp(last.ptr, a->at + 2, len) != 0)
        a->vm->last_text = sl_strtab_intern(&build->trace->strings, (const char *)a->at + 2, len);
    uint32_t id = a->vm->last_text;
    a->at += 2 + len;
    if (id > SL_MEMO_PAYLOAD_MAX)
        return false;
    take_memoize(a, sl_memo_entry(SL_MEMO_STR, id));
    return true;
}

static inline bool take_pool(attempt *a) {
    uint32_t entry = take_reference(a);
    if (entry) {
        a->pool_idx = sl_memo_payload(entry);
        return sl_memo_tag_of(entry) == SL_MEMO_POOL;
    }
    uint64_t first, second;
    if (!take_any(a, &first) || !take_any(a, &second) || *a->at++ != SL_OP_TUPLE2)
        return false;
    bool is_default = first == 0 && second == 0; /* index 0 by definition */
    a->pool_idx =
        is_default ? 0 : sl_trace_pool(a->vm->build->trace, (int64_t)first, (int64_t)second);
    take_memoize(a, sl_memo_entry(SL_MEMO_POOL, a->pool_idx));
    return true;
}

/* --- Lists of frames -------------------------------------------------------------------------- */

/* Length of the run of references with its mark and its end, 0 when it is something else. */
static size_t run_length(const unsigned char *at, const unsigned char *end) {
    const unsigned char *p = at;
    bool has_mark = *p == SL_OP_MARK;
    p += has_mark;
    while (end - p >= 8) {
        if (*p == SL_OP_LONG_BINGET)
            p += 5;
        else if (*p == SL_OP_BINGET)
            p += 2;
        else
            break;
        if (!has_mark)
            break;
    }
    bool is_end = end - p >= 1 && *p == (has_mark ? SL_OP_APPENDS : SL_OP_APPEND);
    return is_end && p > at ? (size_t)(p - at) + 1 : 0;
}

/* The stack of a run seen for the first time. */
static uint32_t resolve_run(attempt *a, const unsigned char *run, size_t len) {
    sl_torch_build *build = a->vm->build;
    attempt inner = *a;
    inner.at = run + (*run == SL_OP_MARK);
    build->frames.cnt = 0;
    while (inner.at < run + len - 1) {
        uint32_t entry = take_reference(&inner);
        if (sl_memo_tag_of(entry) != SL_MEMO_FRAME ||
            !sl_vec_push(&build->frames, sl_memo_payload(entry)))
            return SL_STACK_NONE;
    }
    return sl_stacks_intern(&build->trace->stacks, build->frames.at, build->frames.cnt);
}

static uint32_t find_run(attempt *a, size_t *len) {
    sl_run_table *table = &a->vm->runs;
    uint32_t row = sl_run_guess(table);
    if (row != SL_RUN_NONE) {
        const sl_run_row *guess = &table->rows.at[row];
        *len = guess->len;
        if ((size_t)(a->end - a->at) >= guess->len &&
            memcmp(a->at, table->bytes.at + guess->off, guess->len) == 0)
            return row;
    }
    *len = run_length(a->at, a->end);
    if (*len == 0)
        return SL_RUN_NONE;
    row = sl_run_find(table, a->at, *len);
    if (row != SL_RUN_NONE)
        return row;
    uint32_t stack_id = resolve_run(a, a->at, *len);
    return stack_id > SL_MEMO_PAYLOAD_MAX ? SL_RUN_NONE : sl_run_add(table, a->at, *len, stack_id);
}

static bool take_stack(attempt *a) {
    if (*a->at != SL_OP_EMPTY_LIST) {
        uint32_t entry = take_reference(a);
        a->stack_id = sl_memo_payload(entry);
        return sl_memo_tag_of(entry) == SL_MEMO_STACK;
    }
    a->at++;
    uint32_t *memo = a->memo;
    take_memoize(a, 0);
    size_t len;
    a->run = find_run(a, &len);
    if (a->run == SL_RUN_NONE)
        return false;
    a->at += len;
    a->has_run = true;
    a->stack_id = a->vm->runs.rows.at[a->run].stack_id;
    if (a->memo > memo)
        *memo = sl_memo_entry(SL_MEMO_STACK, a->stack_id);
    return a->end - a->at >= FIXED_BYTES;
}

/* --- Events ----------------------------------------------------------------------------------- */

static inline bool take_value(attempt *a, uint32_t word) {
    switch (word) {
    case SL_WORD_ACTION: {
        uint32_t entry = take_reference(a);
        a->action = sl_memo_payload(entry);
        a->seen |= SEEN_ACTION; /* a rare one is left to the machine, which keeps its text */
        return sl_memo_tag_of(entry) == SL_MEMO_STR && a->action != SL_WORD_ANNOTATE;
    }
    case SL_WORD_ADDR: a->seen |= SEEN_ADDR; return take_any(a, &a->addr);
    case SL_WORD_DEVICE_FREE: a->seen |= SEEN_FREE; return take_bytes(a, &a->device_free);
    case SL_WORD_SIZE: a->seen |= SEEN_SIZE; return take_bytes(a, &a->size);
    case SL_WORD_STREAM: return take_any(a, &a->stream);
    case SL_WORD_TIME_US: {
        uint64_t time_us = 0;
        bool is_taken = take_any(a, &time_us);
        a->time_us = (int64_t)time_us;
        a->seen |= SEEN_TIME;
        return is_taken;
    }
    case SL_WORD_COMPILE_CONTEXT:
    case SL_WORD_USER_METADATA:
    case SL_WORD_CATEGORY: return take_text(a);
    case SL_WORD_POOL_ID: return take_pool(a);
    case SL_WORD_FRAMES: a->seen |= SEEN_STACK; return take_stack(a);
    default: return false;
    }
}

static bool take_event(attempt *a) {
    if (a->at[0] != SL_OP_EMPTY_DICT)
        return false;
    a->at++;
    take_memoize(a, sl_memo_entry(SL_MEMO_PAST, SL_VAL_DICT));
    if (*a->at++ != SL_OP_MARK)
        return false;
    for (int i = 0; i < KEY_LIMIT; i++) {
        uint32_t key = take_reference(a);
        if (sl_memo_tag_of(key) != SL_MEMO_STR || !take_value(a, sl_memo_payload(key)))
            return false;
        if (*a->at == SL_OP_SETITEMS) {
            a->at++;
            return true;
        }
    }
    return false;
}

/* True when the event is complete and of a known kind; all others are left to the slow way, which
 * knows what to say about them. */
static inline bool is_plain(const attempt *a, sl_event_kind kind) {
    bool has_free = sl_event_rows[kind].addr == SL_ADDR_FREE_BYTES;
    uint32_t need = SEEN_ACTION | SEEN_SIZE | (has_free ? SEEN_FREE : SEEN_ADDR);
    return kind != SL_EV_UNKNOWN && (a->seen & need) == need;
}

static sl_status keep_event(attempt *a, sl_event_kind kind) {
    sl_pickle_vm *vm = a->vm;
    sl_torch_build *build = vm->build;
    sl_event event = {
        .time_us = a->time_us,
        .addr = sl_event_rows[kind].addr == SL_ADDR_FREE_BYTES ? a->device_free : a->addr,
        .size_bytes = a->size,
        .stack_id = a->stack_id,
        .stream_idx = sl_torch_stream(build, a->stream),
        .pool_idx = (uint16_t)a->pool_idx,
        .kind = kind,
    };
    SL_TRY(sl_torch_put_event(build, &event, vm->err));
    if (a->has_run)
        sl_run_learn(&vm->runs, a->run);
    build->event_cnt++;
    build->total_cnt++;
    build->timeless_cnt += !(a->seen & SEEN_TIME);
    build->trace->has_event_stacks |= (a->seen & SEEN_STACK) != 0;
    size_t memo_cnt = (size_t)(a->memo - (vm->memo.at + vm->memo.cnt));
    vm->memo.cnt += memo_cnt;
    vm->memo.set_cnt += memo_cnt;
    vm->in->at = a->at;
    return SL_OK;
}

/* 1 = taken, 0 = not of the plain form, else an error. */
static int next_event(sl_pickle_vm *vm) {
    sl_byte_stream *in = vm->in;
    if ((size_t)(in->end - in->at) < EVENT_BYTES)
        (void)sl_bytes_need(in, EVENT_BYTES); /* at the end of the file less will do */
    if (in->end - in->at < FIXED_BYTES || *in->at != SL_OP_EMPTY_DICT)
        return 0;
    if (!sl_memo_reserve(&vm->memo, MEMO_LIMIT))
        return sl_fail_no_memory(vm->err, "the pickle's memo");
    attempt a = {.vm = vm,
                 .at = in->at,
                 .end = in->end,
                 .memo = vm->memo.at + vm->memo.cnt,
                 .pool_idx = SL_POOL_UNKNOWN};
    if (!take_event(&a))
        return 0;
    sl_event_kind kind =
        a.action < SL_WORD_LIMIT ? vm->build->kind_of_word[a.action] : SL_EV_UNKNOWN;
    if (!is_plain(&a, kind))
        return 0;
    sl_status status = keep_event(&a, kind);
    return status < 0 ? (int)status : 1;
}

sl_status sl_pickle_take_events(sl_pickle_vm *vm, uint64_t *cnt) {
    *cnt = 0;
    /* MEMOIZE counts the entries set; with gaps that is not the next index. */
    if (vm->memo.set_cnt != vm->memo.cnt)
        return SL_OK;
    for (;;) {
        int taken = next_event(vm);
        if (taken <= 0)
            return taken < 0 ? (sl_status)taken : SL_OK;
        ++*cnt;
    }
}
