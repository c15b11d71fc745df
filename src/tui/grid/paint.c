/* SPDX-License-Identifier: MIT */
#include "tui/grid/paint.h"

#include <stdio.h>
#include <string.h>

#include "tui/grid/cell_text.h"

/* Up to this many unchanged cells between two changed ones are sent again, which is cheaper than
 * moving the cursor: "\e[12;34H" is eight bytes. */
#define RESEND_MAX 4

typedef struct brush {
    sl_bytes *out;
    sl_color_depth depth;
    int x, y; /* where the terminal's cursor is; -1 = not known */
    int ink;  /* the ink it writes with; -1 = not known */
    bool has_failed;
} brush;

static void send(brush *b, const char *bytes, size_t len) {
    if (!sl_vec_reserve(b->out, len)) {
        b->has_failed = true;
        return;
    }
    memcpy(b->out->at + b->out->cnt, bytes, len);
    b->out->cnt += len;
}

static void send_text(brush *b, const char *text) {
    send(b, text, strlen(text));
}

/* A painted row shows everything on it in the ink of the row. */
static sl_ink ink_of(const sl_cell *cell) {
    return (sl_ink)(cell->back ? cell->back : cell->ink);
}

static bool is_same(const sl_cell *a, const sl_cell *b) {
    uint32_t code_a = a->code ? a->code : ' ', code_b = b->code ? b->code : ' ';
    bool is_half = (a->is_set && a->width == 0) != (b->is_set && b->width == 0);
    return code_a == code_b && ink_of(a) == ink_of(b) && !is_half;
}

static void move_to(brush *b, int x, int y) {
    char text[32];
    if (b->x == x && b->y == y)
        return;
    snprintf(text, sizeof text, "\x1b[%d;%dH", y + 1, x + 1);
    send_text(b, text);
    b->x = x, b->y = y;
}

static void send_cell(brush *b, const sl_cell *cell) {
    char text[SL_SGR_CAP];
    if (b->ink != (int)ink_of(cell)) {
        b->ink = (int)ink_of(cell);
        send_text(b, sl_theme_sgr(text, ink_of(cell), b->depth));
    }
    send(b, text, sl_utf8_encode(text, cell->code ? cell->code : ' '));
    b->x += cell->width == 2 ? 2 : 1;
}

static bool is_right_half(const sl_cell *cell) {
    return cell->is_set && cell->width == 0;
}

static void send_row(brush *b, const sl_grid *shown, const sl_grid *wanted, int y) {
    for (int x = 0; x < wanted->w; x++) {
        const sl_cell *cell = sl_grid_at(wanted, x, y);
        if (is_right_half(cell) || (shown && is_same(sl_grid_at(shown, x, y), cell)))
            continue;
        if (!shown && !cell->is_set && !cell->back)
            continue; /* the screen was cleared */
        if (b->y == y && b->x < x && b->x >= 0 && x - b->x <= RESEND_MAX &&
            !is_right_half(sl_grid_at(wanted, b->x, y)))
            while (b->x < x)
                send_cell(b, sl_grid_at(wanted, b->x, y));
        move_to(b, x, y);
        send_cell(b, cell);
    }
}

bool sl_paint(sl_bytes *out, const sl_grid *shown, const sl_grid *wanted, sl_color_depth depth) {
    brush b = {.out = out, .depth = depth, .x = -1, .y = -1, .ink = -1};
    if (shown && (shown->w != wanted->w || shown->h != wanted->h))
        shown = NULL;
    if (!shown)
        send_text(&b, "\x1b[0m\x1b[2J");
    for (int y = 0; y < wanted->h; y++)
        send_row(&b, shown, wanted, y);
    if (b.ink >= 0)
        send_text(&b, "\x1b[0m");
    return !b.has_failed;
}
