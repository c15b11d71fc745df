/* SPDX-License-Identifier: MIT */
#include "record/hooks/hook_torch.h"

#include "base/core/clock.h"
#include "base/core/diag.h"
#include "record/core/py_exit.h"
#include "record/core/recorder.h"
#include "record/core/sampler.h"
#include "record/hooks/hook_table.h"
#include "record/hooks/torch_profiler.h"
#include "record/stacks/native_stack.h"
#include "record/stacks/pystack.h"
#include "record/stacks/stack_cache.h"
#include "record/torch/alloc_conf.h"
#include "record/torch/trace_tracker.h"
#include "record/training/backward_map.h"
#include "record/training/phase_watch.h"
#include "record/training/tag_scan.h"
#include "record/training/workspace_watch.h"

/* c10::DeviceType of plain host memory; every other type is a device with an index. */
#define DEVICE_TYPE_CPU  0
#define DEVICE_TYPE_CUDA 1

typedef struct torch_device {
    uint8_t type;
    int8_t index;
} torch_device;

static torch_device device_of(uint64_t word) {
    return (torch_device){(uint8_t)word, (int8_t)(word >> 8)};
}

/* One report as every version of torch makes it. */
typedef struct torch_report {
    void *ptr;
    int64_t size; /* negative: a free */
    uint64_t allocated, reserved;
    uint64_t device_word;
} torch_report;

static _Atomic(int64_t)
    host_total; /* torch's shared-memory allocator reports no total of its own */

static SL_HOT void fill_totals(sl_log_event *event, const torch_report *report, bool is_host) {
    if (is_host) {
        int64_t total = atomic_fetch_add_explicit(&host_total, report->size, memory_order_relaxed) +
                        report->size;
        event->total_allocated = total >= 0 ? (uint64_t)total : SL_LOG_UNKNOWN;
        event->total_reserved = SL_LOG_UNKNOWN;
        return;
    }
    event->total_allocated = report->allocated;
    event->total_reserved = report->reserved;
}

/* Where a request comes from: the Python stack; the forward line of a backward one; or on a thread of autograd's
 * that runs Python code (a compiled or a custom backward) that code, called from the forward line. A request that
 * failed has counted_bytes 0. */
typedef struct request_origin {
    sl_stack_ref stack;
    const sl_phase_seen *seen;
} request_origin;

static inline request_origin find_origin(const sl_capture *capture, uint64_t counted_bytes) {
    sl_log *log = capture->log;
    sl_stack_ref stack = sl_stack_cache_get(log);
    const sl_phase_seen *seen = sl_phase_note(log, capture->guard.slot, stack.flags);
    if (SL_UNLIKELY(stack.id && seen->is_called))
        sl_backward_note_call(stack.id);
    if (SL_LIKELY(stack.id && !seen->is_autograd))
        return (request_origin){stack, seen};
    sl_stack_ref forward = sl_backward_find(log, counted_bytes, seen->is_autograd);
    if (stack.id && forward.id)
        stack = sl_stack_cache_get_inside(log, forward.id);
    return (request_origin){stack.id ? stack : forward, seen};
}

static SL_HOT void add_origin(sl_log_event *event, const sl_capture *capture) {
    request_origin origin = find_origin(capture, event->size);
    uint32_t stack = origin.stack.id;
    uint16_t workspace = event->device >= 0 ? sl_workspace_find(origin.stack, event->size) : 0;
    event->tag = SL_UNLIKELY(workspace) ? workspace : origin.seen->label;
    event->stack = sl_native_add(capture->log, stack);
    if (event->stack == stack && origin.stack.memo)
        event->site_memo = &origin.stack.memo->site;
    if (origin.seen->is_forward)
        sl_backward_note_forward(stack);
}

/* The CPU allocator asks sl_hook_torch_enabled, enters the block into a table of its own, then reports. The
 * table is a static object of torch's: gone once exit() destroys it, while threads may still allocate.
 *
 * (T1) A thread marks itself before it answers that the profiler is on, and looks once more after that; the
 *      report takes the mark away. At exit the answer becomes "off", then those that are marked are
 *      waited for (sl_hook_torch_leave): torch's table is not used after it is gone.
 * (T2) The table has a lock. A fork while another thread holds it would leave it locked in the child for ever. So
 *      while a thread forks the others wait here, as they do in the kernel for their next page; those that
 *      are marked are waited for, and where that is in vain the child's CPU allocator does not report. */
static _Atomic(const sl_guard_slot *) forking; /* the slot of the thread that forks */
static bool is_table_free;                     /* under the control lock */
static atomic_bool is_fork_slow;               /* somebody has waited for it long enough */

#define FORK_WAIT_MS  20
#define ENTER_WAIT_US 100
#define ENTER_TURNS   1000

static sl_diag_once child_without_cpu;

static void leave_torch(void) {
    sl_guard_slot *slot = sl_guard_own;
    if (slot)
        atomic_store_explicit(&slot->is_in_torch, 0, memory_order_release);
}

/* The table exists once it has reported. */
static void leave_table(void) {
    static atomic_bool is_watched;
    leave_torch();
    if (SL_UNLIKELY(!atomic_load_explicit(&is_watched, memory_order_relaxed)) &&
        !atomic_exchange(&is_watched, true))
        sl_recorder_watch_exit();
}

/* Waits 0.1 s at most, and once per fork: the forking thread may be waiting for this one. */
static __attribute__((noinline)) bool wait_for_fork(const sl_guard_slot *slot) {
    int saved_errno = errno;
    bool is_over = false;
    for (unsigned turn = 0; turn < ENTER_TURNS && !is_over && !atomic_load(&is_fork_slow); turn++) {
        const sl_guard_slot *forker = atomic_load(&forking);
        is_over = !forker || forker == slot;
        if (!is_over)
            sl_clock_pause_us(ENTER_WAIT_US);
    }
    if (!is_over)
        atomic_store(&is_fork_slow, true);
    errno = saved_errno;
    return is_over;
}

static bool enter_torch(void) {
    sl_guard_slot *slot = sl_guard_own;
    if (SL_UNLIKELY(!slot) && !(slot = sl_guard_take_slot()))
        return false;
    for (;;) {
        atomic_store_explicit(&slot->is_in_torch, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* the other half is the waiter's membarrier */
        const sl_guard_slot *forker = atomic_load_explicit(&forking, memory_order_relaxed);
        if (SL_LIKELY((!forker || forker == slot) && sl_recorder_wants_cpu()))
            return true;
        leave_torch();
        if (!sl_recorder_wants_cpu() || !wait_for_fork(slot))
            return false;
    }
}

void sl_hook_torch_before_fork(void) {
    const sl_guard_slot *slot = sl_guard_own;
    is_table_free = true;
    atomic_store(&is_fork_slow, false);
    if (!sl_recorder_wants_cpu() || (!slot && !(slot = sl_guard_take_slot())))
        return;
    atomic_store(&forking, slot);
    is_table_free = sl_guard_wait_out_of_torch(FORK_WAIT_MS);
}

void sl_hook_torch_after_fork(bool is_child) {
    atomic_store(&forking, NULL);
    if (is_table_free)
        return;
    if (is_child)
        sl_recorder_drop_cpu();
    else
        sl_diag_say(&child_without_cpu, "not recording the CPU memory of a child: another thread "
                                        "was inside torch's allocator when it forked");
}

/* A block that torch's table does not know ends its free without a report and leaves the mark behind: such
 * a thread is waited for in vain, once, at exit. */
#define LEAVE_WAIT_MS 250

void sl_hook_torch_leave(void) {
    sl_recorder_drop_cpu();
    sl_guard_wait_out_of_torch(LEAVE_WAIT_MS);
}

static SL_HOT void record(const torch_report *report) {
    torch_device device = device_of(report->device_word);
    bool is_host = device.type == DEVICE_TYPE_CPU;
    sl_capture capture;
    if (is_host)
        leave_table();
    if (device.type == DEVICE_TYPE_CUDA)
        sl_tracker_try();
    if ((is_host && !sl_recorder_wants_cpu()) || !sl_capture_begin(&capture))
        return;
    bool is_alloc = report->size >= 0;
    sl_log_event event = {
        .kind = is_alloc ? SL_EV_ALLOC : SL_EV_FREE,
        .device = is_host ? -1 : device.index,
        .addr = (uint64_t)(uintptr_t)report->ptr,
        .size = (uint64_t)(is_alloc ? report->size : -report->size),
    };
    sl_log_expect(capture.log, &event);
    fill_totals(&event, report, is_host);
    if (!is_host)
        sl_sampler_note_device(device.index);
    if (is_alloc)
        add_origin(&event, &capture);
    if (device.type == DEVICE_TYPE_CUDA) {
        sl_alloc_conf_note_device(capture.log);
        sl_tracker_complete(capture.log, &event);
    }
    sl_log_write(capture.log, &event);
    sl_capture_end(&capture);
}

/* --- What the profiler gets ------------------------------------------------------------------- */

static SL_HOT bool is_profiler_on(void) {
    bool (*original)(void);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_ENABLED);
    return original && original();
}

/* Whether torch alone would have made this call, and with which total. `caller` distinguishes the
 * CPU allocator, which is in the defining library itself, from the shared-memory allocator, which
 * always reports. */
static SL_HOT bool would_report(torch_report *report, sl_hook_id id, const void *caller) {
    if (device_of(report->device_word).type != DEVICE_TYPE_CPU || !sl_recorder_wants_cpu() ||
        !sl_hook_is_in_definer(id, caller))
        return true;
    if (!is_profiler_on())
        return false;
    if (report->size < 0)
        return sl_torch_profiler_remove(report->ptr, &report->allocated);
    report->allocated = sl_torch_profiler_add(report->ptr, (uint64_t)report->size);
    return true;
}

void sl_hook_torch_report_16(void *ptr, int64_t size, uint64_t device) {
    torch_report report = {ptr, size, SL_LOG_UNKNOWN, SL_LOG_UNKNOWN, device};
    record(&report);
    void (*original)(void *, int64_t, uint64_t);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_REPORT_16);
    if (original && would_report(&report, SL_HOOK_TORCH_REPORT_16, __builtin_return_address(0)))
        original(ptr, size, device);
}

SL_HOT void sl_hook_torch_report_110(void *ptr, int64_t size, int64_t allocated, int64_t reserved,
                                     uint64_t device) {
    torch_report report = {ptr, size, (uint64_t)allocated, (uint64_t)reserved, device};
    record(&report);
    void (*original)(void *, int64_t, int64_t, int64_t, uint64_t);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_REPORT_110);
    if (original && would_report(&report, SL_HOOK_TORCH_REPORT_110, __builtin_return_address(0)))
        original(ptr, size, (int64_t)report.allocated, reserved, device);
}

SL_HOT void sl_hook_torch_report_20(void *ptr, int64_t size, size_t allocated, size_t reserved,
                                    uint64_t device) {
    torch_report report = {ptr, size, allocated, reserved, device};
    record(&report);
    void (*original)(void *, int64_t, size_t, size_t, uint64_t);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_REPORT_20);
    if (original && would_report(&report, SL_HOOK_TORCH_REPORT_20, __builtin_return_address(0)))
        original(ptr, size, report.allocated, reserved, device);
}

/* --- Out of memory ------------------------------------------------------------------------------ */

static void record_oom(int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device_word) {
    torch_device device = device_of(device_word);
    sl_capture capture;
    if (device.type == DEVICE_TYPE_CPU)
        leave_torch();
    if (!sl_capture_begin(&capture))
        return;
    uint32_t origin = find_origin(&capture, 0).stack.id;
    sl_log_oom oom = {
        .device = device.type == DEVICE_TYPE_CPU ? -1 : device.index,
        .stack = sl_native_add(capture.log, origin),
        .requested = (uint64_t)size,
        .allocated = allocated,
        .reserved = reserved,
        .device_free = sl_tracker_take_free_bytes(),
        .device_total = SL_LOG_UNKNOWN,
    };
    sl_log_oom_add(capture.log, &oom);
    sl_capture_end(&capture);
}

void sl_hook_torch_oom_113(int64_t size, int64_t allocated, int64_t reserved, uint64_t device) {
    record_oom(size, (uint64_t)allocated, (uint64_t)reserved, device);
    void (*original)(int64_t, int64_t, int64_t, uint64_t);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_OOM_113);
    if (original)
        original(size, allocated, reserved, device);
}

void sl_hook_torch_oom_20(int64_t size, size_t allocated, size_t reserved, uint64_t device) {
    record_oom(size, allocated, reserved, device);
    void (*original)(int64_t, size_t, size_t, uint64_t);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_OOM_20);
    if (original)
        original(size, allocated, reserved, device);
}

/* Every optimizer's step turns gradients off and on again, through Python, whether it allocates or
 * not: a moment to look at the stack. The autograd engine calls this too, for each node; those calls
 * come from another library and are let through at once. */
void sl_hook_torch_grad_mode(bool is_enabled) {
    void (*original)(bool);
    *(void **)&original = sl_hook_original(SL_HOOK_TORCH_GRAD_MODE);
    if (original)
        original(is_enabled);
    static sl_caller_memo callers;
    sl_capture capture;
    if (!atomic_load_explicit(&sl_recorder_page.current, memory_order_relaxed) ||
        !sl_hook_is_call_from(&callers, "libtorch_python", __builtin_return_address(0)) ||
        !sl_capture_begin(&capture))
        return;
    sl_stack_ref stack = sl_stack_cache_get(capture.log);
    sl_phase_note_border(capture.log, capture.guard.slot, stack.flags);
    sl_capture_end(&capture);
    if (SL_UNLIKELY(!sl_pystack_is_open_to_all()))
        sl_py_exit_register(); /* Python called this: the GIL is held */
    if (is_enabled && (stack.flags & SL_FRAME_OPTIMIZER) && sl_recorder_settings()->has_tags)
        sl_tag_scan_border();
}

/* The CPU allocator asks this before each report. */
SL_HOT bool sl_hook_torch_enabled(void) {
    return (sl_recorder_wants_cpu() && enter_torch()) || is_profiler_on();
}
