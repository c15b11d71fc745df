/* SPDX-License-Identifier: MIT */
#include "record/stacks/pystack_lines.h"

static uint32_t positive(int line) {
    return line > 0 ? (uint32_t)line : 0;
}

static uint32_t find_lnotab(const uint8_t *table, size_t len, int line, uint32_t instr_off) {
    uint32_t at = 0;
    for (size_t i = 0; i + 1 < len; i += 2) {
        at += table[i];
        if (at > instr_off)
            break;
        line += (int8_t)table[i + 1];
    }
    return positive(line);
}

static uint32_t find_ranges(const uint8_t *table, size_t len, int line, uint32_t instr_off) {
    uint32_t end = 0;
    for (size_t i = 0; i + 1 < len; i += 2) {
        int delta = (int8_t)table[i + 1];
        bool has_line = delta != -128;
        if (has_line)
            line += delta;
        end += table[i];
        if (end > instr_off)
            return has_line ? positive(line) : 0;
    }
    return 0;
}

/* A cursor over the bytes of a location table. */
typedef struct location_cursor {
    const uint8_t *at;
    const uint8_t *end;
} location_cursor;

static unsigned next_varint(location_cursor *cursor) {
    unsigned value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end; shift += 6) {
        unsigned byte = *cursor->at++;
        if (shift < 30)
            value |= (byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

static int next_signed_varint(location_cursor *cursor) {
    unsigned value = next_varint(cursor);
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Kinds of entries, from Objects/locations.md of CPython. */
enum { KIND_ONE_LINE_0 = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

/* Line delta of the entry whose first byte was just read. */
static int next_line_delta(location_cursor *cursor, unsigned kind) {
    if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
        return next_signed_varint(cursor);
    return kind >= KIND_ONE_LINE_0 && kind < KIND_NO_COLUMNS ? (int)(kind - KIND_ONE_LINE_0) : 0;
}

static uint32_t find_locations(const uint8_t *table, size_t len, int line, uint32_t instr_off) {
    location_cursor cursor = {table, table + len};
    uint32_t end = 0;
    while (cursor.at < cursor.end) {
        unsigned head = *cursor.at++;
        unsigned kind = (head >> 3) & 15;
        line += next_line_delta(&cursor, kind);
        end += ((head & 7) + 1) * 2;
        if (end > instr_off)
            return kind == KIND_NONE ? 0 : positive(line);
        while (cursor.at < cursor.end && !(*cursor.at & 128)) /* columns: of no interest here */
            cursor.at++;
    }
    return 0;
}

uint32_t sl_py_line_find(sl_py_line_format format, const uint8_t *table, size_t len, int first_line,
                         uint32_t instr_off) {
    switch (format) {
    case SL_PY_LINES_LNOTAB: return find_lnotab(table, len, first_line, instr_off);
    case SL_PY_LINES_RANGES: return find_ranges(table, len, first_line, instr_off);
    case SL_PY_LINES_LOCATIONS: return find_locations(table, len, first_line, instr_off);
    }
    return 0;
}
