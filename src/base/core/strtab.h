/* SPDX-License-Identifier: MIT */
/* Interned strings: equal bytes get the same 32-bit id. Id 0 is the empty string. Bytes are
 * kept as they came (they need not be UTF-8) with a terminator after them. One thread. */
#ifndef SL_STRTAB_H
#define SL_STRTAB_H

#include "base/core/arena.h"
#include "base/core/vec.h"

#define SL_STR_NONE UINT32_MAX /* returned when memory ran out */

typedef struct sl_strtab {
    sl_arena arena;         /* owns the bytes */
    SL_VEC(sl_str) strings; /* id -> bytes */
    uint32_t *slots;        /* owned; open addressing, id + 1, 0 = empty */
    size_t slot_cnt;        /* a power of two, 0 before the first string */
} sl_strtab;

/* The id of these bytes, new or old; SL_STR_NONE when memory ran out. */
uint32_t sl_strtab_intern(sl_strtab *tab, const char *ptr, size_t len);

/* Borrowed, terminated, valid as long as the table. id must come from this table. */
static inline sl_str sl_strtab_get(const sl_strtab *tab, uint32_t id) {
    return id < tab->strings.cnt ? tab->strings.at[id] : SL_STR("");
}

void sl_strtab_fini(sl_strtab *tab);

/* The hash the tables of this program share: fast, not keyed. */
uint64_t sl_hash_bytes(const void *bytes, size_t len);

#endif
