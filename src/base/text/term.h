/* SPDX-License-Identifier: MIT */
/* What a person sees: colour and links where they are wanted, and paragraphs that fit. Text is as wide as
 * the terminal it goes to, within limits; anywhere else 80 columns, which tickets and chat windows show. */
#ifndef SL_TERM_H
#define SL_TERM_H

#include <stdio.h>

#include "base/core/sl_base.h"

#define SL_TERM_COLUMNS     80 /* default */
#define SL_TERM_COLUMNS_MIN 40
#define SL_TERM_COLUMNS_MAX 200
/* On a narrower terminal a row of a table has its path on a line of its own. */
#define SL_TERM_NARROW      60

/* How wide text for this stream may be: COLUMNS of the environment, else the terminal's own width, else
 * SL_TERM_COLUMNS; from _MIN to _MAX. */
size_t sl_term_columns_of(FILE *to);

/* From now on all text is as wide as this stream. The command line calls it before it prints;
 * callers that do not (the library, the Python module) get SL_TERM_COLUMNS. */
void sl_term_follow(FILE *to);
size_t sl_term_columns(void);

/* enumerator, SGR codes. */
#define SL_TERM_STYLE_MAP(X) \
    X(PLAIN, "0")            \
    X(BOLD, "1")             \
    X(DIM, "2")              \
    X(BAD, "1;31")           \
    X(WARN, "33")            \
    X(GOOD, "32")            \
    X(PLACE, "36")

typedef enum sl_term_style {
#define SL_TERM_ENUM(name, sgr) SL_STYLE_##name,
    SL_TERM_STYLE_MAP(SL_TERM_ENUM)
#undef SL_TERM_ENUM
} sl_term_style;

/* True when this stream is a terminal that takes colour and nobody said NO_COLOR. */
bool sl_term_has_color(FILE *to);

/* True when the same stream may get links (OSC 8): a terminal that does not know them ignores them. */
bool sl_term_has_links(FILE *to);

/* The address of a line of a file on this host; "" when the path is relative or does not fit. Returns buf. */
#define SL_TERM_URL_CAP 1024
const char *sl_term_file_url(char buf[SL_TERM_URL_CAP], const char *path, uint32_t line);

/* Starts a link; "" ends it. */
void sl_term_put_link(FILE *to, const char *url);

/* The code that starts a style, or "" when there is no colour. */
const char *sl_term_sgr(bool has_color, sl_term_style style);

/* Columns the text takes: one per character, two for wide ones, none for combining marks as far
 * as the C library knows them; bytes that are not UTF-8 take one each. */
size_t sl_term_width(const char *text, size_t len);

typedef struct sl_wrap {
    const char *first; /* in front of the first line */
    const char *rest;  /* in front of every further line */
    size_t columns;    /* whole width; 0 = sl_term_columns() */
    sl_term_style style;
    bool has_color;
    const char *link; /* the text leads there; NULL or "" = nowhere */
} sl_wrap;

/* Puts '?' in place of everything that is not safe to show (sl_utf8_next). Names from an input may
 * hold it, and so may the names of files. */
void sl_term_clean(char *text);

/* Prints a text, cleaned in the same way. */
void sl_term_put(FILE *to, const char *text, size_t len);

/* printf whose result is cleaned in the same way, except for line ends: for lines with texts of an
 * input. */
void sl_term_printf(FILE *to, const char *fmt, ...) SL_PRINTF(2, 3);

/* Prints text, cleaned, as one wrapped paragraph, ending in a newline. A word longer than the line is cut
 * between characters, so no line is ever too wide. */
void sl_term_wrap(FILE *to, const sl_wrap *how, const char *text);

/* Bytes from the front of text that fit into the columns. */
size_t sl_term_fit(const char *text, size_t len, size_t columns);

/* Copies text to out, cleaned, a path shortened from the left to "...tail" when it is wider than columns. */
void sl_term_fit_path(char *out, size_t cap, const char *text, size_t columns);

#endif
