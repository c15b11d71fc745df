/* SPDX-License-Identifier: MIT */
#include "tui/grid/theme.h"

#include <stdio.h>
#include <string.h>

typedef struct ink_row {
    int32_t rgb;
    int16_t of_256, of_16;
    uint8_t looks, mono_looks;
} ink_row;

static const ink_row inks[] = {
#define INK_ROW(name, rgb, of_256, of_16, looks, mono) {rgb, of_256, of_16, looks, mono},
    SL_INK_MAP(INK_ROW)
#undef INK_ROW
};

sl_color_depth sl_color_depth_of(int colors, const char *colorterm, const char *no_color) {
    if ((no_color && *no_color) || colors < 8)
        return SL_COLORS_NONE;
    if (colorterm && (strcmp(colorterm, "truecolor") == 0 || strcmp(colorterm, "24bit") == 0))
        return SL_COLORS_TRUE;
    return colors >= 256 ? SL_COLORS_256 : SL_COLORS_16;
}

int32_t sl_theme_rgb(sl_ink ink) {
    return inks[ink].rgb;
}

unsigned sl_theme_looks(sl_ink ink, sl_color_depth depth) {
    return depth == SL_COLORS_NONE ? inks[ink].mono_looks : inks[ink].looks;
}

static int add_color(char *buf, size_t cap, const ink_row *row, sl_color_depth depth) {
    int32_t rgb = row->rgb;
    if (depth == SL_COLORS_TRUE && rgb >= 0)
        return snprintf(buf, cap, ";38;2;%d;%d;%d", rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255);
    if (depth == SL_COLORS_256 && row->of_256 >= 0)
        return snprintf(buf, cap, ";38;5;%d", row->of_256);
    if (depth == SL_COLORS_16 && row->of_16 >= 8)
        return snprintf(buf, cap, ";1;3%d", row->of_16 - 8); /* bright, also with 8 colours */
    if (depth == SL_COLORS_16 && row->of_16 >= 0)
        return snprintf(buf, cap, ";3%d", row->of_16);
    return 0;
}

const char *sl_theme_sgr(char buf[SL_SGR_CAP], sl_ink ink, sl_color_depth depth) {
    static const struct {
        unsigned look;
        const char *code;
    } codes[] = {{SL_LOOK_BOLD, ";1"},
                 {SL_LOOK_DIM, ";2"},
                 {SL_LOOK_UNDERLINE, ";4"},
                 {SL_LOOK_REVERSE, ";7"}};
    size_t used = (size_t)snprintf(buf, SL_SGR_CAP, "\x1b[0");
    for (size_t i = 0; i < SL_COUNT_OF(codes); i++)
        if (sl_theme_looks(ink, depth) & codes[i].look)
            used += (size_t)snprintf(buf + used, SL_SGR_CAP - used, "%s", codes[i].code);
    used += (size_t)add_color(buf + used, SL_SGR_CAP - used, &inks[ink], depth);
    snprintf(buf + used, SL_SGR_CAP - used, "m");
    return buf;
}
