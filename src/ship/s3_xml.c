/* SPDX-License-Identifier: MIT */
#include "ship/s3_xml.h"

#include <stdio.h>
#include <string.h>

#include "base/core/str.h"

bool sl_s3_xml_next(sl_str answer, size_t *at, const char *name, sl_str *text) {
    char open[64];
    int len = snprintf(open, sizeof open, "<%s>", name);
    const char *found =
        *at < answer.len ? memmem(answer.ptr + *at, answer.len - *at, open, (size_t)len) : NULL;
    if (!found)
        return false;
    found += len;
    size_t left = (size_t)(answer.ptr + answer.len - found);
    const char *end = memchr(found, '<', left);
    if (!end)
        return false;
    *text = (sl_str){found, (size_t)(end - found)};
    *at = (size_t)(end - answer.ptr);
    return true;
}

static const struct {
    const char *entity;
    char c;
} entities[] = {{"&amp;", '&'},   {"&lt;", '<'},  {"&gt;", '>'},  {"&quot;", '"'},
                {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}};

/* The character that begins here and its length; an unknown entity stays as it is. */
static char decode_one(sl_str text, size_t *len) {
    for (size_t i = 0; i < SL_COUNT_OF(entities); i++)
        if (sl_str_starts_with(text, sl_str_of(entities[i].entity))) {
            *len = strlen(entities[i].entity);
            return entities[i].c;
        }
    *len = 1;
    return *text.ptr;
}

bool sl_s3_xml_decode(sl_str text, char *to, size_t cap) {
    size_t used = 0, len;
    for (size_t at = 0; at < text.len; at += len) {
        if (used + 1 >= cap)
            return false;
        to[used++] = decode_one((sl_str){text.ptr + at, text.len - at}, &len);
    }
    to[used] = '\0';
    return true;
}

bool sl_s3_xml_text(sl_str answer, const char *name, char *to, size_t cap) {
    size_t at = 0;
    sl_str text;
    return sl_s3_xml_next(answer, &at, name, &text) && sl_s3_xml_decode(text, to, cap);
}
