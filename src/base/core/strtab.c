/* SPDX-License-Identifier: MIT */
#include "base/core/strtab.h"

#include <string.h>

#include "base/core/str.h"

static uint64_t mix(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Multiply-fold over 16-byte steps; the overlapping tail reads keep it branch-poor. */
uint64_t sl_hash_bytes(const void *bytes, size_t len) {
    const unsigned char *p = bytes;
    const uint64_t k1 = 0x9e3779b97f4a7c15u, k2 = 0xd6e8feb86659fd93u;
    uint64_t h = k1 ^ len, a = 0, b = 0;
    size_t left = len;
    for (; left > 16; left -= 16, p += 16) {
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        h = mix(h ^ a ^ k1, b ^ k2);
    }
    a = b = 0;
    if (left >= 8) {
        memcpy(&a, p, 8);
        memcpy(&b, p + left - 8, 8);
    } else if (left) {
        memcpy(&a, p, left);
    }
    return mix(mix(h ^ a ^ k1, b ^ k2), k1);
}

/* The slot that holds these bytes, or the empty one where they belong. */
static size_t find_slot(const sl_strtab *tab, const char *ptr, size_t len) {
    size_t mask = tab->slot_cnt - 1;
    size_t i = (size_t)sl_hash_bytes(ptr, len) & mask;
    while (tab->slots[i] && !sl_str_equals(tab->strings.at[tab->slots[i] - 1], (sl_str){ptr, len}))
        i = (i + 1) & mask;
    return i;
}

static bool rehash(sl_strtab *tab, size_t slot_cnt) {
    uint32_t *slots = calloc(slot_cnt, sizeof *slots);
    if (!slots)
        return false;
    free(tab->slots);
    tab->slots = slots;
    tab->slot_cnt = slot_cnt;
    for (size_t id = 0; id < tab->strings.cnt; id++) {
        sl_str s = tab->strings.at[id];
        tab->slots[find_slot(tab, s.ptr, s.len)] = (uint32_t)id + 1;
    }
    return true;
}

static bool make_room(sl_strtab *tab) {
    if (tab->slot_cnt == 0) {
        if (!rehash(tab, 256))
            return false;
        if (tab->strings.cnt == 0 && !sl_vec_push(&tab->strings, SL_STR("")))
            return false;
        tab->slots[find_slot(tab, "", 0)] = 1;
    }
    if (tab->strings.cnt * 2 < tab->slot_cnt)
        return true;
    return tab->strings.cnt < SL_STR_NONE - 1 && rehash(tab, tab->slot_cnt * 2);
}

uint32_t sl_strtab_intern(sl_strtab *tab, const char *ptr, size_t len) {
    if (!make_room(tab))
        return SL_STR_NONE;
    size_t slot = find_slot(tab, ptr, len);
    if (tab->slots[slot])
        return tab->slots[slot] - 1;
    char *copy = sl_arena_copy(&tab->arena, ptr, len);
    if (!copy || !sl_vec_push(&tab->strings, ((sl_str){copy, len})))
        return SL_STR_NONE;
    tab->slots[slot] = (uint32_t)tab->strings.cnt;
    return (uint32_t)tab->strings.cnt - 1;
}

void sl_strtab_fini(sl_strtab *tab) {
    sl_arena_fini(&tab->arena);
    sl_vec_free(&tab->strings);
    free(tab->slots);
    *tab = (sl_strtab){0};
}
