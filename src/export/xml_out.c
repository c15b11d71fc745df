/* SPDX-License-Identifier: MIT */
#include "export/xml_out.h"

#include <string.h>

#include "base/utf8.h"

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
        size_t step = sl_utf8_length(text + at, len - at);
        const char *entity = entity_of(text[at]);
        bool is_control = (unsigned char)text[at] < 0x20 && text[at] != '\n' && text[at] != '\t';
        if (step == 0 || is_control)
            fputs("\xef\xbf\xbd", to);
        else if (entity)
            fputs(entity, to);
        else
            fwrite(text + at, 1, step, to);
        at += step ? step : 1;
    }
}

void sl_xml_attribute(FILE *to, const char *name, const char *value) {
    fprintf(to, " %s=\"", name);
    sl_xml_text(to, value);
    putc('"', to);
}
