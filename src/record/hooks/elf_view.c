/* SPDX-License-Identifier: MIT */
#include "record/hooks/elf_view.h"

#include <string.h>

static void find_extent(sl_elf_view *view, const struct dl_phdr_info *info) {
    view->low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_GNU_RELRO) {
            view->relro_at = at;
            view->relro_bytes = segment->p_memsz;
        }
        if (segment->p_type != PT_LOAD)
            continue;
        if (at < view->low)
            view->low = at;
        if (at + segment->p_memsz > view->high)
            view->high = at + segment->p_memsz;
    }
}

static const Elf64_Dyn *find_dynamic(const struct dl_phdr_info *info) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const Elf64_Dyn *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* glibc has already added the load bias to most pointers, except where the section is read-only
 * (the vDSO); an address that lies below the object is therefore taken as relative. NULL when it
 * does not lie inside the object either way. */
static const void *at_address(const sl_elf_view *view, Elf64_Addr value) {
    uintptr_t at = value;
    if (at < view->low)
        at += view->base;
    return at >= view->low && at < view->high ? (const void *)at : NULL;
}

static void take_entry(sl_elf_view *view, const Elf64_Dyn *entry) {
    switch (entry->d_tag) {
    case DT_SYMTAB: view->symbols = at_address(view, entry->d_un.d_ptr); break;
    case DT_STRTAB: view->strings = at_address(view, entry->d_un.d_ptr); break;
    case DT_STRSZ: view->string_bytes = entry->d_un.d_val; break;
    case DT_GNU_HASH: view->gnu_hash = at_address(view, entry->d_un.d_ptr); break;
    case DT_HASH: view->sysv_hash = at_address(view, entry->d_un.d_ptr); break;
    case DT_JMPREL: view->plt_relocs = at_address(view, entry->d_un.d_ptr); break;
    case DT_PLTRELSZ: view->plt_reloc_cnt = entry->d_un.d_val / sizeof(Elf64_Rela); break;
    case DT_RELA: view->data_relocs = at_address(view, entry->d_un.d_ptr); break;
    case DT_RELASZ: view->data_reloc_cnt = entry->d_un.d_val / sizeof(Elf64_Rela); break;
    default: break;
    }
}

bool sl_elf_view_init(sl_elf_view *view, const struct dl_phdr_info *info) {
    *view = (sl_elf_view){.base = info->dlpi_addr, .path = info->dlpi_name ? info->dlpi_name : ""};
    find_extent(view, info);
    const Elf64_Dyn *entry = find_dynamic(info);
    if (!entry)
        return false;
    view->dynamic = entry;
    for (; entry->d_tag != DT_NULL; entry++)
        take_entry(view, entry);
    if (!view->plt_relocs)
        view->plt_reloc_cnt = 0;
    if (!view->data_relocs)
        view->data_reloc_cnt = 0;
    return view->symbols && view->strings;
}

static bool is_match(const sl_elf_view *view, uint32_t idx, const char *name) {
    const Elf64_Sym *symbol = &view->symbols[idx];
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
           ELF64_ST_TYPE(symbol->st_info) != STT_TLS &&
           ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC &&
           symbol->st_name < view->string_bytes &&
           strcmp(view->strings + symbol->st_name, name) == 0;
}

static uint32_t gnu_hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

/* Table: bucket count, first symbol, bloom words, bloom shift; bloom filter, buckets, chains. */
static uint32_t find_in_gnu_hash(const sl_elf_view *view, const char *name) {
    const uint32_t *table = view->gnu_hash;
    uint32_t bucket_cnt = table[0], first = table[1], bloom_cnt = table[2];
    const uint32_t *buckets = table + 4 + bloom_cnt * (sizeof(Elf64_Addr) / 4);
    const uint32_t *chains = buckets + bucket_cnt;
    uint32_t hash = gnu_hash_of(name);
    if (!bucket_cnt)
        return 0;
    for (uint32_t idx = buckets[hash % bucket_cnt]; idx >= first; idx++) {
        uint32_t chain = chains[idx - first];
        if ((chain | 1) == (hash | 1) && is_match(view, idx, name))
            return idx;
        if (chain & 1)
            break;
    }
    return 0;
}

static uint32_t find_in_sysv_hash(const sl_elf_view *view, const char *name) {
    uint32_t symbol_cnt = view->sysv_hash[1]; /* chain count = symbol count */
    for (uint32_t idx = 1; idx < symbol_cnt; idx++)
        if (is_match(view, idx, name))
            return idx;
    return 0;
}

/* DT_GNU_HASH knows its last symbol only as the end of the last chain. */
static size_t count_in_gnu_hash(const uint32_t *table) {
    uint32_t bucket_cnt = table[0], first = table[1], bloom_cnt = table[2], last = 0;
    const uint32_t *buckets = table + 4 + bloom_cnt * (sizeof(Elf64_Addr) / 4);
    const uint32_t *chains = buckets + bucket_cnt;
    for (uint32_t i = 0; i < bucket_cnt; i++)
        if (buckets[i] > last)
            last = buckets[i];
    if (last < first)
        return first;
    while (!(chains[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

size_t sl_elf_symbol_cnt(const sl_elf_view *view) {
    if (view->gnu_hash)
        return count_in_gnu_hash(view->gnu_hash);
    return view->sysv_hash ? view->sysv_hash[1] : 0;
}

uint32_t sl_elf_find_index(const sl_elf_view *view, const char *name) {
    if (view->gnu_hash)
        return find_in_gnu_hash(view, name);
    return view->sysv_hash ? find_in_sysv_hash(view, name) : 0;
}

void *sl_elf_find_symbol(const sl_elf_view *view, const char *name) {
    uint32_t idx = sl_elf_find_index(view, name);
    return idx ? (void *)(view->base + view->symbols[idx].st_value) : NULL;
}

typedef struct each_call {
    int (*visit)(const sl_elf_view *view, void *arg);
    void *arg;
} each_call;

static int visit_info(struct dl_phdr_info *info, size_t size, void *call_ptr) {
    SL_UNUSED(size);
    const each_call *call = call_ptr;
    sl_elf_view view;
    return sl_elf_view_init(&view, info) ? call->visit(&view, call->arg) : 0;
}

int sl_elf_each(int (*visit)(const sl_elf_view *view, void *arg), void *arg) {
    each_call call = {visit, arg};
    return dl_iterate_phdr(visit_info, &call);
}

typedef struct original_search {
    const char *name;
    const void *not_here;
    void *found;
} original_search;

static int visit_for_original(const sl_elf_view *view, void *search_ptr) {
    original_search *search = search_ptr;
    if (sl_elf_contains(view, search->not_here))
        return 0;
    search->found = sl_elf_find_symbol(view, search->name);
    return search->found != NULL;
}

void *sl_elf_find_original(const char *name, const void *not_here) {
    original_search search = {name, not_here, NULL};
    sl_elf_each(visit_for_original, &search);
    return search.found;
}

typedef struct any_search {
    const char *name;
    void *found;
} any_search;

static int visit_for_any(const sl_elf_view *view, void *search_ptr) {
    any_search *search = search_ptr;
    search->found = sl_elf_find_symbol(view, search->name);
    return search->found != NULL;
}

void *sl_elf_find_anywhere(const char *name) {
    any_search search = {name, NULL};
    sl_elf_each(visit_for_any, &search);
    return search.found;
}

const char *sl_elf_name(const sl_elf_view *view) {
    const char *slash = strrchr(view->path, '/');
    return slash ? slash + 1 : view->path;
}

const char *sl_elf_soname(const sl_elf_view *view) {
    for (const Elf64_Dyn *entry = view->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME && entry->d_un.d_val < view->string_bytes)
            return view->strings + entry->d_un.d_val;
    return sl_elf_name(view);
}
