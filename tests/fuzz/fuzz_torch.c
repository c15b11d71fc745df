/* SPDX-License-Identifier: MIT */
/* Any bytes as a snapshot: the reader may refuse them, never crash, hang or grow without bound. What was
 * loaded goes through every view. */
#include <stdlib.h>

#include "fuzz_views.h"
#include "read/core/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Walks what was loaded as an analysis would, so that a wrong index is seen. */
static uint64_t walk(const sl_trace *trace) {
    uint64_t sum = 0;
    for (size_t d = 0; d < trace->devices.cnt; d++) {
        const sl_device_trace *device = trace->devices.at[d];
        for (size_t i = 0; i < device->events.cnt; i++) {
            sl_event event = sl_events_get(&device->events, i);
            sum += sl_stack_depth(&trace->stacks, event.stack_id);
            if (event.stream_idx < trace->streams.cnt)
                sum += trace->streams.at[event.stream_idx];
            if (event.pool_idx < trace->pools.cnt)
                sum += (uint64_t)trace->pools.at[event.pool_idx].user_id;
            for (size_t f = 0; f < sl_stack_depth(&trace->stacks, event.stack_id); f++) {
                sl_frame frame = sl_stack_frame(&trace->stacks, event.stack_id, f);
                sum += sl_strtab_get(&trace->strings, frame.function).len + frame.line;
            }
        }
        for (size_t i = 0; i < device->blocks.cnt; i++)
            if (device->blocks.at[i].segment_idx != SL_IDX_NONE)
                sum += device->segments.at[device->blocks.at[i].segment_idx].addr;
    }
    return sum;
}

typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
} fuzz_bytes;

/* What the full-screen program shows before the events are read. */
static void see_end_state(void *ctx, sl_trace *trace) {
    const fuzz_bytes *bytes = ctx;
    volatile uint64_t sum = walk(trace);
    SL_UNUSED(sum);
    fuzz_views(trace, bytes->data, bytes->size);
}

static void load_in_two_steps(const uint8_t *data, size_t size) {
    fuzz_bytes bytes = {data, size};
    sl_load_options options = {.on_end_state = see_end_state, .on_end_state_ctx = &bytes};
    sl_byte_stream in;
    sl_trace *trace = sl_trace_new("input", SL_SOURCE_TORCH_SNAPSHOT);
    sl_bytes_init(&in, data, size);
    if (trace)
        (void)sl_source_torch_pickle.load(&(sl_source_input){"input", &in, &options}, trace, NULL);
    sl_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_trace *trace;
    load_in_two_steps(data, size);
    sl_error err = SL_ERROR_INIT;
    if (sl_trace_load_memory("input", data, size, &trace, &err) < 0) {
        if (err.text[0] == '\0')
            abort();
        return 0;
    }
    volatile uint64_t sum = walk(trace);
    SL_UNUSED(sum);
    fuzz_views(trace, data, size);
    sl_trace_free(trace);
    return 0;
}
