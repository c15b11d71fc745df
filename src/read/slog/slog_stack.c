/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_stack.h"

#include "read/torch/native_name.h"

static uint32_t take_string(const sl_log_reader *log, sl_trace *trace, uint32_t id) {
    sl_str text = sl_log_get_string(log, id);
    return sl_strtab_intern(&trace->strings, text.ptr, text.len);
}

static uint32_t take_function(const sl_log_reader *log, sl_trace *trace, const sl_fmt_frame *from) {
    char buf[SL_NATIVE_NAME_CAP];
    if (from->kind != SL_FRAME_NATIVE)
        return take_string(log, trace, from->function);
    sl_str name = sl_native_name(sl_log_get_string(log, from->function), buf);
    return sl_strtab_intern(&trace->strings, name.ptr, name.len);
}

static uint32_t take_frame(const sl_log_reader *log, sl_trace *trace, const sl_fmt_frame *from) {
    sl_frame frame = {take_function(log, trace, from), take_string(log, trace, from->file),
                      from->line};
    if (frame.function == SL_STR_NONE || frame.file == SL_STR_NONE)
        return SL_STACK_NONE;
    return sl_stacks_intern_frame(&trace->stacks, frame);
}

uint32_t sl_slog_take_stack(const sl_log_reader *log, sl_trace *trace, uint32_t stack) {
    uint32_t
        ids[SL_FORMAT_STACK_DEPTH_MAX / 8]; /* 512 frames; deeper stacks lose their outer end */
    size_t depth = 0;
    sl_fmt_frame frame;
    while (depth < SL_COUNT_OF(ids) && sl_log_get_frame(log, stack, &frame, &stack)) {
        ids[depth] = take_frame(log, trace, &frame);
        if (ids[depth++] == SL_STACK_NONE)
            return SL_STACK_NONE;
    }
    return sl_stacks_intern(&trace->stacks, ids, depth);
}
