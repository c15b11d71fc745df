/* SPDX-License-Identifier: MIT */
#include "export/md_out.h"

#include <string.h>

void sl_md_text(FILE *to, const char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20)
            putc(' ', to);
        else if (*text == '<')
            fputs("&lt;", to);
        else {
            if (strchr("\\`*_[]|#", *text))
                putc('\\', to);
            putc(*text, to);
        }
    }
}

/* Two backticks and a space on each side, so that a single one inside is harmless; runs of them
 * are broken up. A bar is escaped because tables are split before code is recognised. */
void sl_md_code(FILE *to, const char *text) {
    fputs("`` ", to);
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20)
            putc(' ', to);
        else if (*text == '|')
            fputs("\\|", to);
        else {
            putc(*text, to);
            if (*text == '`' && text[1] == '`')
                putc(' ', to);
        }
    }
    fputs(" ``", to);
}
