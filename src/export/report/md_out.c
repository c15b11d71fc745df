/* SPDX-License-Identifier: MIT */
#include "export/report/md_out.h"

#include <string.h>

#include "base/text/utf8.h"

/* Writes a character that has more than one byte or is not safe; a line end becomes a space.
 * Returns the bytes consumed, 0 for plain ASCII, which the callers escape. */
static size_t put_special(FILE *to, const char *text) {
    sl_utf8_char next = sl_utf8_next(text, strlen(text));
    if (!next.is_safe)
        putc(strchr("\t\n\r", *text) ? ' ' : '?', to);
    else if (next.len > 1)
        fwrite(text, 1, next.len, to);
    else
        return 0;
    return next.len;
}

void sl_md_text(FILE *to, const char *text) {
    for (size_t taken; *text; text += taken) {
        taken = put_special(to, text);
        if (taken)
            continue;
        taken = 1;
        if (*text == '<') {
            fputs("&lt;", to);
            continue;
        }
        if (strchr("\\`*_[]|#", *text))
            putc('\\', to);
        putc(*text, to);
    }
}

/* Two backticks and a space on each side, so that a single one inside is harmless; runs of them
 * are broken up. A bar is escaped because tables are split before code is recognised. */
void sl_md_code(FILE *to, const char *text) {
    fputs("`` ", to);
    for (size_t taken; *text; text += taken) {
        taken = put_special(to, text);
        if (taken)
            continue;
        taken = 1;
        if (*text == '|')
            putc('\\', to);
        putc(*text, to);
        if (*text == '`' && text[1] == '`')
            putc(' ', to);
    }
    fputs(" ``", to);
}
