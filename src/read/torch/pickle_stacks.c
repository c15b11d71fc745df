/* SPDX-License-Identifier: MIT */
#include "read/torch/pickle_stacks.h"

#include <string.h>

#include "base/core/strtab.h"

static size_t find_slot(const sl_run_table *table, uint64_t hash, const unsigned char *bytes,
                        size_t len) {
    size_t mask = table->slot_cnt - 1, i = (size_t)hash & mask;
    for (; table->slots[i]; i = (i + 1) & mask) {
        const sl_run_row *row = &table->rows.at[table->slots[i] - 1];
        if (row->hash == hash && row->len == len &&
            memcmp(table->bytes.at + row->off, bytes, len) == 0)
            break;
    }
    return i;
}

uint32_t sl_run_find(const sl_run_table *table, const unsigned char *bytes, size_t len) {
    if (table->slot_cnt == 0)
        return SL_RUN_NONE;
    size_t slot = find_slot(table, sl_hash_bytes(bytes, len), bytes, len);
    return table->slots[slot] - 1; /* 0 - 1 is SL_RUN_NONE */
}

static bool grow_slots(sl_run_table *table) {
    size_t slot_cnt = table->slot_cnt ? table->slot_cnt * 2 : 1024;
    if (!table->guesses)
        table->guesses = calloc(SL_RUN_GUESSES, sizeof *table->guesses);
    uint32_t *slots = table->guesses ? calloc(slot_cnt, sizeof *slots) : NULL;
    if (!slots)
        return false;
    for (uint32_t row = 0; row < table->rows.cnt; row++) {
        size_t i = (size_t)table->rows.at[row].hash & (slot_cnt - 1);
        while (slots[i])
            i = (i + 1) & (slot_cnt - 1);
        slots[i] = row + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_cnt = slot_cnt;
    return true;
}

uint32_t sl_run_add(sl_run_table *table, const unsigned char *bytes, size_t len,
                    uint32_t stack_id) {
    if (len > UINT32_MAX || table->rows.cnt >= SL_RUN_NONE - 1)
        return SL_RUN_NONE;
    if (table->rows.cnt * 2 >= table->slot_cnt && !grow_slots(table))
        return SL_RUN_NONE;
    if (!sl_vec_reserve(&table->bytes, len))
        return SL_RUN_NONE;
    uint64_t hash = sl_hash_bytes(bytes, len);
    sl_run_row row = {hash, table->bytes.cnt, (uint32_t)len, stack_id};
    size_t slot = find_slot(table, hash, bytes, len);
    if (!sl_vec_push(&table->rows, row))
        return SL_RUN_NONE;
    memcpy(table->bytes.at + table->bytes.cnt, bytes, len);
    table->bytes.cnt += len;
    table->slots[slot] = (uint32_t)table->rows.cnt;
    return (uint32_t)table->rows.cnt - 1;
}

void sl_run_clear(sl_run_table *table) {
    table->rows.cnt = 0;
    table->bytes.cnt = 0;
    if (table->slot_cnt)
        memset(table->slots, 0, table->slot_cnt * sizeof *table->slots);
}

void sl_run_fini(sl_run_table *table) {
    sl_vec_free(&table->rows);
    sl_vec_free(&table->bytes);
    free(table->slots);
    free(table->guesses);
    *table = (sl_run_table){0};
}
