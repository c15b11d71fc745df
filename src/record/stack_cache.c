/* SPDX-License-Identifier: MIT */
#include "record/stack_cache.h"

#include "record/frame_marks.h"
#include "record/key_cache.h"
#include "record/phase_watch.h"
#include "record/pystack.h"

/* A cached value: VALUE_SET | flags << 32 | id. */
#define VALUE_SET (UINT64_C(1) << 63)

static sl_key_cache stacks = {.entry_cnt = 1u << 18}; /* 4 MiB, touched as it fills */
static sl_key_cache frames = {.entry_cnt = 1u << 16}; /* 1 MiB */

bool sl_stack_cache_init(void) {
    return sl_key_cache_init(&stacks) && sl_key_cache_init(&frames);
}

void sl_stack_cache_clear(void) {
    sl_key_cache_clear(&stacks);
    sl_key_cache_clear(&frames);
}

static uint64_t value_of(sl_stack_ref ref) {
    return VALUE_SET | ((uint64_t)ref.flags << 32) | ref.id;
}

static sl_stack_ref ref_of(uint64_t value) {
    return (sl_stack_ref){(uint32_t)value, (uint32_t)(value >> 32) & 0x7fffffff};
}

static sl_stack_ref intern_frame(sl_log *log, const sl_pyframe *frame) {
    sl_pyframe_text text;
    if (!sl_pyframe_describe(frame, &text)) {
        sl_log_health_add(log, SL_HEALTH_STACK_FAILURE, 1);
        text.function = SL_STR("<unreadable>");
        text.file = SL_STR("");
        text.line = 0;
    }
    sl_log_frame row = {
        .function = sl_log_string(log, text.function.ptr, text.function.len),
        .file = sl_log_string(log, text.file.ptr, text.file.len),
        .line = text.line,
        .kind = SL_FRAME_PYTHON,
    };
    return (sl_stack_ref){sl_log_frame_id(log, &row),
                          sl_frame_flags_find(text.function, text.file)};
}

static sl_stack_ref find_frame(sl_log *log, const sl_pyframe *frame) {
    uint64_t key = sl_pyframe_key(frame) | 1;
    uint64_t value = sl_key_cache_find(&frames, key);
    if (value)
        return ref_of(value);
    sl_stack_ref ref = intern_frame(log, frame);
    sl_key_cache_add(&frames, key, value_of(ref));
    return ref;
}

/* Stands at the bottom of a stack whose outermost frames were left out. */
static uint32_t cut_mark(sl_log *log) {
    sl_str text = SL_STR("<more frames>");
    sl_log_frame row = {.function = sl_log_string(log, text.ptr, text.len),
                        .kind = SL_FRAME_PSEUDO};
    return sl_log_stack_child(log, 0, sl_log_frame_id(log, &row));
}

static __attribute__((noinline)) sl_stack_ref intern_stack(sl_log *log, const sl_pystack *stack) {
    sl_stack_ref ref = {stack->is_cut ? cut_mark(log) : 0, 0};
    for (uint32_t i = stack->depth; i-- > 0;) {
        sl_stack_ref frame = find_frame(log, &stack->frames[i]);
        if ((frame.flags & ~ref.flags) & SL_STACK_IN_OPTIMIZER)
            ref.flags |= sl_phase_site(ref.id) << SL_STACK_SITE_SHIFT;
        ref.id = sl_log_stack_child(log, ref.id, frame.id);
        ref.flags |= frame.flags;
    }
    sl_key_cache_add(&stacks, stack->key, value_of(ref));
    return ref;
}

sl_stack_ref sl_stack_cache_get(sl_log *log) {
    sl_pystack stack;
    sl_pystack_walk(&stack);
    if (stack.depth == 0)
        return (sl_stack_ref){0, 0};
    uint64_t value = sl_key_cache_find(&stacks, stack.key);
    return SL_LIKELY(value) ? ref_of(value) : intern_stack(log, &stack);
}
