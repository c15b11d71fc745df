/* SPDX-License-Identifier: MIT */
/* The full symbol table from a library's file. It names local functions too; only the dynamic table
 * is loaded into memory. Costs open, fstat, some pread, mmap and close: not for the event path. Any
 * thread. */
#ifndef SL_FILE_SYMBOLS_H
#define SL_FILE_SYMBOLS_H

#include <link.h>

#include "base/core/sl_base.h"

/* Symbols and the text of their names, in memory or mapped from the file. */
typedef struct sl_symbols {
    const Elf64_Sym *symbols;
    size_t cnt;
    const char *strings;
    size_t string_bytes;
} sl_symbols;

/* Maps the table of the file from which the library at `low` was loaded. False when the file has none, or is not
 * the one that was loaded. The mapping stays until sl_file_symbols_unmap. */
bool sl_file_symbols_map(const char *path, uintptr_t low, sl_symbols *out);
void sl_file_symbols_unmap(const sl_symbols *symbols);

/* The name of a symbol; "" when the table is damaged there. */
const char *sl_symbol_name(const sl_symbols *symbols, const Elf64_Sym *symbol);

#endif
