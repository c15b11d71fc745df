/* SPDX-License-Identifier: MIT */
/* A loaded ELF object as the dynamic linker mapped it: its symbols and its relocations. Nothing is
 * opened or locked beyond what dl_iterate_phdr does itself; tables are used only when they lie
 * inside the object's own segments. */
#ifndef SL_ELF_VIEW_H
#define SL_ELF_VIEW_H

#include <link.h>

#include "base/core/sl_base.h"

typedef struct sl_elf_view {
    uintptr_t base;   /* load bias */
    uintptr_t low;    /* first byte of the lowest segment */
    uintptr_t high;   /* one past the highest */
    const char *path; /* borrowed from the linker; "" for the program itself */
    const Elf64_Dyn *dynamic;
    const Elf64_Sym *symbols;
    const char *strings;
    size_t string_bytes;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const Elf64_Rela *plt_relocs; /* JUMP_SLOT */
    size_t plt_reloc_cnt;
    const Elf64_Rela *data_relocs; /* GLOB_DAT among others */
    size_t data_reloc_cnt;
    uintptr_t relro_at; /* made read-only after start; 0 = none */
    size_t relro_bytes;
} sl_elf_view;

/* False when the object has no usable dynamic section. */
bool sl_elf_view_init(sl_elf_view *view, const struct dl_phdr_info *info);

/* How many dynamic symbols it has; 0 without a hash table. */
size_t sl_elf_symbol_cnt(const sl_elf_view *view);

/* Index of a symbol this object defines, 0 when it does not. */
uint32_t sl_elf_find_index(const sl_elf_view *view, const char *name);

/* Address of a symbol this object defines, NULL when it does not. */
void *sl_elf_find_symbol(const sl_elf_view *view, const char *name);

/* Address of a symbol in the first loaded object that defines it, leaving out the object that
 * contains `not_here`. NULL when there is none. */
void *sl_elf_find_original(const char *name, const void *not_here);

/* Calls visit for each loaded object until it returns other than 0; that is the result. */
int sl_elf_each(int (*visit)(const sl_elf_view *view, void *arg), void *arg);

static inline bool sl_elf_contains(const sl_elf_view *view, const void *address) {
    return (uintptr_t)address >= view->low && (uintptr_t)address < view->high;
}

/* The name others link to it by, else the last part of its path. */
const char *sl_elf_soname(const sl_elf_view *view);

/* Last part of the object's path, "" for the program itself. */
/* The first definition in any library that is loaded, also in one that is not in the global scope. Unlike dlsym it
 * takes no lock that a library's constructor runs under, and no memory. NULL when there is none. */
void *sl_elf_find_anywhere(const char *name);

const char *sl_elf_name(const sl_elf_view *view);

#endif
