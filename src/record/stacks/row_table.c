/* SPDX-License-Identifier: MIT */
#include "record/stacks/row_table.h"

#include <sched.h>
#include <sys/mman.h>

/* A lookup takes some hundred nanoseconds; this many turns of other threads take a good part of a second. */
#define TURN_MAX (1u << 20)

bool sl_row_lock_take(sl_row_lock *lock) {
    for (unsigned turn = 0; turn < TURN_MAX; turn++) {
        if (atomic_load_explicit(&lock->is_given_up, memory_order_relaxed))
            return false;
        if (!atomic_flag_test_and_set_explicit(&lock->is_locked, memory_order_acquire))
            return true;
        sched_yield();
    }
    atomic_store(&lock->is_given_up, true);
    return false;
}

void sl_row_lock_give(sl_row_lock *lock) {
    atomic_flag_clear_explicit(&lock->is_locked, memory_order_release);
}

void sl_row_lock_after_fork_child(sl_row_lock *lock) {
    atomic_flag_clear(&lock->is_locked);
    atomic_store(&lock->is_given_up, false);
}

static size_t home_of(const sl_row_table *table, uint64_t key) {
    return (size_t)((key >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (table->row_cnt - 1);
}

static bool map_rows(sl_row_table *table) {
    if (table->rows)
        return true;
    void *at = mmap(NULL, table->row_cnt * sizeof(sl_row), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    table->rows = at == MAP_FAILED ? NULL : at;
    return table->rows != NULL;
}

/* The row with this key, or the free one where it would go. */
static sl_row *place_of(const sl_row_table *table, uint64_t key) {
    size_t i = home_of(table, key);
    while (table->rows[i].key && table->rows[i].key != key)
        i = (i + 1) & (table->row_cnt - 1);
    return &table->rows[i];
}

sl_row *sl_row_find(const sl_row_table *table, uint64_t key) {
    if (!table->rows || !key)
        return NULL;
    sl_row *row = place_of(table, key);
    return row->key ? row : NULL;
}

void sl_row_put(sl_row_table *table, const sl_row *row) {
    if (!row->key || !map_rows(table) || table->used_cnt >= table->row_cnt / 4 * 3)
        return;
    sl_row *place = place_of(table, row->key);
    table->used_cnt += place->key == 0;
    *place = *row;
}

/* Closes the gap so that no later row of the run becomes unreachable. */
void sl_row_drop(sl_row_table *table, const sl_row *row) {
    sl_row *rows = table->rows;
    size_t mask = table->row_cnt - 1, hole = (size_t)(row - rows);
    for (size_t i = (hole + 1) & mask; rows[i].key; i = (i + 1) & mask) {
        size_t home = home_of(table, rows[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            rows[hole] = rows[i];
            hole = i;
        }
    }
    rows[hole] = (sl_row){0};
    table->used_cnt--;
}
