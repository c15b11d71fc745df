/* SPDX-License-Identifier: MIT */
/* CSV as RFC 4180 has it, one row at a time from a byte stream. Rows and cells are bounded. One
 * thread at a time. */
#ifndef SL_CSV_IN_H
#define SL_CSV_IN_H

#include "base/core/vec.h"
#include "base/files/byte_stream.h"

#define SL_CSV_ROW_MAX  ((size_t)64 << 20) /* bytes */
#define SL_CSV_CELL_MAX 4096               /* cells of a row */

typedef struct sl_csv_cell {
    size_t begin, len; /* in sl_csv_in.text */
    bool is_quoted;    /* "" and nothing at all are not the same */
} sl_csv_cell;

typedef struct sl_csv_in {
    sl_byte_stream *in; /* borrowed */
    uint64_t line;      /* of the row just read, from 1 */
    uint64_t next_line;
    uint64_t position; /* of its first byte */
    SL_VEC(char) text; /* the row's cells, unquoted, each with a terminator after it */
    SL_VEC(sl_csv_cell) cells;
} sl_csv_in;

void sl_csv_in_init(sl_csv_in *csv, sl_byte_stream *in);
void sl_csv_in_fini(sl_csv_in *csv);

/* 1 and the row's cells, 0 at the end, or a negative sl_status. Empty lines are passed over. */
int sl_csv_next(sl_csv_in *csv, sl_error *err);

/* Cell i of the row; valid until the next row. */
static inline sl_str sl_csv_cell_text(const sl_csv_in *csv, size_t i) {
    return (sl_str){csv->text.at + csv->cells.at[i].begin, csv->cells.at[i].len};
}

#endif
