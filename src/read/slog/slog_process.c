/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_process.h"

#include <string.h>

#include "model/torch_frames.h"
#include "read/slog/slog_counters.h"

/* Every stack of a worker begins in the loop that feeds it; its parent never runs that. */
static bool is_loader_worker(const sl_log_reader *log) {
    sl_fmt_frame frame;
    for (uint32_t stack = 0, caller; stack < sl_log_stack_cnt(log); stack++)
        if (sl_log_get_frame(log, stack, &frame, &caller) &&
            sl_torch_frame_find(sl_log_get_string(log, frame.function),
                                sl_log_get_string(log, frame.file))
                    .marks &
                SL_FRAME_WORKER)
            return true;
    return false;
}

static sl_maybe_i32 known_unless_negative(int64_t value) {
    bool is_known = value >= 0 && value <= INT32_MAX;
    return (sl_maybe_i32){is_known ? (int32_t)value : 0, is_known};
}

static const char *copy_text(sl_trace *trace, const char *text, size_t cap) {
    return sl_arena_copy(&trace->arena, text, strnlen(text, cap));
}

sl_status sl_slog_load_process(const sl_log_reader *log, sl_trace *trace, sl_error *err) {
    static const sl_process_end ends[] = {
        [SL_LOG_CLOSED] = SL_PROCESS_END_EXITED,   [SL_LOG_LIVE] = SL_PROCESS_END_RUNNING,
        [SL_LOG_KILLED] = SL_PROCESS_END_KILLED,   [SL_LOG_LEFT] = SL_PROCESS_END_LEFT,
        [SL_LOG_UNCLEAR] = SL_PROCESS_END_UNKNOWN,
    };
    const sl_fmt_header *h = sl_log_header(log);
    trace->process = (sl_process){
        .is_known = true,
        .pid = h->pid,
        .parent_pid = h->parent_pid,
        .host = copy_text(trace, h->host, sizeof h->host),
        .command = copy_text(trace, h->cmdline, sizeof h->cmdline),
        .job = copy_text(trace, h->job, sizeof h->job),
        .rank = known_unless_negative(sl_log_rank(log)),
        .local_rank = known_unless_negative(sl_log_local_rank(log)),
        .world_size = known_unless_negative(sl_log_world_size(log)),
        .start_us = sl_slog_time_us(log, 0),
        .end = ends[sl_log_get_ending(log)],
        .exit_status = known_unless_negative(sl_log_exit_status(log)),
        .is_loader_worker = is_loader_worker(log),
    };
    const sl_process *p = &trace->process;
    return p->host && p->command && p->job ? SL_OK : sl_fail_no_memory(err, "a trace");
}
