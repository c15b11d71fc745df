/* SPDX-License-Identifier: MIT */
#include "record/hook_table.h"

#include <string.h>

#include "record/elf_view.h"
#include "record/hook_cuda.h"
#include "record/hook_torch.h"

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
    if (sl_elf_contains(view, sl_hooks) ||
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

typedef struct library_search {
    const char *name;
    definer_range *range;
} library_search;

static int visit_for_range(const sl_elf_view *view, void *search_ptr) {
    const library_search *search = search_ptr;
    if (strncmp(sl_elf_name(view), search->name, strlen(search->name)) != 0)
        return 0;
    atomic_store(&search->range->high, view->high);
    atomic_store(&search->range->low, view->low);
    return 1;
}

bool sl_hook_is_in_library(const char *name, const void *address) {
    static definer_range range;
    uintptr_t low = atomic_load_explicit(&range.low, memory_order_acquire);
    if (SL_UNLIKELY(!low)) {
        library_search search = {name, &range};
        sl_elf_each(visit_for_range, &search);
        low = atomic_load(&range.low);
    }
    return low && (uintptr_t)address >= low && (uintptr_t)address < atomic_load(&range.high);
}

SL_HOT bool sl_hook_is_in_definer(sl_hook_id id, const void *address) {
    uintptr_t low = atomic_load_explicit(&definers[id].low, memory_order_acquire);
    if (!low) {
        sl_hook_find_original(id);
        low = atomic_load(&definers[id].low);
    }
    return (uintptr_t)address >= low && (uintptr_t)address < atomic_load(&definers[id].high);
}
