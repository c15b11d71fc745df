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

/* ---- a picture ---- */

#define BACKGROUND 0x16181d
#define FOREGROUND 0xd0d0d0

/* How a cell looks; cells in a row that look the same are one element. */
typedef struct cell_look {
    uint32_t rgb, back; /* of what is drawn, and behind it */
    unsigned looks;
    uint32_t
        block; /* a block element is a shape, because fonts leave gaps between them; 0 = text */
} cell_look;

static cell_look look_of(const sl_cell *cell) {
    sl_ink ink = (sl_ink)(cell->back ? cell->back : cell->ink);
    unsigned looks = sl_theme_looks(ink, SL_COLORS_TRUE);
    int32_t rgb = sl_theme_rgb(ink);
    uint32_t front = rgb < 0 ? FOREGROUND : (uint32_t)rgb;
    bool is_reverse = looks & SL_LOOK_REVERSE, is_drawn = cell->is_set || cell->back;
    bool is_block = cell->code >= 0x2581 && cell->code <= 0x2588;
    return (cell_look){.rgb = is_reverse ? BACKGROUND : front,
                       .back = is_drawn && is_reverse ? front : BACKGROUND,
                       .looks = looks & (SL_LOOK_BOLD | SL_LOOK_UNDERLINE),
                       .block = is_block ? cell->code : 0};
}

static bool is_blank(const sl_cell *cell) {
    return !cell->is_set || !cell->code || cell->code == ' ';
}

/* Where the run of cells ends that begins at x; text goes on over single blanks. */
static int run_end(const sl_grid *grid, int x, int y) {
    cell_look first = look_of(sl_grid_at(grid, x, y));
    int end = x;
    for (; end < grid->w; end++) {
        const sl_cell *cell = sl_grid_at(grid, end, y);
        cell_look look = look_of(cell);
        bool is_gap = is_blank(cell) && end + 1 < grid->w &&
                      is_blank(sl_grid_at(grid, end + 1, y)) && !first.block;
        if (look.rgb != first.rgb || look.back != first.back || look.looks != first.looks ||
            look.block != first.block || is_gap)
            break;
    }
    return end > x ? end : x + 1;
}

/* A little larger than the cells, so that no seam is seen between two of them. */
static void write_rect(FILE *to, double x, double y, double w, double h, uint32_t rgb) {
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%06" PRIx32
            "\"/>\n",
            x, y, w + 0.4, h + 0.4, rgb);
}

static void write_glyph(FILE *to, uint32_t code) {
    char text[5];
    sl_utf8_encode(text, code ? code : ' ');
    fputs(code == '<' ? "&lt;" : code == '>' ? "&gt;" : code == '&' ? "&amp;" : text, to);
}

static void write_text(const sl_grid *grid, FILE *to, int x, int end, int y, cell_look look) {
    while (end > x && is_blank(sl_grid_at(grid, end - 1, y)))
        end--;
    fprintf(to, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" fill=\"#%06" PRIx32 "\"%s%s>",
            x * CELL_W, y * CELL_H + 14, (end - x) * CELL_W, look.rgb,
            look.looks & SL_LOOK_BOLD ? " font-weight=\"bold\"" : "",
            look.looks & SL_LOOK_UNDERLINE ? " text-decoration=\"underline\"" : "");
    for (int i = x; i < end; i++)
        if (sl_grid_at(grid, i, y)->width || !sl_grid_at(grid, i, y)->is_set)
            write_glyph(to, sl_grid_at(grid, i, y)->code);
    fputs("</text>\n", to);
}

static void write_backs(const sl_grid *grid, FILE *to, int y) {
    for (int x = 0, end; x < grid->w; x = end) {
        uint32_t back = look_of(sl_grid_at(grid, x, y)).back;
        for (end = x + 1; end < grid->w && look_of(sl_grid_at(grid, end, y)).back == back;)
            end++;
        if (back != BACKGROUND)
            write_rect(to, x * CELL_W, y * CELL_H, (end - x) * CELL_W, CELL_H, back);
    }
}

static void write_row(const sl_grid *grid, FILE *to, int y) {
    write_backs(grid, to, y);
    for (int x = 0, end; x < grid->w; x = end) {
        cell_look look = look_of(sl_grid_at(grid, x, y));
        if (is_blank(sl_grid_at(grid, x, y))) {
            end = x + 1;
            continue;
        }
        end = run_end(grid, x, y);
        double height = CELL_H * (double)(look.block - 0x2580) / 8;
        if (look.block)
            write_rect(to, x * CELL_W, y * CELL_H + CELL_H - height, (end - x) * CELL_W, height,
                       look.rgb);
        else
            write_text(grid, to, x, end, y, look);
    }
}

void sl_screen_write_svg(const sl_grid *grid, FILE *to) {
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-8 -8 %.0f %d\" "
            "xml:space=\"preserve\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" "
            "font-size=\"14\">\n"
            "<rect x=\"-8\" y=\"-8\" width=\"100%%\" height=\"100%%\" rx=\"6\" "
            "fill=\"#%06x\"/>\n",
            grid->w * CELL_W + 16, grid->h * CELL_H + 16, BACKGROUND);
    for (int y = 0; y < grid->h; y++)
        write_row(grid, to, y);
    fputs("</svg>\n", to);
}
