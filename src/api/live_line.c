/* SPDX-License-Identifier: MIT */
#include "api/live_line.h"

#include <stdio.h>

#include "base/core/order.h"
#include "base/text/term.h"
#include "read/torch/native_name.h"
#include "run/lines/user_line.h"

bool sl_live_line_find(const sl_log_reader *reader, uint32_t stack, sl_fmt_frame *line) {
    sl_fmt_frame frame;
    uint32_t at = stack, caller;
    int best_owner = -1;
    for (; best_owner < SL_OWNER_NAMELESS && sl_log_get_frame(reader, at, &frame, &caller);
         at = caller) {
        sl_str file = sl_log_get_string(reader, frame.file);
        sl_str function = sl_log_get_string(reader, frame.function);
        int owner = sl_frame_classify(NULL, file, function).owner;
        if (owner <= best_owner)
            continue;
        *line = frame;
        best_owner = owner;
    }
    return best_owner >= 0;
}

sl_str sl_live_line_function(const sl_log_reader *reader, const sl_fmt_frame *line, char *buf) {
    sl_str function = sl_log_get_string(reader, line->function);
    return line->kind == SL_FRAME_NATIVE ? sl_native_name(function, buf) : function;
}

void sl_live_line_name(const sl_log_reader *reader, const sl_fmt_frame *line, char *buf,
                       size_t cap) {
    sl_str file = sl_log_get_string(reader, line->file);
    size_t start = file.len;
    *buf = '\0';
    while (start && file.ptr[start - 1] != '/')
        start--;
    if (file.len)
        snprintf(buf, cap, "%.*s:%u", (int)sl_min_size(file.len - start, cap / 2), file.ptr + start,
                 line->line);
    sl_term_clean(buf);
}
