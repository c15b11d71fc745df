/* SPDX-License-Identifier: MIT */
#include "record/stacks/stack_cache.h"

#include "record/stacks/module_paths.h"
#include "record/training/phase_watch.h"

static sl_key_cache stacks = SL_KEY_CACHE_INIT(1u << 17); /* 4 MiB */
static sl_key_cache frames = SL_KEY_CACHE_INIT(1u << 15); /* 1 MiB */

/* Values: VALUE_SET | flags << 32 | id. */
#define VALUE_SET (UINT64_C(1) << 63)

/* Of a frame's flags: it is left out of stacks. */
#define FRAME_IS_SHIM (1u << 30)

static inline bool find(const sl_key_cache *cache, uint64_t key, sl_stack_ref *ref) {
    sl_key_cache_hit hit = sl_key_cache_find(cache, key);
    if (SL_UNLIKELY(!hit.value))
        return false;
    *ref = (sl_stack_ref){(uint32_t)hit.value, (uint32_t)(hit.value >> 32) & 0x7fffffff, hit.memo};
    return true;
}

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

static sl_stack_ref intern_frame(sl_log *log, const sl_pyframe *frame) {
    sl_pyframe_text text;
    if (!sl_pyframe_describe(frame, &text)) {
        sl_log_health_add(log, SL_HEALTH_STACK_FAILURE, 1);
        text.function = SL_STR("<unreadable>");
        text.file = SL_STR("");
        text.line = 0;
    }
    if (sl_pyframe_is_shim(&text))
        return (sl_stack_ref){0, FRAME_IS_SHIM, NULL};
    uint32_t marks = sl_torch_frame_find(text.function, text.file).marks;
    if (marks & SL_FRAME_MODULE)
        sl_pystack_add_module_code(frame);
    uint32_t id = sl_log_frame_of(log, text.function, text.file, text.line, SL_FRAME_PYTHON);
    return (sl_stack_ref){id, marks, NULL};
}

static sl_stack_ref find_frame(sl_log *log, const sl_pyframe *frame) {
    uint64_t key = sl_pyframe_key(frame) | 1;
    sl_stack_ref ref;
    if (find(&frames, key, &ref))
        return ref;
    ref = intern_frame(log, frame);
    if (SL_LIKELY(ref.id || ref.flags & FRAME_IS_SHIM)) /* else there is no room for it yet */
        sl_key_cache_add(&frames, key, value_of(ref));
    return ref;
}

sl_frame_look sl_stack_cache_look(sl_log *log, const sl_pyframe *frame) {
    uint32_t flags = find_frame(log, frame).flags;
    return (sl_frame_look){flags & ~FRAME_IS_SHIM, flags & FRAME_IS_SHIM};
}

/* A pseudo frame. */
static uint32_t pseudo_frame(sl_log *log, sl_str text) {
    return sl_log_frame_of(log, text, SL_STR(""), 0, SL_FRAME_PSEUDO);
}

/* A stack being built, from its outermost frame inwards. It is dropped if a frame does not fit:
 * half a stack would be counted at the wrong place. */
typedef struct growing_stack {
    uint32_t id;
    bool is_lost;
} growing_stack;

static void push(sl_log *log, growing_stack *stack, uint32_t frame) {
    if (stack->is_lost)
        return;
    stack->id = sl_log_stack_child(log, stack->id, frame);
    stack->is_lost = !stack->id;
}

/* `module_frame` (0 = none) goes right inside the call of the innermost module, the whole inside
 * `base`. A stack that does not fit is not stored; the log counts it, and the next event tries
 * again. Its flags are returned anyway. */
static __attribute__((noinline)) sl_stack_ref intern_stack(sl_log *log, const sl_pystack *stack,
                                                           uint32_t module_frame, uint32_t base) {
    uint32_t flags = 0;
    growing_stack grown = {base, false};
    if (stack->is_cut) /* its outermost frames were left out */
        push(log, &grown, pseudo_frame(log, SL_STR("<more frames>")));
    for (uint32_t i = stack->depth; i-- > 0;) {
        sl_stack_ref frame = find_frame(log, &stack->frames[i]);
        if (SL_UNLIKELY(frame.flags & FRAME_IS_SHIM))
            continue;
        if ((frame.flags & ~flags) & SL_FRAME_OPTIMIZER && !grown.is_lost)
            flags |= sl_phase_site(grown.id) << SL_STACK_SITE_SHIFT;
        flags |= frame.flags & (SL_STACK_FLAGS | SL_STACK_OTHER_FLAGS);
        push(log, &grown, frame.id);
        if (module_frame && i == stack->module_pos)
            push(log, &grown, module_frame);
    }
    sl_stack_ref ref = {grown.id, flags, NULL};
    if (SL_LIKELY(!grown.is_lost))
        sl_key_cache_add(&stacks, stack->key, value_of(ref));
    return ref;
}

static inline sl_stack_ref get(sl_log *log, uint32_t base) {
    sl_pystack stack;
    sl_pystack_walk(&stack);
    sl_stack_ref ref = {0, 0, NULL};
    if (stack.depth == 0)
        return ref;
    uint32_t module_frame = 0;
    if (SL_UNLIKELY(stack.module)) {
        /* Two layers of one class are two stacks. */
        module_frame = sl_module_paths_find(stack.module, stack.root_module);
        stack.key += module_frame * UINT64_C(0x9e3779b97f4a7c15);
        stack.key |= 1;
    }
    if (base)
        stack.key = (stack.key ^ base * UINT64_C(0xd6e8feb86659fd93)) | 1;
    if (SL_LIKELY(find(&stacks, stack.key, &ref)))
        return ref;
    return intern_stack(log, &stack, module_frame, base);
}

SL_HOT sl_stack_ref sl_stack_cache_get(sl_log *log) {
    return get(log, 0);
}

sl_stack_ref sl_stack_cache_get_inside(sl_log *log, uint32_t base) {
    return get(log, base);
}

/* --- Backward ------------------------------------------------------------------------------------ */

/* The frame says how the line was found. */
static const sl_str backward_texts[] = {
    [SL_BACKWARD_EXACT] = SL_STR("<backward>"),
    [SL_BACKWARD_NEAREST] = SL_STR("<backward, nearest forward operator>"),
    [SL_BACKWARD_ACCUMULATE] = SL_STR("<backward, gradient accumulation after this operator>"),
    [SL_BACKWARD_CALL] = SL_STR("<backward, called here>"),
};

/* Ids of stacks are below 2^32 and keys of walked stacks are spread over 64 bits: the two kinds of
 * keys in one table meet as seldom as two stacks do. */
SL_HOT sl_stack_ref sl_stack_cache_get_backward(sl_log *log, uint32_t forward,
                                                sl_backward_match match) {
    uint64_t key = (((uint64_t)forward << 2 | match) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    sl_stack_ref ref = {0, 0, NULL};
    if (SL_LIKELY(find(&stacks, key, &ref)))
        return ref;
    ref.id = sl_log_stack_child(log, forward, pseudo_frame(log, backward_texts[match]));
    if (SL_LIKELY(ref.id)) /* else there is no room for it yet */
        sl_key_cache_add(&stacks, key, value_of(ref));
    return ref;
}
