/* SPDX-License-Identifier: MIT */
#include "run/lines/site.h"

#include <string.h>

static const char *const origin_labels[] = {
#define SL_ORIGIN_ROW(name, text) [SL_ORIGIN_##name] = (text),
    SL_ORIGIN_MAP(SL_ORIGIN_ROW)
#undef SL_ORIGIN_ROW
};

const char *sl_site_label(sl_site site) {
    sl_frame frame;
    if (sl_site_frame(site, &frame))
        return NULL;
    if (!site.trace || site.origin == SL_ORIGIN_LINE)
        return "(unknown)";
    return origin_labels[site.origin];
}

bool sl_site_frame(sl_site site, sl_frame *frame) {
    if (!site.trace || site.origin != SL_ORIGIN_LINE ||
        site.frame_pos >= sl_stack_depth(&site.trace->stacks, site.stack_id))
        return false;
    *frame = sl_stack_frame(&site.trace->stacks, site.stack_id, site.frame_pos);
    return true;
}

bool sl_group_by_find(const char *name, sl_group_by *group_by) {
    static const char *const names[] = {"line", "function", "file", "stack"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *group_by = (sl_group_by)i;
            return true;
        }
    return false;
}
