/* SPDX-License-Identifier: MIT */
#include "record/hooks/got_patch.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/core/record_claim.h"
#include "record/hooks/elf_view.h"
#include "record/hooks/hook_table.h"

#if defined(__x86_64__)
#define RELOC_JUMP_SLOT R_X86_64_JUMP_SLOT
#define RELOC_GLOB_DAT  R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define RELOC_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define RELOC_GLOB_DAT  R_AARCH64_GLOB_DAT
#endif

#define PATCH_MAX        1024
#define SEEN_MAX         4096
#define BATCH_MAX        64
#define LIBRARY_PATH_CAP 1024
#define NEEDED_MAX       512
#define OPENED_MAX       64

typedef struct got_slot {
    _Atomic(void *) *at;
    void *before;
    bool is_relro;
} got_slot;

static got_slot patched[PATCH_MAX];
static size_t patched_cnt, failed_cnt;
static unsigned long long seen_adds, seen_subs;
static uintptr_t seen[SEEN_MAX]; /* lowest address of each library that was scanned */
static size_t seen_cnt;
static const Elf64_Dyn *opened[OPENED_MAX]; /* the last library of sl_got_patch_opened */
static size_t opened_cnt;
static atomic_flag is_busy = ATOMIC_FLAG_INIT; /* nobody waits for it */
static atomic_int waiting_cnt; /* threads of ours that wait for the loader's lock, perhaps */

/* The symbol index each hook has in one library; 0 = it does not import it. */
typedef struct hook_indexes {
    uint32_t at[SL_HOOK_CNT];
} hook_indexes;

/* Imports are before the hashed symbols of DT_GNU_HASH; what the library defines itself, and
 * calls through its own slots, is found by the hash. */
static bool may_be_hook(const char *name) {
    return *name && strchr(SL_HOOK_FIRST_LETTERS, *name) != NULL;
}

static bool find_indexes(const sl_elf_view *view, hook_indexes *out) {
    bool is_any = false;
    uint32_t import_cnt = view->gnu_hash    ? view->gnu_hash[1]
                          : view->sysv_hash ? view->sysv_hash[1]
                                            : 0;
    for (unsigned id = 0; id < SL_HOOK_CNT; id++) {
        out->at[id] = sl_elf_find_index(view, sl_hooks[id].symbol);
        is_any |= out->at[id] != 0;
    }
    for (uint32_t i = 1; i < import_cnt; i++) {
        uint32_t name = view->symbols[i].st_name;
        if (name >= view->string_bytes || !may_be_hook(view->strings + name))
            continue;
        for (unsigned id = 0; id < SL_HOOK_CNT; id++)
            if (strcmp(view->strings + name, sl_hooks[id].symbol) == 0) {
                out->at[id] = i;
                is_any = true;
            }
    }
    return is_any;
}

static bool set_protection(const void *at, int protection) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)at & ~(page - 1);
    return mprotect((void *)start, page, protection) == 0;
}

/* Not memcpy: another thread may be calling through the slot, so it must change in one store (R1). */
static bool write_slot(const got_slot *slot, void *value) {
    if (slot->is_relro && !set_protection((void *)slot->at, PROT_READ | PROT_WRITE))
        return false;
    atomic_store_explicit(slot->at, value, memory_order_release);
    if (slot->is_relro)
        set_protection((void *)slot->at, PROT_READ);
    return true;
}

/* A slot that was never called holds the library's own lazy-binding stub, which would write over
 * our patch; anything else is what the program calls today, perhaps another tool's hook. */
static void keep_original(const sl_elf_view *view, unsigned id, void *before) {
    void *none = NULL;
    bool is_stub = sl_elf_contains(view, before) && !sl_elf_find_symbol(view, sl_hooks[id].symbol);
    if (before && !is_stub)
        atomic_compare_exchange_strong(&sl_hooks[id].original, &none, before);
}

static void patch_slot(const sl_elf_view *view, unsigned id, uintptr_t address) {
    if (!sl_elf_contains(view, (void *)address) || address % sizeof(void *) != 0)
        return;
    got_slot slot = {
        .at = (_Atomic(void *) *)address,
        .is_relro = address >= view->relro_at && address < view->relro_at + view->relro_bytes,
    };
    slot.before = atomic_load(slot.at);
    if (slot.before == sl_hooks[id].replacement)
        return;
    keep_original(view, id, slot.before);
    if (patched_cnt == PATCH_MAX || !write_slot(&slot, sl_hooks[id].replacement)) {
        failed_cnt++;
        return;
    }
    patched[patched_cnt++] = slot;
}

static void patch_relocs(const sl_elf_view *view, const hook_indexes *indexes,
                         const Elf64_Rela *relocs, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(relocs[i].r_info);
        uint32_t symbol = (uint32_t)ELF64_R_SYM(relocs[i].r_info);
        if (!symbol || (type != RELOC_JUMP_SLOT && type != RELOC_GLOB_DAT))
            continue;
        for (unsigned id = 0; id < SL_HOOK_CNT; id++)
            if (indexes->at[id] == symbol)
                patch_slot(view, id, view->base + relocs[i].r_offset);
    }
}

/* A library in the linker's list may still be on its way: not relocated, its pages not in their final
 * protection. dlopen(RTLD_NOLOAD) waits for the loader's lock, and so until whoever loads it is done;
 * the handle then keeps it from going away. It must not be called from inside dl_iterate_phdr, so
 * new libraries are first collected, then patched one by one. */
typedef struct library {
    uintptr_t low;
    char path[LIBRARY_PATH_CAP];
} library;

typedef struct library_batch {
    library at[BATCH_MAX];
    size_t cnt;
} library_batch;

static bool is_seen(uintptr_t low) {
    for (size_t i = 0; i < seen_cnt; i++)
        if (seen[i] == low)
            return true;
    return false;
}

static void set_seen(uintptr_t low) {
    if (seen_cnt < SEEN_MAX)
        seen[seen_cnt++] = low;
}

static int collect_library(const sl_elf_view *view, void *batch_ptr) {
    library_batch *batch = batch_ptr;
    size_t len = strlen(view->path);
    if (is_seen(view->low))
        return 0;
    if (sl_record_claim_is_in(view) || len >= LIBRARY_PATH_CAP) {
        set_seen(view->low);
        return 0;
    }
    library *row = &batch->at[batch->cnt++];
    row->low = view->low;
    memcpy(row->path, view->path, len + 1);
    return batch->cnt == BATCH_MAX;
}

static void patch_view(const sl_elf_view *view) {
    hook_indexes indexes;
    if (!find_indexes(view, &indexes))
        return;
    patch_relocs(view, &indexes, view->plt_relocs, view->plt_reloc_cnt);
    patch_relocs(view, &indexes, view->data_relocs, view->data_reloc_cnt);
}

static int patch_library(const sl_elf_view *view, void *low) {
    if (view->low != *(const uintptr_t *)low)
        return 0;
    patch_view(view);
    return 1;
}

/* It has the loader's lock for a moment only, so a call that lasts waits for somebody else. */
static void *open_loaded(const char *path) {
    atomic_fetch_add(&waiting_cnt, 1);
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    atomic_fetch_sub(&waiting_cnt, 1);
    return handle;
}

static void patch_when_ready(const library *row) {
    void *handle = open_loaded(row->path[0] ? row->path : NULL);
    if (handle) { /* not for the vDSO, or when it is gone again */
        sl_elf_each(patch_library, (void *)&row->low);
        dlclose(handle);
    }
    set_seen(row->low);
}

static void patch_new_libraries(void) {
    static library_batch batch; /* under is_busy */
    do {
        batch.cnt = 0;
        sl_elf_each(collect_library, &batch);
        for (size_t i = 0; i < batch.cnt; i++)
            patch_when_ready(&batch.at[i]);
    } while (batch.cnt == BATCH_MAX && seen_cnt < SEEN_MAX);
}

typedef struct load_counts {
    unsigned long long adds, subs;
} load_counts;

static int visit_for_counts(struct dl_phdr_info *info, size_t size, void *counts_ptr) {
    SL_UNUSED(size);
    *(load_counts *)counts_ptr = (load_counts){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

static load_counts read_counts(void) {
    load_counts counts = {0, 0};
    dl_iterate_phdr(visit_for_counts, &counts);
    return counts;
}

typedef struct slot_search {
    const void *address;
    bool is_loaded;
} slot_search;

static int visit_for_slot(const sl_elf_view *view, void *search_ptr) {
    slot_search *search = search_ptr;
    search->is_loaded = sl_elf_contains(view, search->address);
    return search->is_loaded;
}

static bool is_loaded(const got_slot *slot) {
    slot_search search = {(const void *)slot->at, false};
    sl_elf_each(visit_for_slot, &search);
    return search.is_loaded;
}

/* Slots of libraries that were unloaded must not be written to any more. */
static void forget_unloaded(void) {
    size_t kept = 0;
    for (size_t i = 0; i < patched_cnt; i++)
        if (is_loaded(&patched[i]))
            patched[kept++] = patched[i];
    patched_cnt = kept;
}

/* A new library may lie where an old one was. */
static void note_unloads(unsigned long long subs) {
    if (subs == seen_subs)
        return;
    seen_subs = subs;
    seen_cnt = 0;
    opened_cnt = 0;
    forget_unloaded();
}

static bool begin(void) {
    return !atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire);
}

static void end(void) {
    atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

void sl_got_patch_if_changed(void) {
    if (!begin())
        return;
    load_counts counts = read_counts();
    note_unloads(counts.subs);
    if (counts.adds != seen_adds) {
        seen_adds = counts.adds;
        patch_new_libraries();
    }
    end();
}

/* --- One library, known to be loaded ---------------------------------------------------------- */

/* The names it needs, and what those need. */
typedef struct needed_walk {
    const Elf64_Dyn *opened; /* dynamic section of the library itself */
    const char *names[NEEDED_MAX];
    size_t name_cnt;
    bool has_more;
} needed_walk;

static bool is_needed(const needed_walk *walk, const sl_elf_view *view) {
    const char *name = sl_elf_soname(view);
    for (size_t i = 0; i < walk->name_cnt; i++)
        if (strcmp(walk->names[i], name) == 0)
            return true;
    return view->dynamic == walk->opened;
}

static void add_needed(needed_walk *walk, const sl_elf_view *view) {
    for (const Elf64_Dyn *entry = view->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && entry->d_un.d_val < view->string_bytes &&
            walk->name_cnt < NEEDED_MAX)
            walk->names[walk->name_cnt++] = view->strings + entry->d_un.d_val;
}

static int visit_needed(const sl_elf_view *view, void *walk_ptr) {
    needed_walk *walk = walk_ptr;
    if (is_seen(view->low) || !is_needed(walk, view))
        return 0;
    set_seen(view->low);
    if (!sl_record_claim_is_in(view))
        patch_view(view);
    add_needed(walk, view);
    walk->has_more = true;
    return 0;
}

static bool is_opened(const Elf64_Dyn *dynamic) {
    for (size_t i = 0; i < opened_cnt && i < OPENED_MAX; i++)
        if (opened[i] == dynamic)
            return true;
    return false;
}

static void patch_opened(const Elf64_Dyn *dynamic) {
    static needed_walk walk; /* under is_busy */
    walk = (needed_walk){.opened = dynamic};
    do {
        walk.has_more = false;
        sl_elf_each(visit_needed, &walk);
    } while (walk.has_more && seen_cnt < SEEN_MAX);
    opened[opened_cnt++ % OPENED_MAX] = dynamic;
}

void sl_got_patch_opened(void *handle) {
    struct link_map *map = NULL;
    if (!begin())
        return;
    note_unloads(read_counts().subs);
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && !is_opened(map->l_ld))
        patch_opened(map->l_ld);
    end();
}

bool sl_got_is_waiting(void) {
    return atomic_load(&waiting_cnt) > 0;
}

void sl_got_wait_for_loader(void) {
    void *program = open_loaded(NULL);
    if (program)
        dlclose(program);
}

void sl_got_after_fork_child(void) {
    atomic_store(&waiting_cnt, 0);
    atomic_flag_clear(&is_busy);
}

/* A thread may still be at it, in a dlsym of the program's. One that waits for the loader is not waited for:
 * what it has patched passes events by, and is restored the next time. */
static bool begin_in_time(void) {
    for (unsigned turn = 0; turn < 1u << 16; turn++) {
        if (begin())
            return true;
        sched_yield();
    }
    return false;
}

void sl_got_restore(void) {
    if (!begin_in_time())
        return;
    forget_unloaded();
    while (patched_cnt > 0) {
        const got_slot *slot = &patched[--patched_cnt];
        write_slot(slot, slot->before);
    }
    seen_adds = seen_subs = 0;
    seen_cnt = opened_cnt = 0;
    end();
}

size_t sl_got_patched_cnt(void) {
    return patched_cnt;
}

size_t sl_got_failed_cnt(void) {
    return failed_cnt;
}
