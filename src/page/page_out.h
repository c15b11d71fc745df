/* SPDX-License-Identifier: MIT */
/* Columns of a page: collected as LEB128 bytes and written as one inert script block per
 * section, compressed if the build has zlib, in base64. What the columns mean: page_schema.h. A
 * failed allocation is remembered and reported once, by sl_page_write. One thread. */
#ifndef SL_PAGE_OUT_H
#define SL_PAGE_OUT_H

#include <stdio.h>

#include "base/core/vec.h"
#include "base/text/json_out.h"
#include "page/page_schema.h"

typedef enum sl_page_section {
#define SL_PAGE_ENUM(name, scope) SL_PAGE_##name,
    SL_PAGE_SECTION_MAP(SL_PAGE_ENUM)
#undef SL_PAGE_ENUM
        SL_PAGE_SECTION_CNT
} sl_page_section;

typedef enum sl_page_column {
#define SL_PAGE_ENUM(section, name, encoding, meaning) SL_PAGE_##section##_##name,
    SL_PAGE_COLUMN_MAP(SL_PAGE_ENUM)
#undef SL_PAGE_ENUM
        SL_PAGE_COLUMN_CNT
} sl_page_column;

typedef struct sl_page_bytes {
    SL_VEC(uint8_t) bytes;
    uint64_t cnt;     /* values */
    int64_t previous; /* of a DELTA column */
} sl_page_bytes;

/* The columns of one lane, or those that all lanes share. Zero-initialised is empty. */
typedef struct sl_page_columns {
    sl_page_bytes at[SL_PAGE_COLUMN_CNT];
    bool has_failed; /* memory ran out */
} sl_page_columns;

/* The positions of a written section's columns. */
typedef struct sl_page_written {
    sl_page_section section;
    int lane; /* -1 = shared */
    bool is_deflated;
    uint64_t bytes;
    struct {
        uint64_t offset, bytes, cnt;
    } columns[SL_PAGE_COLUMN_CNT];
} sl_page_written;

typedef SL_VEC(sl_page_written *) sl_page_index;

/* Appends a value below 2^53; a PLAIN one must not be negative. */
void sl_page_put(sl_page_columns *columns, sl_page_column column, int64_t value);
void sl_page_put_bytes(sl_page_columns *columns, sl_page_column column, sl_str bytes);

/* Appends an address as its two halves. */
void sl_page_put_addr(sl_page_columns *columns, sl_page_column high, uint64_t addr);

/* Writes every section that has a value; adds a row to the index for each. lane -1 = shared. */
sl_status sl_page_write(sl_page_columns *columns, int lane, FILE *to, sl_page_index *index,
                        sl_error *err);

/* The index as the value of "sections". */
void sl_page_index_json(const sl_page_index *index, sl_json_out *json);

void sl_page_index_fini(sl_page_index *index);
void sl_page_columns_fini(sl_page_columns *columns);

#endif
