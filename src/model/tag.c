/* SPDX-License-Identifier: MIT */
#include "model/tag.h"

#include "base/core/str.h"

static const char *const names[SL_TAG_LIMIT] = {
#define SL_TAG_ROW(name, text, meaning) text,
    SL_TAG_MAP(SL_TAG_ROW)
#undef SL_TAG_ROW
};

const char *sl_tag_name(sl_tag tag) {
    return names[(unsigned)tag < SL_TAG_LIMIT ? tag : SL_TAG_UNKNOWN];
}

const char *sl_tag_meaning(sl_tag tag) {
    static const char *const meanings[SL_TAG_LIMIT] = {
#define SL_TAG_ROW(name, text, meaning) meaning,
        SL_TAG_MAP(SL_TAG_ROW)
#undef SL_TAG_ROW
    };
    return meanings[(unsigned)tag < SL_TAG_LIMIT ? tag : SL_TAG_UNKNOWN];
}

sl_tag sl_tag_find(const char *name, size_t len) {
    for (unsigned tag = 1; tag < SL_TAG_LIMIT; tag++)
        if (sl_str_is((sl_str){name, len}, names[tag]))
            return (sl_tag)tag;
    return SL_TAG_UNKNOWN;
}
