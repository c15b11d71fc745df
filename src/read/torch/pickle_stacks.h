/* SPDX-License-Identifier: MIT */
/* Stacks by the bytes that name them. In a pickle a list of known frames is a run of memo
 * references; thousands of lists consist of the same bytes, so comparing bytes replaces looking at
 * frames. Valid as long as no memo entry is overwritten; the owner clears it then. */
#ifndef SL_PICKLE_STACKS_H
#define SL_PICKLE_STACKS_H

#include "base/core/vec.h"

typedef struct sl_run_row {
    uint64_t hash;
    size_t off; /* of the bytes */
    uint32_t len;
    uint32_t stack_id;
} sl_run_row;

/* Lists come in the order of the program's loops: the two before tell the next. */
#define SL_RUN_GUESSES 4096

typedef struct sl_run_table {
    SL_VEC(sl_run_row) rows;
    SL_VEC(unsigned char) bytes;
    uint32_t *slots; /* owned; open addressing, row + 1 */
    size_t slot_cnt;
    uint32_t last, before_last; /* rows of the newest two lists */
    uint32_t *guesses; /* owned; row + 1 by the rows before; NULL while there are no rows */
} sl_run_table;

#define SL_RUN_NONE UINT32_MAX

static inline uint32_t sl_run_context(const sl_run_table *table) {
    return (table->last * 61 + table->before_last) % SL_RUN_GUESSES;
}

/* The row that stood here the last time, or SL_RUN_NONE. */
static inline uint32_t sl_run_guess(const sl_run_table *table) {
    if (!table->guesses)
        return SL_RUN_NONE;
    uint32_t row = table->guesses[sl_run_context(table)] - 1;
    return row < table->rows.cnt ? row : SL_RUN_NONE;
}

/* Remembers that this row, one of the table's, came now. */
static inline void sl_run_learn(sl_run_table *table, uint32_t row) {
    table->guesses[sl_run_context(table)] = row + 1;
    table->before_last = table->last;
    table->last = row;
}

/* The row of these bytes, or SL_RUN_NONE. */
uint32_t sl_run_find(const sl_run_table *table, const unsigned char *bytes, size_t len);

/* Adds bytes that are not there; SL_RUN_NONE when memory ran out. */
uint32_t sl_run_add(sl_run_table *table, const unsigned char *bytes, size_t len, uint32_t stack_id);

void sl_run_clear(sl_run_table *table); /* keeps memory */
void sl_run_fini(sl_run_table *table);

#endif
