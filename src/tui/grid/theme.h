/* SPDX-License-Identifier: MIT */
/* What the parts of the screen look like. Views name a role (an ink); how a role looks on a terminal of
 * 16.7 million, 256, 16 or no colours is one row of one table. Pure. */
#ifndef SL_THEME_H
#define SL_THEME_H

#include "base/core/sl_base.h"

/* How text stands out, also without colours. */
typedef enum sl_look {
    SL_LOOK_BOLD = 1,
    SL_LOOK_DIM = 2,
    SL_LOOK_UNDERLINE = 4,
    SL_LOOK_REVERSE = 8,
} sl_look;

#define SL_NO_COLOR (-1)

/* enumerator, colour as 0xrrggbb, of 256, of 16, looks with colours, looks without. SL_NO_COLOR is the
 * terminal's own. The series colours differ also for people who cannot tell red from green. */
#define SL_INK_MAP(X)                                                               \
    X(TEXT, SL_NO_COLOR, SL_NO_COLOR, SL_NO_COLOR, 0, 0)                            \
    X(DIM, 0x8a8a8a, 245, SL_NO_COLOR, 0, 0)                                        \
    X(TITLE, 0x87d7ff, 117, 14, SL_LOOK_BOLD, SL_LOOK_BOLD)                         \
    X(BORDER, 0x585858, 240, 8, 0, 0)                                               \
    X(TAB, 0xbcbcbc, 250, 7, 0, 0)                                                  \
    X(TAB_OPEN, 0x87d7ff, 117, 14, SL_LOOK_BOLD | SL_LOOK_REVERSE, SL_LOOK_REVERSE) \
    X(KEY, 0xffd787, 222, 11, SL_LOOK_BOLD, SL_LOOK_BOLD)                           \
    X(HEAD, 0xbcbcbc, 250, 7, SL_LOOK_UNDERLINE, SL_LOOK_UNDERLINE)                 \
    X(SELECTED, 0xd7ffff, 195, 15, SL_LOOK_REVERSE, SL_LOOK_REVERSE)                \
    X(GOOD, 0x5fd787, 78, 10, 0, 0)                                                 \
    X(WARN, 0xffaf5f, 215, 11, 0, SL_LOOK_BOLD)                                     \
    X(BAD, 0xff5f5f, 203, 9, SL_LOOK_BOLD, SL_LOOK_BOLD | SL_LOOK_REVERSE)          \
    X(PLACE, 0x5fd7d7, 80, 6, 0, 0)                                                 \
    X(CURSOR, 0xffffff, 231, 15, SL_LOOK_BOLD, SL_LOOK_BOLD)                        \
    X(SERIES_1, 0x56b4e9, 74, 12, 0, 0)                                             \
    X(SERIES_2, 0xe69f00, 178, 11, 0, 0)                                            \
    X(SERIES_3, 0x009e73, 36, 10, 0, 0)                                             \
    X(SERIES_4, 0xcc79a7, 175, 13, 0, 0)                                            \
    X(SERIES_5, 0xf0e442, 227, 3, 0, 0)                                             \
    X(SERIES_6, 0xd55e00, 166, 9, 0, 0)                                             \
    X(SERIES_7, 0x8f9fff, 105, 4, 0, 0)                                             \
    X(SERIES_8, 0x999999, 246, 7, 0, 0)

typedef enum sl_ink {
#define SL_INK_ENUM(name, ...) SL_INK_##name,
    SL_INK_MAP(SL_INK_ENUM)
#undef SL_INK_ENUM
        SL_INK_LIMIT
} sl_ink;

#define SL_SERIES_CNT 8
/* The ink of series i; all series after the last ink share it. */
static inline sl_ink sl_ink_series(size_t i) {
    return (sl_ink)(SL_INK_SERIES_1 + (i < SL_SERIES_CNT ? i : SL_SERIES_CNT - 1));
}

typedef enum sl_color_depth {
    SL_COLORS_NONE,
    SL_COLORS_16,
    SL_COLORS_256,
    SL_COLORS_TRUE,
} sl_color_depth;

/* The depth of a terminal with so many colours by terminfo, whose COLORTERM says this (may be NULL);
 * NO_COLOR (may be NULL) wins. */
sl_color_depth sl_color_depth_of(int colors, const char *colorterm, const char *no_color);

/* The escape sequence that starts an ink, from whatever was before. Returns buf. */
#define SL_SGR_CAP 40
const char *sl_theme_sgr(char buf[SL_SGR_CAP], sl_ink ink, sl_color_depth depth);

/* 0xrrggbb of an ink, SL_NO_COLOR for the terminal's own. */
int32_t sl_theme_rgb(sl_ink ink);
unsigned sl_theme_looks(sl_ink ink, sl_color_depth depth);

#endif
