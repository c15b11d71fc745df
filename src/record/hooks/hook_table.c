/* SPDX-License-Identifier: MIT */
#include "record/hooks/hook_table.h"

#include <string.h>

#include "record/core/bus_guard.h"
#include "record/core/record_claim.h"
#include "record/hooks/elf_view.h"
#include "record/hooks/hook_cuda.h"
#include "record/hooks/hook_exit.h"
#include "record/hooks/hook_torch.h"
#include "record/torch/alloc_conf.h"

sl_hook sl_hooks[SL_HOOK_CNT] = {
#define SL_HOOK_ROW(id, symbol, replacement, library, meaning) \
    [SL_HOOK_##id] = {symbol, (void *)replacement, library, meaning, NULL},
    SL_HOOK_MAP(SL_HOOK_ROW)
#undef SL_HOOK_ROW
};

/* Address range of the library that defines a hook's original; 0 = not looked for yet. */
typedef struct definer_range {
    _Atomic(uintptr_t) low;
    _Atomic(uintptr_t) high;
} definer_range;

static definer_range definers[SL_HOOK_CNT];

typedef struct definer_search {
    sl_hook_id id;
    void *found;
} definer_search;

static int visit_library(const sl_elf_view *view, void *search_ptr) {
    definer_search *search = search_ptr;
    const sl_hook *hook = &sl_hooks[search->id];
    if (sl_record_claim_is_in(view) ||
        strncmp(sl_elf_name(view), hook->library, strlen(hook->library)) != 0)
        return 0;
    search->found = sl_elf_find_symbol(view, hook->symbol);
    if (!search->found)
        return 0;
    atomic_store(&definers[search->id].high, view->high);
    atomic_store(&definers[search->id].low, view->low);
    return 1;
}

void *sl_hook_find_original(sl_hook_id id) {
    definer_search search = {id, NULL};
    sl_elf_each(visit_library, &search);
    if (!search.found) /* a repackaged torch may have merged its libraries */
        search.found = sl_elf_find_original(sl_hooks[id].symbol, sl_hooks);
    void *none = NULL;
    if (search.found)
        atomic_compare_exchange_strong(&sl_hooks[id].original, &none, search.found);
    return search.found;
}

typedef struct caller_search {
    const char *name;
    const void *address;
    bool is_found;
} caller_search;

static int visit_for_caller(const sl_elf_view *view, void *search_ptr) {
    caller_search *search = search_ptr;
    if (!sl_elf_contains(view, search->address))
        return 0;
    search->is_found = strncmp(sl_elf_name(view), search->name, strlen(search->name)) == 0;
    return 1;
}

bool sl_hook_is_call_from(sl_caller_memo *memo, const char *name, const void *address) {
    uintptr_t key = (uintptr_t)address;
    _Atomic(uintptr_t) *slot = &memo->at[(key >> 4 ^ key >> 10) % SL_CALLER_MEMO_CNT];
    uintptr_t known = atomic_load_explicit(slot, memory_order_relaxed);
    if (SL_LIKELY(known >> 1 == key))
        return known & 1;
    caller_search search = {name, address, false};
    sl_elf_each(visit_for_caller, &search);
    atomic_store_explicit(slot, key << 1 | search.is_found, memory_order_relaxed);
    return search.is_found;
}

SL_HOT bool sl_hook_is_in_definer(sl_hook_id id, const void *address) {
    uintptr_t low = atomic_load_explicit(&definers[id].low, memory_order_acquire);
    if (!low) {
        sl_hook_find_original(id);
        low = atomic_load(&definers[id].low);
    }
    return (uintptr_t)address >= low && (uintptr_t)address < atomic_load(&definers[id].high);
}
