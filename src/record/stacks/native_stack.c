/* SPDX-License-Identifier: MIT */
#include "record/stacks/native_stack.h"

#include <stdatomic.h>
#include <string.h>

#include "record/hooks/elf_view.h"
#include "record/hooks/hook_table.h"
#include "record/stacks/cfi_rule.h"
#include "record/stacks/key_cache.h"
#include "record/stacks/native_names.h"
#include "record/stacks/thread_stack.h"

/* struct dl_find_object of glibc's dlfcn.h, which older headers do not have. */
typedef struct found_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *map;
    void *eh_frame; /* PT_GNU_EH_FRAME */
    unsigned long long reserved[7];
} found_object;

typedef int (*find_object_fn)(void *address, found_object *result);

static inline bool is_in(sl_code_range range, uintptr_t at) {
    return at >= range.low && at < range.high;
}

_Atomic(int) sl_native_current;

static find_object_fn find_object;
static sl_code_range recorder;    /* this library: its frames are left out */
static sl_code_range interpreter; /* Python's: skipped too, because the Python frames say more */
static sl_code_range
    eval; /* _PyEval_EvalFrameDefault: what is above it belongs to other Python frames */
static const char *reason = "";

static sl_key_cache rules = SL_KEY_CACHE_INIT(1u << 16);  /* 2 MiB, touched as it fills */
static sl_key_cache frames = SL_KEY_CACHE_INIT(1u << 16); /* 2 MiB */
static sl_key_cache stacks = SL_KEY_CACHE_INIT(1u << 17); /* 4 MiB */

/* --- Start ----------------------------------------------------------------------------------- */

typedef struct range_search {
    const void *address;
    sl_code_range found;
    bool is_program;
} range_search;

static int visit_for_range(const sl_elf_view *view, void *search_ptr) {
    range_search *search = search_ptr;
    if (!sl_elf_contains(view, search->address))
        return 0;
    search->is_program = !view->path[0];
    search->found = (sl_code_range){view->low, view->high};
    return 1;
}

static range_search find_range(const void *address) {
    range_search search = {address, {0, 0}, false};
    if (address)
        sl_elf_each(visit_for_range, &search);
    return search;
}

static int visit_for_eval(const sl_elf_view *view, void *found) {
    uint32_t idx = sl_elf_find_index(view, "_PyEval_EvalFrameDefault");
    if (!idx)
        return 0;
    uintptr_t at = view->base + view->symbols[idx].st_value;
    *(sl_code_range *)found = (sl_code_range){at, at + view->symbols[idx].st_size};
    return 1;
}

bool sl_native_can_walk(void) {
#if defined(__x86_64__)
    *(void **)&find_object = sl_elf_find_original("_dl_find_object", sl_hooks);
    reason = !find_object ? "it needs glibc 2.35 or newer" : "";
    if (find_object && !sl_key_cache_init(&rules))
        reason = "out of memory";
    range_search own = find_range(sl_hooks);
    recorder = own.is_program ? (sl_code_range){0, 0} : own.found; /* tests are linked to it */
    interpreter = find_range(sl_elf_find_original("PyGILState_GetThisThreadState", sl_hooks)).found;
    eval = (sl_code_range){0, 0};
    sl_elf_each(visit_for_eval, &eval);
#else
    reason = "only x86-64 is supported";
#endif
    return !*reason;
}

sl_native_state sl_native_attach(void) {
    if (sl_native_can_walk() && (!sl_key_cache_init(&frames) || !sl_key_cache_init(&stacks)))
        reason = "out of memory";
    sl_native_names_start();
    sl_native_state state = *reason ? SL_NATIVE_REFUSED : SL_NATIVE_ON;
    atomic_store_explicit(&sl_native_current, (int)state, memory_order_release);
    return state;
}

void sl_native_detach(void) {
    atomic_store_explicit(&sl_native_current, SL_NATIVE_OFF, memory_order_release);
}

const char *sl_native_get_reason(void) {
    return reason;
}

void sl_native_clear(void) {
    sl_key_cache_clear(&frames);
    sl_key_cache_clear(&stacks);
}

/* --- The walk -------------------------------------------------------------------------------- */

typedef struct machine_state {
    uintptr_t pc, sp, fp;
    bool has_fp;
} machine_state;

/* The library of the frame at hand; most frames are in the same one as the frame before. */
typedef struct object_cursor {
    sl_cfi_object object;
    const struct link_map *map;
    uint64_t identity; /* (N1) */
} object_cursor;

static bool find_code(object_cursor *cursor, uintptr_t at) {
    found_object found;
    if (SL_LIKELY(at >= cursor->object.low && at < cursor->object.high))
        return true;
    cursor->object = (sl_cfi_object){0, 0, NULL};
    if (find_object((void *)at, &found) != 0)
        return false;
    cursor->object =
        (sl_cfi_object){(uintptr_t)found.map_start, (uintptr_t)found.map_end, found.eh_frame};
    cursor->map = found.map;
    uint64_t section_headers; /* another build of the same file has them elsewhere */
    memcpy(&section_headers, (const char *)found.map_start + offsetof(Elf64_Ehdr, e_shoff),
           sizeof section_headers);
    cursor->identity = sl_key_mix((uintptr_t)found.map ^ section_headers ^ SL_KEY_A,
                                  (uintptr_t)found.map_start ^ SL_KEY_B) |
                       1;
    return true;
}

static inline uint64_t key_of(const object_cursor *cursor, uintptr_t at) {
    return sl_key_mix(at ^ SL_KEY_A, cursor->identity ^ SL_KEY_B) | 1;
}

static __attribute__((noinline)) sl_cfi_rule find_rule(const object_cursor *cursor, uintptr_t at,
                                                       uint64_t key) {
    uintptr_t function;
    uint64_t value;
    sl_cfi_rule rule = sl_cfi_find(&cursor->object, at, &function);
    memcpy(&value, &rule, sizeof value);
    sl_key_cache_add(&rules, key, value);
    return rule;
}

static inline sl_cfi_rule rule_at(const object_cursor *cursor, uintptr_t at, uint64_t key) {
    uint64_t value = sl_key_cache_find(&rules, key).value;
    sl_cfi_rule rule;
    if (SL_UNLIKELY(!value))
        return find_rule(cursor, at, key);
    memcpy(&rule, &value, sizeof rule);
    return rule;
}

/* A word of the stack; false when it is not on it. */
static inline bool load_word(uintptr_t at, uintptr_t low, uintptr_t high, uintptr_t *value) {
    if (SL_UNLIKELY(at < low || at > high - sizeof *value || at % sizeof *value != 0))
        return false;
    memcpy(value, (const void *)at, sizeof *value);
    return true;
}

/* From a frame to its caller's. The stack pointer only ever rises, so a walk ends. */
static bool step(machine_state *state, sl_cfi_rule rule, uintptr_t stack_end) {
    uintptr_t low = state->sp, cfa;
    switch (rule.base) {
    case SL_CFI_SP: cfa = state->sp + (uintptr_t)(intptr_t)rule.cfa_off; break;
    case SL_CFI_FP: cfa = state->fp + (uintptr_t)(intptr_t)rule.cfa_off; break;
    case SL_CFI_FP_DEREF:
        if (!load_word(state->fp + (uintptr_t)(intptr_t)rule.cfa_off, low, stack_end, &cfa))
            return false;
        break;
    default: return false;
    }
    if ((rule.base != SL_CFI_SP && !state->has_fp) || cfa <= low || cfa > stack_end ||
        !load_word(cfa - sizeof cfa, low, stack_end, &state->pc))
        return false;
    uintptr_t fp_base = rule.fp == SL_CFI_FP_AT_CFA ? cfa : state->fp;
    if (rule.fp == SL_CFI_FP_AT_CFA || rule.fp == SL_CFI_FP_AT_FP)
        state->has_fp =
            load_word(fp_base + (uintptr_t)(intptr_t)rule.fp_off, low, stack_end, &state->fp);
    else if (rule.fp == SL_CFI_FP_LOST)
        state->has_fp = false;
    state->sp = cfa;
    return true;
}

static sl_native_end walk_from(machine_state *state, sl_native_stack *stack) {
    object_cursor cursor = {{0, 0, NULL}, NULL, 0};
    uintptr_t stack_end = sl_thread_stack_end(state->sp);
    uint64_t key = 0;
    sl_native_end end = SL_NATIVE_COMPLETE;
    stack->key = 0;
    if (SL_UNLIKELY(!stack_end))
        return SL_NATIVE_NO_STACK;
    for (;;) {
        /* A return address may be the first byte of the next function: the call is before it. */
        uintptr_t call = state->pc - 1;
        if (!find_code(&cursor, call)) {
            end = SL_NATIVE_NO_OBJECT;
            break;
        }
        if (is_in(eval, call))
            break;
        uint64_t frame_key = key_of(&cursor, state->pc);
        if (!is_in(recorder, call) && !is_in(interpreter, call)) {
            if (stack->depth == SL_NATIVE_DEPTH_MAX) {
                end = SL_NATIVE_TOO_DEEP;
                break;
            }
            stack->at[stack->depth++] = state->pc;
            key = sl_key_mix(key ^ frame_key, SL_KEY_B);
        }
        sl_cfi_rule rule = rule_at(&cursor, call, frame_key);
        if (rule.base == SL_CFI_END)
            break;
        if (!step(state, rule, stack_end)) {
            end = SL_NATIVE_NO_RULE;
            break;
        }
        if (!state->pc) /* the ABI marks the outermost frame so where it has no better way */
            break;
    }
    stack->key = key;
    return end;
}

/* Of the function that it is inlined into, which must not be inlined itself. */
static inline __attribute__((always_inline)) machine_state here(void) {
    machine_state state = {.has_fp = true};
#if defined(__x86_64__)
    __asm__ volatile("lea 0f(%%rip), %0\n"
                     "0: mov %%rsp, %1\n"
                     "mov %%rbp, %2\n"
                     : "=&r"(state.pc), "=&r"(state.sp), "=&r"(state.fp));
#endif
    return state;
}

__attribute__((noinline)) void sl_native_walk(sl_native_stack *stack) {
    machine_state state = here();
    stack->depth = 0;
    stack->end = walk_from(&state, stack);
}

bool sl_code_is_in(const sl_code_range *ranges, size_t cnt, uintptr_t at) {
    size_t low = 0, high = cnt; /* the last one that begins at or before it */
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ranges[mid].low <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && is_in(ranges[low - 1], at);
}

__attribute__((noinline)) uintptr_t sl_native_find_caller(const sl_code_range *skipped,
                                                          size_t cnt) {
    machine_state state = here();
    object_cursor cursor = {{0, 0, NULL}, NULL, 0};
    uintptr_t stack_end = sl_thread_stack_end(state.sp);
    for (unsigned depth = 0; stack_end && depth < SL_NATIVE_DEPTH_MAX; depth++) {
        uintptr_t call = state.pc - 1;
        if (!find_code(&cursor, call))
            return 0;
        if (!is_in(recorder, call) && !sl_code_is_in(skipped, cnt, call))
            return call;
        sl_cfi_rule rule = rule_at(&cursor, call, key_of(&cursor, state.pc));
        if (rule.base == SL_CFI_END || !step(&state, rule, stack_end) || !state.pc)
            return 0;
    }
    return 0;
}

/* --- Words ----------------------------------------------------------------------------------- */

#define TEXT_CAP 1024
#define OFF_CAP  32 /* "+0x" and 16 digits */

static size_t put_offset(char *to, uint64_t off) {
    unsigned digits = 1;
    while (digits < 16 && off >> (4 * digits))
        digits++;
    memcpy(to, "+0x", 3);
    for (unsigned i = 0; i < digits; i++)
        to[3 + i] = "0123456789abcdef"[off >> (4 * (digits - 1 - i)) & 15];
    return 3 + digits;
}

static uint32_t intern_frame(sl_log *log, const object_cursor *cursor, uintptr_t at,
                             bool *is_pending) {
    sl_native_code code = {.object = cursor->identity, .map = cursor->map, .at = at};
    char text[TEXT_CAP];
    sl_cfi_find(&cursor->object, at - 1, &code.function);
    sl_native_name name = sl_native_name_find(&code);
    *is_pending |= name.is_pending;
    size_t room = TEXT_CAP - OFF_CAP, len = name.symbol.len < room ? name.symbol.len : room;
    if (len)
        memcpy(text, name.symbol.ptr, len);
    len += put_offset(text + len, name.off);
    return sl_log_frame_of(log, (sl_str){text, len}, (sl_str){name.file, strlen(name.file)}, 0,
                           SL_FRAME_NATIVE);
}

static uint32_t find_frame(sl_log *log, object_cursor *cursor, uintptr_t at, bool *is_pending) {
    if (!find_code(cursor, at - 1)) /* it was there a moment ago */
        return 0;
    uint64_t key = key_of(cursor, at);
    uint32_t id = (uint32_t)sl_key_cache_find(&frames, key).value;
    if (id)
        return id;
    id = intern_frame(log, cursor, at, is_pending);
    if (id && !*is_pending)
        sl_key_cache_add(&frames, key, id);
    return id;
}

/* The pseudo frame at the outer end of a walk that could not finish. */
static uint32_t add_end_mark(sl_log *log, uint32_t base, sl_native_end end) {
    static const sl_str texts[] = {
        [SL_NATIVE_TOO_DEEP] = SL_STR("<more native frames>"),
        [SL_NATIVE_NO_OBJECT] = SL_STR("<code outside any library>"),
        [SL_NATIVE_NO_RULE] = SL_STR("<code without call frame information>"),
        [SL_NATIVE_NO_STACK] = SL_STR("<native stack of unknown size>"),
    };
    uint32_t frame = sl_log_frame_of(log, texts[end], SL_STR(""), 0, SL_FRAME_PSEUDO);
    return sl_log_stack_child(log, base, frame);
}

/* When a frame finds no room the Python stack alone is the answer, until the next time. */
static __attribute__((noinline)) uint32_t intern_stack(sl_log *log, const sl_native_stack *stack,
                                                       uint32_t base, bool *is_pending) {
    object_cursor cursor = {{0, 0, NULL}, NULL, 0};
    bool is_complete = stack->end == SL_NATIVE_COMPLETE;
    uint32_t id = is_complete ? base : add_end_mark(log, base, stack->end);
    bool is_lost = !is_complete && !id;
    for (uint32_t i = stack->depth; i-- > 0 && !is_lost;) {
        id = sl_log_stack_child(log, id, find_frame(log, &cursor, stack->at[i], is_pending));
        is_lost = !id;
    }
    *is_pending |= is_lost;
    return is_lost ? base : id;
}

static uint32_t add_walked(sl_log *log, uint32_t base, const sl_native_stack *stack) {
    uint64_t key =
        sl_key_mix(stack->key ^ base ^ (uint64_t)stack->end << 32 ^ SL_KEY_A, SL_KEY_B) | 1;
    uint64_t known = sl_key_cache_find(&stacks, key).value;
    if (SL_LIKELY(known))
        return (uint32_t)known;
    bool is_pending = false;
    uint32_t id = intern_stack(log, stack, base, &is_pending);
    if (id && !is_pending) /* with a frame that has no name yet it is made again the next time */
        sl_key_cache_add(&stacks, key, id);
    return id;
}

uint32_t sl_native_walk_and_add(sl_log *log, uint32_t base) {
    sl_native_stack stack;
    sl_native_walk(&stack);
    return add_walked(log, base, &stack);
}

uint32_t sl_native_walk_and_add_from(sl_log *log, uint32_t base, uintptr_t caller) {
    sl_native_stack stack;
    sl_native_walk(&stack);
    uint32_t first = 0;
    while (first < stack.depth && stack.at[first] != caller)
        first++;
    if (first > 0 && first < stack.depth) {
        stack.depth -= first;
        memmove(stack.at, stack.at + first, stack.depth * sizeof stack.at[0]);
        stack.key = sl_key_mix(stack.key ^ first, SL_KEY_A);
    }
    return add_walked(log, base, &stack);
}
