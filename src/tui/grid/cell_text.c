/* SPDX-License-Identifier: MIT */
#include "tui/grid/cell_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text/term.h"
#include "base/text/utf8.h"

#define TEXT_CAP 1024
#define ELLIPSIS 0x2026u
/* In fewer columns, a place is shown as file and line without the function. */
#define PLACE_W  32

size_t sl_utf8_encode(char buf[5], uint32_t code) {
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; code >>= 6)
        buf[i] = (char)(0x80 | (code & 0x3f));
    buf[0] = (char)(heads[len] | code);
    buf[len] = '\0';
    return len;
}

static size_t word_start(const char *text, size_t at) {
    while (at > 0 && text[at - 1] != ' ')
        at--;
    return at;
}

static bool has_digit(const char *text, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (isdigit((unsigned char)text[i]))
            return true;
    return false;
}

/* The last word before the cut is a number, or the beginning of one. */
static bool ends_in_number(const char *text, size_t len) {
    size_t start = word_start(text, len);
    return has_digit(text, start, len);
}

/* Whether a cut here is inside a number, or inside the unit of one. */
static bool is_in_number(const char *text, size_t at) {
    size_t start = word_start(text, at), end = at + strcspn(text + at, " ");
    if (start == at || text[at] == ' ')
        return false;
    return has_digit(text, start, end) || (start > 0 && ends_in_number(text, start - 1));
}

/* Where a word that holds a number is cut: "max_split_size_mb:128" after its name, "12.3" before it. */
static size_t before_digit(const char *text, size_t start, size_t end) {
    size_t at = start;
    while (at < end && !isdigit((unsigned char)text[at]))
        at++;
    while (at > start && !isalpha((unsigned char)text[at - 1]))
        at--;
    return at == end ? start : at;
}

size_t sl_fit_text(const char *text, size_t columns, bool *is_cut) {
    size_t len = strlen(text);
    *is_cut = sl_term_width(text, len) > columns;
    if (!*is_cut)
        return len;
    size_t keep = columns ? sl_term_fit(text, len, columns - 1) : 0;
    if (is_in_number(text, keep))
        keep = before_digit(text, word_start(text, keep), keep);
    for (;;) {
        while (keep > 0 && text[keep - 1] == ' ')
            keep--;
        if (!ends_in_number(text, keep))
            return keep;
        keep = before_digit(text, word_start(text, keep), keep);
    }
}

/* Characters of a text, cleaned; returns the columns. */
static int put_bytes(sl_grid *grid, int x, int y, sl_ink ink, const char *text, size_t len) {
    int used = 0;
    while (len > 0) {
        sl_utf8_char next = sl_utf8_next(text, len);
        uint32_t code = next.is_safe ? sl_utf8_decode(text, next.len) : '?';
        if (code >= 0x80 && grid->is_ascii)
            code = '?';
        used += sl_grid_put(grid, x + used, y, code, ink);
        text += next.len;
        len -= next.len;
    }
    return used;
}

int sl_put_text(sl_grid *grid, sl_rect area, sl_ink ink, const char *text) {
    bool is_cut;
    if (area.h <= 0 || area.w <= 0)
        return 0;
    size_t len = sl_fit_text(text, (size_t)area.w, &is_cut);
    int used = put_bytes(grid, area.x, area.y, ink, text, len);
    if (is_cut)
        used += sl_grid_put(grid, area.x + used, area.y, grid->is_ascii ? '~' : ELLIPSIS, ink);
    return used;
}

int sl_put(sl_grid *grid, sl_rect area, sl_ink ink, const char *fmt, ...) {
    char text[TEXT_CAP];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return sl_put_text(grid, area, ink, text);
}

int sl_put_right(sl_grid *grid, sl_rect area, sl_ink ink, const char *text) {
    int width = (int)sl_term_width(text, strlen(text));
    if (width < area.w)
        area.x += area.w - width, area.w = width;
    return sl_put_text(grid, area, ink, text);
}

int sl_put_whole(sl_grid *grid, sl_rect area, sl_ink ink, const char *text) {
    return (int)sl_term_width(text, strlen(text)) <= area.w ? sl_put_text(grid, area, ink, text)
                                                            : 0;
}

int sl_put_path(sl_grid *grid, sl_rect area, sl_ink ink, const char *text) {
    char fitted[TEXT_CAP];
    if (area.h <= 0 || area.w <= 0)
        return 0;
    if (area.w < 8 || sl_term_width(text, strlen(text)) <= (size_t)area.w)
        return sl_put_text(grid, area, ink, text);
    const char *function = area.w < PLACE_W ? strstr(text, " in ") : NULL;
    size_t len = function ? (size_t)(function - text) : strlen(text);
    char shorter[TEXT_CAP];
    snprintf(shorter, sizeof shorter, "%.*s", (int)len, text);
    sl_term_fit_path(fitted, sizeof fitted, shorter, (size_t)area.w);
    return sl_put_text(grid, area, ink, fitted);
}

int sl_put_wrapped(sl_grid *grid, sl_rect area, sl_ink ink, const char *text) {
    int row = 0;
    while (*text && row < area.h) {
        sl_rect line = {area.x, area.y + row, area.w, 1};
        size_t len = strlen(text), fit = sl_term_fit(text, len, (size_t)area.w);
        if (row == area.h - 1 || fit == len) {
            sl_put_text(grid, line, ink, text);
            return row + 1;
        }
        size_t cut = text[fit] == ' ' ? fit : word_start(text, fit);
        if (cut == 0) { /* one long word: nothing better than the end of the row */
            sl_put_text(grid, line, ink, text);
            text += strcspn(text, " ");
        } else {
            char part[TEXT_CAP];
            snprintf(part, sizeof part, "%.*s", (int)cut, text);
            sl_put_text(grid, line, ink, part);
            text += cut;
        }
        text += strspn(text, " ");
        row++;
    }
    return row;
}

typedef struct frame_glyphs {
    uint32_t top_left, top_right, bottom_left, bottom_right, across, down;
} frame_glyphs;

static void put_frame(sl_grid *grid, sl_rect area, const frame_glyphs *g, int title_end) {
    int right = area.x + area.w - 1, bottom = area.y + area.h - 1;
    sl_grid_put(grid, area.x, area.y, g->top_left, SL_INK_BORDER);
    sl_grid_put(grid, right, area.y, g->top_right, SL_INK_BORDER);
    sl_grid_put(grid, area.x, bottom, g->bottom_left, SL_INK_BORDER);
    sl_grid_put(grid, right, bottom, g->bottom_right, SL_INK_BORDER);
    for (int x = area.x + 1; x < right; x++) {
        if (x >= title_end)
            sl_grid_put(grid, x, area.y, g->across, SL_INK_BORDER);
        sl_grid_put(grid, x, bottom, g->across, SL_INK_BORDER);
    }
    for (int y = area.y + 1; y < bottom; y++) {
        sl_grid_put(grid, area.x, y, g->down, SL_INK_BORDER);
        sl_grid_put(grid, right, y, g->down, SL_INK_BORDER);
    }
}

sl_rect sl_put_box(sl_grid *grid, sl_rect area, const char *title) {
    static const frame_glyphs ascii = {'+', '+', '+', '+', '-', '|'};
    static const frame_glyphs round = {0x256d, 0x256e, 0x2570, 0x256f, 0x2500, 0x2502};
    int title_end = 0;
    if (area.w < 3 || area.h < 3)
        return area;
    if (title && area.w > 6) {
        sl_rect place = {area.x + 2, area.y, area.w - 4, 1};
        title_end = place.x + sl_put_text(grid, place, SL_INK_TITLE, title);
        sl_grid_put(grid, area.x + 1, area.y, grid->is_ascii ? '-' : 0x2500, SL_INK_BORDER);
    }
    put_frame(grid, area, grid->is_ascii ? &ascii : &round, title_end);
    return (sl_rect){area.x + 1, area.y + 1, area.w - 2, area.h - 2};
}

bool sl_put_part(sl_grid *grid, sl_rect *area, sl_ink ink, const char *fmt, ...) {
    char text[TEXT_CAP];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int width = (int)sl_term_width(text, strlen(text));
    if (width > area->w || area->h <= 0) {
        area->w = 0;
        return false;
    }
    sl_put_text(grid, *area, ink, text);
    area->x += width, area->w -= width;
    return true;
}
