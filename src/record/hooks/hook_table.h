/* SPDX-License-Identifier: MIT */
/* The hooks as data: symbol, replacement, original. Originals are found on first use by reading the
 * loaded libraries' own symbol tables: dlsym(RTLD_NEXT) does not see torch's libraries, which
 * Python loads RTLD_LOCAL, and dlopen would take the loader's lock inside an allocation. */
#ifndef SL_HOOK_TABLE_H
#define SL_HOOK_TABLE_H

#include <stdatomic.h>

#include "base/core/sl_base.h"
#include "record/hooks/hook_symbols.h"

typedef struct sl_hook {
    const char *symbol;
    void *replacement;
    const char
        *library; /* file name of the definer begins so; "" = the next definer, as RTLD_NEXT */
    const char *meaning;
    _Atomic(void *) original; /* NULL = not looked for yet */
} sl_hook;

extern sl_hook sl_hooks[SL_HOOK_CNT];

/* Slow path of sl_hook_original. */
void *sl_hook_find_original(sl_hook_id id);

/* The function the program would have called without us; NULL when no library defines it. */
static inline void *sl_hook_original(sl_hook_id id) {
    void *original = atomic_load_explicit(&sl_hooks[id].original, memory_order_acquire);
    return SL_LIKELY(original) ? original : sl_hook_find_original(id);
}

/* The last answers about return addresses: address << 1 | answer. One memo for each name that is asked for. */
#define SL_CALLER_MEMO_CNT 64

typedef struct sl_caller_memo {
    _Atomic(uintptr_t) at[SL_CALLER_MEMO_CNT];
} sl_caller_memo;

/* Whether this return address lies in a library whose file name begins so. Looks through all libraries when
 * the address is not in the memo. Where a library was unloaded and another one has its place, the answer
 * may be the old one's. */
bool sl_hook_is_call_from(sl_caller_memo *memo, const char *name, const void *address);

/* Whether `address` lies in the library that defines the original of this hook. */
bool sl_hook_is_in_definer(sl_hook_id id, const void *address);

#endif
