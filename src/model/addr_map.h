/* SPDX-License-Identifier: MIT */
/* A map from device addresses to 32-bit values: open addressing with linear probing. Removal
 * shifts the run back, so the table never fills with tombstones however long the trace is.
 * One thread. */
#ifndef SL_ADDR_MAP_H
#define SL_ADDR_MAP_H

#include "base/core/sl_base.h"

typedef struct sl_addr_slot {
    uint64_t addr;
    uint32_t value_plus_1; /* 0 = empty */
} sl_addr_slot;

typedef struct sl_addr_map {
    sl_addr_slot *slots; /* owned */
    size_t mask;         /* slots - 1; 0 before the first entry */
    size_t cnt;
    unsigned shift; /* 64 - log2(slots) */
} sl_addr_map;

#define SL_ADDR_NONE UINT32_MAX /* not found; also not a value that can be stored */

/* The value at addr, or SL_ADDR_NONE. */
uint32_t sl_addr_map_find(const sl_addr_map *map, uint64_t addr);

/* Stores a value, over an older one if there is one; false when memory ran out. */
bool sl_addr_map_put(sl_addr_map *map, uint64_t addr, uint32_t value);

/* Removes the entry and returns its value, or SL_ADDR_NONE. */
uint32_t sl_addr_map_remove(sl_addr_map *map, uint64_t addr);

void sl_addr_map_fini(sl_addr_map *map);

#endif
