/* SPDX-License-Identifier: MIT */
#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

bool sl_term_has_color(FILE *to) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && *no_color)
        return false;
    return isatty(fileno(to)) && term && *term && strcmp(term, "dumb") != 0;
}

const char *sl_term_sgr(bool has_color, sl_term_style style) {
    static const char *const codes[] = {
#define TERM_CODE(name, sgr) "\x1b[" sgr "m",
        SL_TERM_STYLE_MAP(TERM_CODE)
#undef TERM_CODE
    };
    return has_color ? codes[style] : "";
}

/* Ranges that terminals draw two columns wide, the large blocks only: CJK, Hangul, full-width
 * forms, emoji. Not wcwidth, whose answer changes with the locale. */
static const uint32_t wide_ranges[][2] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

static uint32_t decode(const char *at, size_t len) {
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)at[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

static size_t char_columns(const char *at, size_t len) {
    uint32_t code = decode(at, len);
    if (code >= 0x300 && code <= 0x36f)
        return 0;
    for (size_t i = 0; i < SL_COUNT_OF(wide_ranges); i++)
        if (code >= wide_ranges[i][0] && code <= wide_ranges[i][1])
            return 2;
    return 1;
}

size_t sl_term_fit(const char *text, size_t len, size_t columns) {
    size_t used = 0, at = 0;
    while (at < len) {
        size_t step = sl_utf8_length(text + at, len - at);
        used += step ? char_columns(text + at, step) : 1;
        if (used > columns)
            break;
        at += step ? step : 1;
    }
    return at;
}

size_t sl_term_width(const char *text, size_t len) {
    size_t used = 0;
    for (size_t at = 0; at < len;) {
        size_t step = sl_utf8_length(text + at, len - at);
        used += step ? char_columns(text + at, step) : 1;
        at += step ? step : 1;
    }
    return used;
}

/* C0 with DEL, and C1, which is two bytes in UTF-8. */
static bool is_control(const char *at, size_t len) {
    uint32_t code = decode(at, len);
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

void sl_term_clean(char *text) {
    for (size_t len = strlen(text); len > 0;) {
        size_t step = sl_utf8_length(text, len);
        if (step == 0 || is_control(text, step))
            memset(text, '?', step ? step : 1);
        text += step ? step : 1;
        len -= step ? step : 1;
    }
}

static void put_clean(FILE *to, const char *text, size_t len) {
    while (len > 0) {
        size_t step = sl_utf8_length(text, len);
        if (step == 0 || is_control(text, step))
            putc('?', to);
        else
            fwrite(text, 1, step, to);
        text += step ? step : 1;
        len -= step ? step : 1;
    }
}

/* One line being filled. */
typedef struct line {
    FILE *to;
    const sl_wrap *how;
    size_t columns; /* whole width */
    size_t used;    /* columns taken, the lead included */
    bool has_word;
} line;

static void begin_line(line *out, const char *lead) {
    lead = lead ? lead : "";
    fprintf(out->to, "%s%s", lead, sl_term_sgr(out->how->has_color, out->how->style));
    out->used = sl_term_width(lead, strlen(lead));
    out->has_word = false;
}

static void end_line(line *out) {
    fprintf(out->to, "%s\n", sl_term_sgr(out->how->has_color, SL_STYLE_PLAIN));
}

static void next_line(line *out) {
    end_line(out);
    begin_line(out, out->how->rest);
}

static void put_word(line *out, const char *word, size_t len) {
    size_t width = sl_term_width(word, len);
    if (out->has_word && out->used + 1 + width > out->columns)
        next_line(out);
    if (out->has_word) {
        putc(' ', out->to);
        out->used++;
    }
    while (out->used + sl_term_width(word, len) > out->columns) {
        size_t cut = sl_term_fit(word, len, out->columns - out->used);
        if (cut == 0)
            break;
        put_clean(out->to, word, cut);
        word += cut, len -= cut;
        next_line(out);
    }
    put_clean(out->to, word, len);
    out->used += sl_term_width(word, len);
    out->has_word = true;
}

void sl_term_wrap(FILE *to, const sl_wrap *how, const char *text) {
    line out = {.to = to, .how = how, .columns = how->columns ? how->columns : SL_TERM_COLUMNS};
    begin_line(&out, how->first);
    while (*text) {
        size_t len = strcspn(text, " \n");
        if (len)
            put_word(&out, text, len);
        text += len;
        text += strspn(text, " \n");
    }
    end_line(&out);
}

/* Where to cut so that the rest, behind "...", fits: at a '/' when one is near, for whole names. */
static size_t path_cut(const char *text, size_t len, size_t columns) {
    size_t skip = 0;
    while (skip < len && sl_term_width(text + skip, len - skip) + 3 > columns) {
        size_t step = sl_utf8_length(text + skip, len - skip);
        skip += step ? step : 1;
    }
    const char *slash = memchr(text + skip, '/', len - skip);
    bool is_near = slash && (size_t)(slash - text) - skip <= columns / 3;
    return is_near ? (size_t)(slash - text) : skip;
}

void sl_term_fit_path(char *out, size_t cap, const char *text, size_t columns) {
    size_t len = strlen(text);
    bool is_cut = sl_term_width(text, len) > columns;
    size_t skip = is_cut ? path_cut(text, len, columns) : 0;
    snprintf(out, cap, "%s%s", is_cut ? "..." : "", text + skip);
    sl_term_clean(out);
}
