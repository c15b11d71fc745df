/* SPDX-License-Identifier: MIT */
/* "outer;inner;innermost bytes", one line per stack: the input of flamegraph.pl, speedscope and
 * inferno. Live bytes at one instant, as requested by the program. */
#include <inttypes.h>
#include <string.h>

#include "base/text/term.h"
#include "export/formats/exporter.h"
#include "run/lines/stack_sums.h"

/* A frame name must not hold the separator or a line end; the last space belongs to the number. */
static void put_name(FILE *to, sl_str name) {
    while (name.len > 0) {
        const char *end = memchr(name.ptr, ';', name.len);
        size_t len = end ? (size_t)(end - name.ptr) : name.len;
        sl_term_put(to, name.ptr, len);
        if (end)
            putc(':', to);
        len += end != NULL;
        name = (sl_str){name.ptr + len, name.len - len};
    }
}

static void put_frame(FILE *to, const sl_trace *trace, sl_frame frame) {
    put_name(to, sl_strtab_get(&trace->strings, frame.function));
    sl_str file = sl_strtab_get(&trace->strings, frame.file);
    if (file.len == 0)
        return;
    fputs(" (", to);
    put_name(to, file);
    if (frame.line)
        fprintf(to, ":%u", frame.line);
    putc(')', to);
}

static void put_stack(FILE *to, const sl_trace *trace, int device, uint32_t stack_id) {
    size_t depth = sl_stack_depth(&trace->stacks, stack_id);
    if (trace->devices.cnt > 1)
        fprintf(to, "device %d;", device);
    if (depth == 0)
        fputs("no recorded stack", to);
    for (size_t i = depth; i > 0; i--) {
        put_frame(to, trace, sl_stack_frame(&trace->stacks, stack_id, i - 1));
        if (i > 1)
            putc(';', to);
    }
}

static sl_status write_device(const sl_run_device *device, const sl_export_options *options,
                              FILE *to, sl_error *err) {
    const sl_trace *trace = device->input->trace;
    sl_state state;
    SL_TRY(sl_run_state_at(device, options->at, &state, err));
    sl_stack_sum *sums = sl_stack_sums_new(trace);
    bool is_done = sums && sl_stack_sums_live(state.replay, state.event, sums);
    for (size_t id = 0; is_done && id < sl_stack_sums_cnt(trace); id++) {
        if (sums[id].bytes == 0)
            continue;
        put_stack(to, trace, device->events->device, (uint32_t)id);
        fprintf(to, " %" PRIu64 "\n", sums[id].bytes);
    }
    free(sums);
    return is_done ? SL_OK : sl_fail_no_memory(err, "the live blocks");
}

sl_status sl_export_folded(const sl_run_input *input, const sl_export_options *options, FILE *to,
                           sl_error *err) {
    for (size_t i = 0; i < input->device_cnt; i++)
        if (sl_export_wants_device(options, input->devices[i].events->device))
            SL_TRY(write_device(&input->devices[i], options, to, err));
    return sl_export_finish(to, err);
}
