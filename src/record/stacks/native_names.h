/* SPDX-License-Identifier: MIT */
/* Names for addresses of native code: the file it was loaded from and the function's symbol. The full
 * symbol table is used where the file still has one, else the dynamic one, which is in memory. Names are
 * looked up when an address is first seen, so that nothing is left to do after the process has died.
 *
 * The first address of a library costs open, fstat, some pread, mmap and close; later ones no system
 * call. Fixed memory but for the symbol tables' own pages and an index of 4 bytes a symbol, which is
 * bounded. Any thread, no lock; a thread that needs a library whose symbols another one is reading waits
 * for it, for a tenth of a second at most. */
#ifndef SL_NATIVE_NAMES_H
#define SL_NATIVE_NAMES_H

#include <link.h>

#include "base/core/sl_base.h"

typedef struct sl_native_code {
    uint64_t
        object; /* identity of the library, never 0; equal ones are the same load of the same file */
    const struct link_map *map;
    uintptr_t function; /* start of the code that contains the address, 0 = not known */
    uintptr_t at;       /* the address */
} sl_native_code;

typedef struct sl_native_name {
    const char *file; /* valid as long as the library is loaded */
    sl_str symbol;    /* empty when the library does not name its functions */
    uint64_t off;     /* of the address: from the symbol, else from the start of the library */
    bool is_pending;  /* another thread is reading the library's symbols: ask again later */
} sl_native_name;

/* Before the first name is asked for, and not on the event path. */
void sl_native_names_start(void);

/* In the child of a fork: what another thread was reading is read again. */
void sl_native_names_after_fork_child(void);

sl_native_name sl_native_name_find(const sl_native_code *code);

#endif
