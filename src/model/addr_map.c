/* SPDX-License-Identifier: MIT */
#include "model/addr_map.h"

#include <stdlib.h>

#define FIRST_LOG2 10

/* Fibonacci hashing: addresses are multiples of 512, so the high bits of the product are used. */
static size_t home(const sl_addr_map *map, uint64_t addr) {
    return (size_t)((addr * 0x9e3779b97f4a7c15u) >> map->shift);
}

/* The slot of this address, or the empty one where it belongs. */
static size_t probe(const sl_addr_map *map, uint64_t addr) {
    size_t i = home(map, addr);
    while (map->slots[i].value_plus_1 && map->slots[i].addr != addr)
        i = (i + 1) & map->mask;
    return i;
}

static bool grow(sl_addr_map *map) {
    unsigned log2 = map->slots ? 64 - map->shift + 1 : FIRST_LOG2;
    sl_addr_map bigger = {calloc((size_t)1 << log2, sizeof *bigger.slots), ((size_t)1 << log2) - 1,
                          map->cnt, 64 - log2};
    if (!bigger.slots)
        return false;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].value_plus_1)
            bigger.slots[probe(&bigger, map->slots[i].addr)] = map->slots[i];
    free(map->slots);
    *map = bigger;
    return true;
}

uint32_t sl_addr_map_find(const sl_addr_map *map, uint64_t addr) {
    if (!map->slots)
        return SL_ADDR_NONE;
    return map->slots[probe(map, addr)].value_plus_1 - 1;
}

bool sl_addr_map_put(sl_addr_map *map, uint64_t addr, uint32_t value) {
    if ((!map->slots || map->cnt * 2 > map->mask) && !grow(map))
        return false;
    size_t i = probe(map, addr);
    map->cnt += !map->slots[i].value_plus_1;
    map->slots[i] = (sl_addr_slot){addr, value + 1};
    return true;
}

/* Whether an entry at `at` whose home is `from` may move to the hole at `to` (all modulo size). */
static bool may_move(const sl_addr_map *map, size_t from, size_t at, size_t to) {
    return ((at - from) & map->mask) >= ((at - to) & map->mask);
}

uint32_t sl_addr_map_remove(sl_addr_map *map, uint64_t addr) {
    if (!map->slots)
        return SL_ADDR_NONE;
    size_t hole = probe(map, addr);
    uint32_t value = map->slots[hole].value_plus_1 - 1;
    if (value == SL_ADDR_NONE)
        return value;
    map->cnt--;
    for (size_t i = (hole + 1) & map->mask; map->slots[i].value_plus_1; i = (i + 1) & map->mask) {
        if (!may_move(map, home(map, map->slots[i].addr), i, hole))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].value_plus_1 = 0;
    return value;
}

void sl_addr_map_fini(sl_addr_map *map) {
    free(map->slots);
    *map = (sl_addr_map){0};
}
