/* SPDX-License-Identifier: MIT */
#include "base/text/term.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text/utf8.h"

static size_t followed_columns = SL_TERM_COLUMNS;

static size_t clamp_columns(unsigned long columns) {
    if (columns < SL_TERM_COLUMNS_MIN)
        return SL_TERM_COLUMNS_MIN;
    return columns > SL_TERM_COLUMNS_MAX ? SL_TERM_COLUMNS_MAX : columns;
}

size_t sl_term_columns_of(FILE *to) {
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long columns = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    struct winsize size;
    if (columns && !*end)
        return clamp_columns(columns);
    if (isatty(fileno(to)) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col)
        return clamp_columns(size.ws_col);
    return SL_TERM_COLUMNS;
}

void sl_term_follow(FILE *to) {
    followed_columns = sl_term_columns_of(to);
}

size_t sl_term_columns(void) {
    return followed_columns;
}

bool sl_term_has_color(FILE *to) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && *no_color)
        return false;
    return isatty(fileno(to)) && term && *term && strcmp(term, "dumb") != 0;
}

bool sl_term_has_links(FILE *to) {
    return sl_term_has_color(to);
}

const char *sl_term_file_url(char buf[SL_TERM_URL_CAP], const char *path, uint32_t line) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char host[256] = "";
    buf[0] = '\0';
    if (path[0] != '/' || gethostname(host, sizeof host - 1) != 0 ||
        host[strspn(host, plain)] != '\0')
        return buf;
    size_t used = (size_t)snprintf(buf, SL_TERM_URL_CAP, "file://%s", host);
    for (; *path && used + 16 < SL_TERM_URL_CAP; path++)
        used += (size_t)snprintf(buf + used, SL_TERM_URL_CAP - used,
                                 strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
    if (*path)
        buf[0] = '\0';
    else if (line)
        snprintf(buf + used, SL_TERM_URL_CAP - used, "#%u", line);
    return buf;
}

void sl_term_put_link(FILE *to, const char *url) {
    fprintf(to, "\x1b]8;;%s\x1b\\", url);
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

static size_t char_columns(const char *at, size_t len) {
    uint32_t code = sl_utf8_decode(at, len);
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

void sl_term_clean(char *text) {
    for (size_t len = strlen(text); len > 0;) {
        sl_utf8_char next = sl_utf8_next(text, len);
        if (!next.is_safe)
            memset(text, '?', next.len);
        text += next.len;
        len -= next.len;
    }
}

void sl_term_put(FILE *to, const char *text, size_t len) {
    while (len > 0) {
        sl_utf8_char next = sl_utf8_next(text, len);
        if (next.is_safe)
            fwrite(text, 1, next.len, to);
        else
            putc('?', to);
        text += next.len;
        len -= next.len;
    }
}

void sl_term_printf(FILE *to, const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    for (const char *line = text; *line;) {
        size_t cnt = strcspn(line, "\n");
        sl_term_put(to, line, cnt);
        line += cnt;
        if (*line) {
            putc('\n', to);
            line++;
        }
    }
    free(text);
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
    if (out->how->link && *out->how->link)
        sl_term_put_link(out->to, out->how->link);
    out->used = sl_term_width(lead, strlen(lead));
    out->has_word = false;
}

static void end_line(line *out) {
    if (out->how->link && *out->how->link)
        sl_term_put_link(out->to, "");
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
    while (out->used + width > out->columns) {
        size_t cut = sl_term_fit(word, len, out->columns - out->used);
        if (cut == 0)
            break;
        sl_term_put(out->to, word, cut);
        width -= sl_term_width(word, cut);
        word += cut, len -= cut;
        next_line(out);
    }
    sl_term_put(out->to, word, len);
    out->used += width;
    out->has_word = true;
}

void sl_term_wrap(FILE *to, const sl_wrap *how, const char *text) {
    line out = {.to = to, .how = how, .columns = how->columns ? how->columns : sl_term_columns()};
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

/* Where to cut so that the rest, after "...", fits: at a '/' when one is near, for whole names. Measures
 * each character once: names from an input may be megabytes long. */
static size_t path_cut(const char *text, size_t len, size_t width, size_t columns) {
    size_t skip = 0;
    while (skip < len && width + 3 > columns) {
        size_t step = sl_utf8_length(text + skip, len - skip);
        width -= step ? char_columns(text + skip, step) : 1;
        skip += step ? step : 1;
    }
    const char *slash = memchr(text + skip, '/', len - skip);
    bool is_near = slash && (size_t)(slash - text) - skip <= columns / 3;
    return is_near ? (size_t)(slash - text) : skip;
}

void sl_term_fit_path(char *out, size_t cap, const char *text, size_t columns) {
    size_t len = strlen(text);
    size_t width = sl_term_width(text, len);
    bool is_cut = width > columns;
    size_t skip = is_cut ? path_cut(text, len, width, columns) : 0;
    snprintf(out, cap, "%s%s", is_cut ? "..." : "", text + skip);
    sl_term_clean(out);
}
