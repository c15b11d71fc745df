/* SPDX-License-Identifier: MIT */
#include "export/report/xml_out.h"

#include <string.h>

#include "base/text/utf8.h"

static const char *entity_of(char c) {
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    default: return NULL;
    }
}

void sl_xml_text(FILE *to, const char *text) {
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        sl_utf8_char next = sl_utf8_next(text + at, len - at);
        const char *entity = entity_of(text[at]);
        if (entity)
            fputs(entity, to);
        else if (next.is_safe || text[at] == '\n' || text[at] == '\t')
            fwrite(text + at, 1, next.len, to);
        else
            fputs("\xef\xbf\xbd", to);
        at += next.len;
    }
}

void sl_xml_attribute(FILE *to, const char *name, const char *value) {
    fprintf(to, " %s=\"", name);
    sl_xml_text(to, value);
    putc('"', to);
}
