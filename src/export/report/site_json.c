/* SPDX-License-Identifier: MIT */
#include "export/report/site_json.h"

static void write_frame_fields(sl_json_out *json, const sl_trace *trace, sl_frame frame) {
    sl_json_key(json, "file");
    sl_json_str(json, sl_strtab_get(&trace->strings, frame.file));
    sl_json_key(json, "line");
    sl_json_maybe_u64(json, (sl_maybe_u64){frame.line, frame.line != 0});
    sl_json_key(json, "function");
    sl_json_str(json, sl_strtab_get(&trace->strings, frame.function));
}

static void write_label_fields(sl_json_out *json, const char *label) {
    static const char *const keys[] = {"file", "line", "function"};
    for (size_t i = 0; i < SL_COUNT_OF(keys); i++) {
        sl_json_key(json, keys[i]);
        sl_json_null(json);
    }
    sl_json_key(json, "label");
    sl_json_cstr(json, label);
}

static void write_stack(sl_json_out *json, sl_site site) {
    const sl_stacks *stacks = &site.trace->stacks;
    size_t depth = sl_stack_depth(stacks, site.stack_id);
    sl_json_key(json, "stack");
    sl_json_begin_array(json);
    for (size_t i = 0; i < depth; i++) {
        sl_json_begin_object(json);
        write_frame_fields(json, site.trace, sl_stack_frame(stacks, site.stack_id, i));
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

void sl_site_json(sl_json_out *json, sl_site site) {
    sl_frame frame;
    if (!site.trace) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    if (sl_site_frame(site, &frame))
        write_frame_fields(json, site.trace, frame);
    else
        write_label_fields(json, sl_site_label(site));
    write_stack(json, site);
    sl_json_end_object(json);
}
