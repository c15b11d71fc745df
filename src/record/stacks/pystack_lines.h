/* SPDX-License-Identifier: MIT */
/* From an instruction of a code object to its source line: the three encodings CPython used. Pure
 * functions on bytes; a malformed table ends in line 0, never in a read beyond its end. */
#ifndef SL_PYSTACK_LINES_H
#define SL_PYSTACK_LINES_H

#include "base/core/sl_base.h"

typedef enum sl_py_line_format {
    SL_PY_LINES_LNOTAB,    /* 3.9: pairs (instruction delta, signed line delta) */
    SL_PY_LINES_RANGES,    /* 3.10: the same pairs as ranges; -128 = no line */
    SL_PY_LINES_LOCATIONS, /* 3.11 and later: variable-length entries */
} sl_py_line_format;

/* The line of the instruction at this byte offset into the code; 0 when it has none. */
uint32_t sl_py_line_find(sl_py_line_format format, const uint8_t *table, size_t len, int first_line,
                         uint32_t instr_off);

#endif
