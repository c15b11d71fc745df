/* SPDX-License-Identifier: MIT */
/* UTF-8, one character at a time: what is valid, and what may be shown. */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include "base/core/sl_base.h"

/* Bytes of the character that starts here (1..4), or 0 when the bytes are not valid UTF-8. */
size_t sl_utf8_length(const char *at, size_t left);

/* The code point of a valid character of len bytes. */
uint32_t sl_utf8_decode(const char *at, size_t len);

typedef struct sl_utf8_char {
    size_t len;   /* bytes to go on by, at least 1 */
    bool is_safe; /* it may reach a terminal, a page, XML or Markdown as it is */
} sl_utf8_char;

/* The next character of a text from an input; left > 0. Not safe: bytes that are not UTF-8, control
 * characters (C0, DEL, C1: a terminal obeys them), and characters that reorder or hide the text around
 * them (bidirectional controls, tags, line separators). This is the one place that decides it; each
 * writer only chooses what it puts instead. */
sl_utf8_char sl_utf8_next(const char *at, size_t left);

#endif
