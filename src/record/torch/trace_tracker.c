/* SPDX-License-Identifier: MIT */
#include "record/torch/trace_tracker.h"

#include <stddef.h>
#include <string.h>

#include "model/torch_frames.h"
#include "record/core/recorder.h"
#include "record/core/sampler.h"
#include "record/hooks/hook_table.h"
#include "record/stacks/native_stack.h"
#include "record/stacks/stack_cache.h"
#include "record/torch/tracker_proof.h"

/* --- What torch hands over ---------------------------------------------------------------------- */

/* c10's TraceEntry::Action. */
typedef enum torch_action {
    TORCH_ALLOC,
    TORCH_FREE_REQUESTED,
    TORCH_FREE_COMPLETED,
    TORCH_SEGMENT_ALLOC,
    TORCH_SEGMENT_FREE,
    TORCH_SEGMENT_MAP,
    TORCH_SEGMENT_UNMAP,
    TORCH_SNAPSHOT,
    TORCH_OOM,
} torch_action;

/* The beginning of c10's TraceEntry, the same in every release of tracker_proof.c. */
typedef struct torch_entry {
    int32_t action;
    int8_t device; /* torch 2.2 has 4 bytes here */
    uint64_t addr; /* of OOM: free bytes of the card */
    void *context[2];
    uint64_t stream;
    uint64_t size;
    uint64_t pool[2]; /* sl_tracker_target.has_pool */
} torch_entry;

_Static_assert(offsetof(torch_entry, addr) == 8 && offsetof(torch_entry, stream) == 32 &&
                   offsetof(torch_entry, size) == 40 && sizeof(torch_entry) == 64,
               "as in the headers of torch 2.2 to 2.15");

/* std::function<void(const TraceEntry &)> of libstdc++. A copy is made through the manager
 * (operation 2); this function has no state, so there is nothing to copy or destroy. */
typedef struct std_function {
    void *state[2];
    bool (*manage)(void *to, const void *from, int operation);
    void (*call)(const void *state, const torch_entry *entry);
} std_function;

/* --- What is kept ------------------------------------------------------------------------------- */

#define STREAM_MEMO_CNT 4 /* per thread: few streams take turns */

typedef struct stream_memo {
    uint64_t stream, pool[2];
    uint32_t epoch; /* of the log the label belongs to; 0 = nothing */
    uint16_t label;
} stream_memo;

/* The entries since the thread's last report. */
typedef struct pending_entries {
    uint64_t addr, requested, stream, pool[2]; /* of an alloc; addr 0 = none */
    uint64_t dropped;                          /* address of a free that is not complete */
    uint64_t card_free;                        /* of a request that failed */
    bool has_card_free;
    bool is_emptying; /* inside empty_cache(), which is in the log */
    stream_memo memos[STREAM_MEMO_CNT];
} pending_entries;

static _Thread_local pending_entries own __attribute__((tls_model("initial-exec")));

atomic_int sl_tracker_now;
static bool has_pool;            /* written before the state becomes ON */
static atomic_uint epoch;        /* one for each log */
static atomic_uint misfit_cnt;   /* (K3) */
static sl_tracker_target target; /* of the thread that attaches */

#define MISFIT_MAX 16
#define DEVICE_MAX 64

/* (K4). Changed under torch's lock of the device. */
typedef struct device_state {
    _Atomic(uint64_t) segment_bytes; /* handed over, less returned */
    atomic_bool is_said;
    atomic_bool is_whole; /* what was handed over is all that torch has */
} device_state;

static device_state devices[DEVICE_MAX];

/* --- Streams ------------------------------------------------------------------------------------- */

static char *put_number(char *to, uint64_t number, unsigned base) {
    char digits[24];
    size_t cnt = 0;
    do {
        digits[cnt++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    while (cnt)
        *to++ = digits[--cnt];
    return to;
}

static char *put_text(char *to, const char *text) {
    size_t len = strlen(text);
    memcpy(to, text, len);
    return to + len;
}

/* "stream 55c0a3b2e0 pool 0.1", as docs/format.md has it. No stdio on the event path. */
static uint16_t make_label(sl_log *log, const stream_memo *from) {
    char text[96];
    char *end = put_number(put_text(text, "stream "), from->stream, 16);
    if (has_pool) {
        end = put_number(put_text(end, " pool "), from->pool[0], 10);
        end = put_number(put_text(end, "."), from->pool[1], 10);
    }
    return sl_log_label(log, text, (size_t)(end - text));
}

static SL_HOT uint16_t find_label(sl_log *log, uint64_t stream, const uint64_t pool[2]) {
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    stream_memo wanted = {stream, {has_pool ? pool[0] : 0, has_pool ? pool[1] : 0}, now, 0};
    uint64_t hash = (stream >> 4) ^ (stream >> 12) ^ wanted.pool[0] ^ wanted.pool[1];
    stream_memo *memo = &own.memos[hash % STREAM_MEMO_CNT];
    if (SL_LIKELY(memo->epoch == now && memo->stream == stream && memo->pool[0] == wanted.pool[0] &&
                  memo->pool[1] == wanted.pool[1]))
        return memo->label;
    wanted.label = make_label(log, &wanted);
    *memo = wanted;
    return wanted.label;
}

/* --- Entries ------------------------------------------------------------------------------------- */

static const uint8_t segment_kinds[] = {
    [TORCH_SEGMENT_ALLOC] = SL_EV_SEGMENT_ALLOC,
    [TORCH_SEGMENT_FREE] = SL_EV_SEGMENT_FREE,
    [TORCH_SEGMENT_MAP] = SL_EV_SEGMENT_MAP,
    [TORCH_SEGMENT_UNMAP] = SL_EV_SEGMENT_UNMAP,
};

static sl_log_event event_of(sl_log *log, const torch_entry *entry, uint8_t kind) {
    return (sl_log_event){.kind = kind,
                          .device = entry->device,
                          .addr = entry->addr,
                          .size = entry->size,
                          .label = find_label(log, entry->stream, entry->pool),
                          .total_allocated = SL_LOG_UNKNOWN,
                          .total_reserved = SL_LOG_UNKNOWN};
}

/* Before the segments that a program returns by empty_cache(), one event for the call
 * is written. */
static void note_emptying(sl_log *log, const sl_log_event *segment, uint32_t stack_flags) {
    bool is_return = segment->kind == SL_EV_SEGMENT_FREE || segment->kind == SL_EV_SEGMENT_UNMAP;
    bool is_asked = is_return && (stack_flags & SL_FRAME_EMPTY_CACHE);
    if (is_asked && !own.is_emptying)
        sl_log_write(log, &(sl_log_event){.kind = SL_EV_EMPTY_CACHE,
                                          .device = segment->device,
                                          .stack = segment->stack,
                                          .total_allocated = SL_LOG_UNKNOWN,
                                          .total_reserved = SL_LOG_UNKNOWN});
    own.is_emptying = is_asked;
}

static device_state *device_of(const sl_log_event *event) {
    return &devices[(uint8_t)event->device % DEVICE_MAX];
}

/* After empty_cache() the next report may be far away: until then torch's reserved total is known
 * only from its segments. */
static void count_segment(sl_log_event *event) {
    device_state *device = device_of(event);
    bool is_more = event->kind == SL_EV_SEGMENT_ALLOC || event->kind == SL_EV_SEGMENT_MAP;
    uint64_t change = is_more ? event->size : 0 - event->size;
    uint64_t now = atomic_fetch_add(&device->segment_bytes, change) + change;
    if (!is_more && atomic_load(&device->is_whole))
        event->total_reserved = now;
}

static void on_segment(const torch_entry *entry) {
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return;
    sl_log_event event = event_of(capture.log, entry, segment_kinds[entry->action]);
    sl_stack_ref stack = sl_stack_cache_get(capture.log);
    event.stack = sl_native_add(capture.log, stack.id);
    note_emptying(capture.log, &event, stack.flags);
    count_segment(&event);
    sl_log_write(capture.log, &event);
    sl_sampler_want();
    sl_capture_end(&capture);
}

static void on_reusable(const torch_entry *entry) {
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return;
    sl_log_event event = event_of(capture.log, entry, SL_EV_REUSABLE);
    sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

/* Called by torch under the device's lock. */
static SL_HOT void on_entry(const void *state, const torch_entry *entry) {
    SL_UNUSED(state);
    if (SL_UNLIKELY(!sl_tracker_is(SL_TRACKER_ON)))
        return;
    switch (entry->action) {
    case TORCH_ALLOC:
        own.addr = entry->addr;
        own.requested = entry->size;
        own.stream = entry->stream;
        own.pool[0] = entry->pool[0];
        own.pool[1] = entry->pool[1];
        own.is_emptying = false;
        break;
    case TORCH_FREE_REQUESTED: own.dropped = entry->addr; break;
    case TORCH_FREE_COMPLETED:
        if (SL_LIKELY(own.dropped == entry->addr))
            own.dropped = 0;
        else
            on_reusable(entry);
        break;
    case TORCH_SEGMENT_ALLOC:
    case TORCH_SEGMENT_FREE:
    case TORCH_SEGMENT_MAP:
    case TORCH_SEGMENT_UNMAP: on_segment(entry); break;
    case TORCH_OOM:
        own.card_free = entry->addr;
        own.has_card_free = true;
        break;
    default: break;
    }
}

/* --- Reports ------------------------------------------------------------------------------------- */

static void say(sl_log *log, enum sl_tracking state, int device, const char *text) {
    uint32_t name = sl_log_string(log, text, strlen(text));
    sl_log_mark_number(log, SL_EV_TRACKING, (uint64_t)state | (uint64_t)(uint8_t)device << 8, name);
}

/* (K4). */
static __attribute__((noinline)) void say_device(sl_log *log, const sl_log_event *event) {
    bool is_whole = atomic_load(&device_of(event)->segment_bytes) == event->total_reserved;
    atomic_store(&device_of(event)->is_whole, is_whole);
    if (!atomic_exchange(&device_of(event)->is_said, true))
        say(log, is_whole ? SL_TRACKING_WHOLE : SL_TRACKING_LATE, event->device, target.text);
}

/* (K3). */
static __attribute__((noinline)) void note_misfit(sl_log *log) {
    if (atomic_fetch_add(&misfit_cnt, 1) + 1 != MISFIT_MAX)
        return;
    atomic_store(&sl_tracker_now, SL_TRACKER_OFF);
    sl_log_health_add(log, SL_HEALTH_HOOK_FAILURE, 1);
    say(log, SL_TRACKING_OFF, 0, "its entries do not fit its reports");
}

static SL_HOT void complete_alloc(sl_log *log, sl_log_event *event) {
    uint64_t addr = own.addr;
    own.addr = 0;
    if (SL_UNLIKELY(addr != event->addr || own.requested > event->size)) {
        note_misfit(log);
        return;
    }
    event->label = find_label(log, own.stream, own.pool);
    if (SL_UNLIKELY(!atomic_load_explicit(&device_of(event)->is_said, memory_order_relaxed)))
        say_device(log, event);
    if (own.requested == event->size)
        return;
    event->time_ns = sl_log_now_ns(log);
    sl_log_write(log, &(sl_log_event){.kind = SL_EV_REQUEST,
                                      .device = event->device,
                                      .addr = event->addr,
                                      .size = own.requested,
                                      .time_ns = event->time_ns,
                                      .total_allocated = SL_LOG_UNKNOWN,
                                      .total_reserved = SL_LOG_UNKNOWN});
}

SL_HOT void sl_tracker_complete(sl_log *log, sl_log_event *event) {
    if (!sl_tracker_is(SL_TRACKER_ON))
        return;
    if (event->kind == SL_EV_ALLOC) {
        complete_alloc(log, event);
    } else if (SL_UNLIKELY(own.dropped == event->addr)) {
        event->flags = SL_RECORD_DELAYED;
        own.dropped = 0;
    }
}

uint64_t sl_tracker_take_free_bytes(void) {
    bool is_known = own.has_card_free;
    own.has_card_free = false;
    return is_known ? own.card_free : SL_LOG_UNKNOWN;
}

/* --- Attaching ----------------------------------------------------------------------------------- */

static bool manage(void *to, const void *from, int operation) {
    SL_UNUSED(to);
    SL_UNUSED(from);
    SL_UNUSED(operation);
    return false;
}

static void call_attach(void) {
    std_function function = {.manage = manage, .call = on_entry};
    has_pool = target.has_pool;
    atomic_store(&sl_tracker_now, SL_TRACKER_ON);
    target.attach(target.allocator, &function);
}

void sl_tracker_arm(bool is_wanted) {
    int before = is_wanted ? SL_TRACKER_UNWANTED : SL_TRACKER_UNTRIED;
    atomic_compare_exchange_strong(&sl_tracker_now, &before,
                                   is_wanted ? SL_TRACKER_UNTRIED : SL_TRACKER_UNWANTED);
}

/* Outside the guard while torch is called (R4). The log is opened before, so that it gets the first
 * segment. */
void sl_tracker_attach(void) {
    int expected = SL_TRACKER_UNTRIED;
    sl_capture capture;
    if (!sl_capture_begin(&capture))
        return;
    sl_capture_end(&capture);
    if (!atomic_compare_exchange_strong(&sl_tracker_now, &expected, SL_TRACKER_BUSY))
        return;
    int saved_errno = errno;
    if (sl_tracker_prove(&target)) {
        call_attach();
    } else {
        atomic_store(&sl_tracker_now, SL_TRACKER_OFF);
        if (sl_capture_begin(&capture)) {
            say(capture.log, SL_TRACKING_OFF, 0, target.text);
            sl_capture_end(&capture);
        }
    }
    errno = saved_errno;
}

void sl_tracker_try_driver(const void *caller) {
    static sl_caller_memo callers;
    if (SL_UNLIKELY(sl_tracker_is(SL_TRACKER_UNTRIED)) &&
        sl_hook_is_call_from(&callers, "libc10_cuda", caller))
        sl_tracker_attach();
}

/* The segments of an earlier log of this process, or of the parent of a forked one, are not in this one. */
void sl_tracker_start(sl_log *log) {
    atomic_fetch_add(&epoch, 1);
    for (size_t i = 0; i < DEVICE_MAX; i++) {
        atomic_store(&devices[i].segment_bytes, 0);
        atomic_store(&devices[i].is_said, false);
        atomic_store(&devices[i].is_whole, false);
    }
    if (sl_tracker_is(SL_TRACKER_OFF))
        say(log, SL_TRACKING_OFF, 0, target.text);
}
