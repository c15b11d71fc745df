/* SPDX-License-Identifier: MIT */
#include "export/site_json.h"

static void write_frame_fields(sl_json_out *json, const sl_trace *trace, sl_frame frame) {
    sl_json_key(json, "file");
    sl_json_str(json, sl_strtab_get(&trace->strings, frame.file));
    sl_json_key(json, "line");
    sl_json_maybe_u64(json, (sl_maybe_u64){frame.line, frame.line != 0});
    sl_json_key(json, "function");
    sl_json_str(json, sl_strtab_get(&trace->strings, frame.function));
}

void sl_site_json(sl_json_out *json, sl_site site) {
    sl_frame frame;
    if (!sl_site_frame(site, &frame)) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    write_frame_fields(json, site.trace, frame);
    sl_json_key(json, "stack");
    sl_json_begin_array(json);
    size_t depth = sl_stack_depth(&site.trace->stacks, site.stack_id);
    for (size_t i = 0; i < depth; i++) {
        sl_json_begin_object(json);
        write_frame_fields(json, site.trace, sl_stack_frame(&site.trace->stacks, site.stack_id, i));
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    sl_json_end_object(json);
}
