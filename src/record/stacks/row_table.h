/* SPDX-License-Identifier: MIT */
/* Rows by address or handle: open addressing in memory that is mapped on first use, touched as it
 * fills and never grows; and the lock that guards such tables, with a bounded wait.
 *
 * Rows move when others are removed, so readers need the lock as well. It is held for a lookup and
 * no call out (R4). If its holder never releases it (the thread was killed, or a real-time thread
 * keeps it from running), the others give up after a while, and what the lock guards is disabled:
 * the program continues with less recorded (R1, R6). */
#ifndef SL_ROW_TABLE_H
#define SL_ROW_TABLE_H

#include <stdatomic.h>

#include "base/core/sl_base.h"

typedef struct sl_row_lock {
    atomic_flag is_locked;
    atomic_bool is_given_up;
} sl_row_lock;

#define SL_ROW_LOCK_INIT \
    { .is_locked = ATOMIC_FLAG_INIT }

/* False when it could not be had, now or earlier. */
bool sl_row_lock_take(sl_row_lock *lock);
void sl_row_lock_give(sl_row_lock *lock);

/* In the child of a fork: its holder does not exist there. */
void sl_row_lock_after_fork_child(sl_row_lock *lock);

typedef struct sl_row {
    uint64_t key; /* 0 = free */
    uint64_t size;
    uint64_t other;
    int64_t device;
} sl_row;

typedef struct sl_row_table {
    size_t row_cnt; /* a power of two; a quarter of them stays free */
    size_t used_cnt;
    sl_row *rows; /* mapped */
} sl_row_table;

/* NULL when there is none. Valid until the next put or drop. */
sl_row *sl_row_find(const sl_row_table *table, uint64_t key);

/* Adds a row, or replaces the one with its key. Without room it is left out. */
void sl_row_put(sl_row_table *table, const sl_row *row);

/* `row` is what sl_row_find gave. */
void sl_row_drop(sl_row_table *table, const sl_row *row);

#endif
