/* SPDX-License-Identifier: MIT */
/* The calling thread's frames of native code, from the caller of a hook up to the Python interpreter (or
 * to the start of the thread), put on top of a stack the log has already. Off unless asked for.
 *
 * On the event path nothing is allocated, locked or called but glibc's _dl_find_object, which is lock-free
 * and made for this (glibc 2.35; without it there are no native stacks). The rules for the way up are in
 * the libraries (cfi_rule.h) and cached by address. Only memory of the own stack is read (thread_stack.h).
 *
 * (N1) A library may be unloaded and another one loaded at its address. Everything that is cached is
 *      known by the address and an identity of the library: its entry in the linker's list, its place
 *      and its file header.
 * (N2) Code that no library contains (a JIT compiler's) ends the walk, as does a function without call
 *      frame information; a pseudo frame says so. Tables that a program registered for such code are not
 *      used: reading them means the C++ runtime's lock. */
#ifndef SL_NATIVE_STACK_H
#define SL_NATIVE_STACK_H

#include <stdatomic.h>

#include "log/write/log_writer.h"

/* Deeper stacks lose their outermost part. */
#define SL_NATIVE_DEPTH_MAX 96

typedef enum sl_native_state { SL_NATIVE_OFF, SL_NATIVE_REFUSED, SL_NATIVE_ON } sl_native_state;

/* Finds what is needed and maps the caches. Not for the event path. */
sl_native_state sl_native_attach(void);

void sl_native_detach(void);

/* Static text for SL_NATIVE_REFUSED, else "". */
const char *sl_native_get_reason(void);

/* Forgets every id: the log was replaced. Not while events run. */
void sl_native_clear(void);

/* Half-open range of code. */
typedef struct sl_code_range {
    uintptr_t low, high;
} sl_code_range;

/* Finds what walks need, whether stacks of native frames are wanted or not. False when there are none here. Not
 * for the event path. */
bool sl_native_can_walk(void);

/* Whether an address is in one of the ranges, which ascend. */
bool sl_code_is_in(const sl_code_range *ranges, size_t cnt, uintptr_t at);

/* An address inside the innermost call of the calling thread that is neither the recorder's nor in
 * one of these ranges, which ascend; 0 when unknown. Only after sl_native_can_walk has returned
 * true. */
uintptr_t sl_native_find_caller(const sl_code_range *skipped, size_t cnt);

/* How a walk ended. */
typedef enum sl_native_end {
    SL_NATIVE_COMPLETE,
    SL_NATIVE_TOO_DEEP,
    SL_NATIVE_NO_OBJECT, /* (N2) */
    SL_NATIVE_NO_RULE,
    SL_NATIVE_NO_STACK, /* its memory is not known (thread_stack.h), so nothing was read */
} sl_native_end;

typedef struct sl_native_stack {
    uint64_t key;
    uint32_t depth;
    sl_native_end end;
    uintptr_t at[SL_NATIVE_DEPTH_MAX]; /* return addresses, innermost first */
} sl_native_stack;

/* The calling thread's native frames, only after sl_native_attach has said SL_NATIVE_ON. */
void sl_native_walk(sl_native_stack *stack);

/* The stack `base` (0 = none) with the calling thread's native frames inside it; `base` itself when
 * native stacks are off. Slow path of sl_native_add. */
uint32_t sl_native_walk_and_add(sl_log *log, uint32_t base);

/* The same from the frame on that `caller` returns to; from the innermost one if it is 0 or not among them. */
uint32_t sl_native_walk_and_add_from(sl_log *log, uint32_t base, uintptr_t caller);

extern _Atomic(int) sl_native_current; /* sl_native_state */

static inline uint32_t sl_native_add(sl_log *log, uint32_t base) {
    if (SL_LIKELY(atomic_load_explicit(&sl_native_current, memory_order_acquire) != SL_NATIVE_ON))
        return base;
    return sl_native_walk_and_add(log, base);
}

static inline uint32_t sl_native_add_from(sl_log *log, uint32_t base, uintptr_t caller) {
    if (atomic_load_explicit(&sl_native_current, memory_order_acquire) != SL_NATIVE_ON)
        return base;
    return sl_native_walk_and_add_from(log, base, caller);
}

#endif
