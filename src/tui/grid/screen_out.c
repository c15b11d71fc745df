/* SPDX-License-Identifier: MIT */
#include "tui/grid/screen_out.h"

#include <inttypes.h>

#include "tui/grid/cell_text.h"

/* Of a character, in the picture's units. */
#define CELL_W 8.4
#define CELL_H 18

static int row_end(const sl_grid *grid, int y) {
    int end = grid->w;
    while (end > 0 &&
           (sl_grid_at(grid, end - 1, y)->code == ' ' || (!sl_grid_at(grid, end - 1, y)->is_set)))
        end--;
    return end;
}

void sl_screen_write_text(const sl_grid *grid, FILE *to) {
    char text[5];
    for (int y = 0; y < grid->h; y++) {
        int end = row_end(grid, y);
        for (int x = 0; x < end; x++) {
            const sl_cell *cell = sl_grid_at(grid, x, y);
            if (cell->is_set && cell->width == 0)
                continue;
            sl_utf8_encode(text, cell->code ? cell->code : ' ');
            fputs(text, to);
        }
        putc('\n', to);
    }
}

static void write_glyph(FILE *to, uint32_t code) {
    char text[5];
    sl_utf8_encode(text, code);
    fputs(code == '<' ? "&lt;" : code == '>' ? "&gt;" : code == '&' ? "&amp;" : text, to);
}

/* Block elements are drawn as shapes: fonts leave gaps between them. */
static bool write_block(FILE *to, uint32_t code, int x, int y, int32_t rgb) {
    if (code < 0x2581 || code > 0x2588)
        return false;
    double height = CELL_H * (double)(code - 0x2580) / 8;
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%06" PRIx32
            "\"/>\n",
            x * CELL_W, y * CELL_H + CELL_H - height, CELL_W + 0.2, height, (uint32_t)rgb);
    return true;
}

static void write_cell(FILE *to, const sl_cell *cell, int x, int y) {
    sl_ink ink = (sl_ink)(cell->back ? cell->back : cell->ink);
    unsigned looks = sl_theme_looks(ink, SL_COLORS_TRUE);
    int32_t rgb = sl_theme_rgb(ink) < 0 ? 0xd0d0d0 : sl_theme_rgb(ink);
    bool is_reverse = looks & SL_LOOK_REVERSE;
    if (is_reverse)
        fprintf(to,
                "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#%06" PRIx32
                "\"/>\n",
                x * CELL_W, y * CELL_H, CELL_W + 0.2, CELL_H, (uint32_t)rgb);
    if (!cell->code || cell->code == ' ' || write_block(to, cell->code, x, y, rgb))
        return;
    fprintf(to, "<text x=\"%.1f\" y=\"%d\" fill=\"#%06" PRIx32 "\"%s%s>", x * CELL_W,
            y * CELL_H + 14, is_reverse ? 0x16181d : (uint32_t)rgb,
            looks & SL_LOOK_BOLD ? " font-weight=\"bold\"" : "",
            looks & SL_LOOK_UNDERLINE ? " text-decoration=\"underline\"" : "");
    write_glyph(to, cell->code);
    fputs("</text>\n", to);
}

void sl_screen_write_svg(const sl_grid *grid, FILE *to) {
    fprintf(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-8 -8 %.0f %d\" "
        "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\">\n"
        "<rect x=\"-8\" y=\"-8\" width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"#16181d\"/>\n",
        grid->w * CELL_W + 16, grid->h * CELL_H + 16);
    for (int y = 0; y < grid->h; y++)
        for (int x = 0; x < grid->w; x++) {
            const sl_cell *cell = sl_grid_at(grid, x, y);
            if (cell->is_set || cell->back)
                write_cell(to, cell, x, y);
        }
    fputs("</svg>\n", to);
}
