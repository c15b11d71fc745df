/* SPDX-License-Identifier: MIT */
/* What can be said and set right only when the whole snapshot has been read. */
#include <stdlib.h>

#include "base/text/human.h"
#include "read/torch/torch_build.h"

/* --- Events ----------------------------------------------------------------------------------- */

static void count_instead_of_time(sl_trace *trace) {
    for (size_t d = 0; d < trace->devices.cnt; d++) {
        sl_events *events = &trace->devices.at[d]->events;
        for (size_t i = 0; i < events->cnt; i++)
            events->time_us[i] = (int64_t)i;
    }
}

static void set_clock(const sl_torch_build *build) {
    sl_trace *trace = build->trace;
    trace->has_time = build->total_cnt > 0 && build->timeless_cnt == 0;
    if (build->timeless_cnt == 0)
        return;
    count_instead_of_time(trace);
    if (build->timeless_cnt < build->total_cnt)
        sl_trace_note(
            trace, "%llu of %llu events have no time_us; the event's index is used as the clock",
            (unsigned long long)build->timeless_cnt, (unsigned long long)build->total_cnt);
}

static sl_status sort_events(sl_trace *trace, sl_error *err) {
    char times[SL_HUMAN_CAP];
    for (size_t d = 0; d < trace->devices.cnt; d++) {
        sl_device_trace *device = trace->devices.at[d];
        int64_t moved = sl_events_sort(&device->events);
        if (moved < 0)
            return sl_fail_no_memory(err, "the order of the snapshot");
        if (moved > 0)
            sl_trace_note(trace,
                          "device %d: time went backwards %s (a ring that was resized while "
                          "recording); the events were sorted by time",
                          device->device, sl_human_times(times, (uint64_t)moved));
    }
    return SL_OK;
}

static void note_history(const sl_torch_build *build) {
    bool is_on = false;
    for (size_t d = 0; d < build->trace->devices.cnt; d++)
        is_on |= build->trace->devices.at[d]->events.cnt > 1;
    if (!is_on)
        sl_trace_note(build->trace,
                      "the snapshot has %s: its history was off, so only the final state is known; "
                      "call torch.cuda.memory._record_memory_history(max_entries=1000000) before "
                      "the part of interest",
                      build->total_cnt ? "one event" : "no events");
}

/* --- End state -------------------------------------------------------------------------------- */

static int compare_segments(const void *a, const void *b) {
    const sl_segment *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->first_block < y->first_block ? -1 : x->first_block > y->first_block;
}

static bool blocks_are_sorted(const sl_block *blocks, size_t cnt) {
    for (size_t i = 1; i < cnt; i++)
        if (blocks[i].addr < blocks[i - 1].addr)
            return false;
    return true;
}

static bool is_sorted(const sl_device_trace *device) {
    for (size_t i = 1; i < device->segments.cnt; i++)
        if (device->segments.at[i].addr < device->segments.at[i - 1].addr)
            return false;
    return true;
}

static void sort_blocks(sl_device_trace *device) {
    for (size_t i = 0; i < device->segments.cnt; i++) {
        const sl_segment *segment = &device->segments.at[i];
        if (segment->block_cnt < 2)
            continue;
        sl_block *first = device->blocks.at + segment->first_block;
        if (!blocks_are_sorted(first, segment->block_cnt))
            qsort(first, segment->block_cnt, sizeof *first, sl_block_compare_addr);
    }
}

/* Segments in order of address, and their blocks moved along. */
static sl_status sort_segments(sl_device_trace *device, sl_error *err) {
    if (is_sorted(device))
        return SL_OK;
    qsort(device->segments.at, device->segments.cnt, sizeof *device->segments.at, compare_segments);
    sl_block *moved = malloc((device->blocks.cnt + 1) * sizeof *moved);
    if (!moved)
        return sl_fail_no_memory(err, "the order of the snapshot");
    size_t cnt = 0;
    for (size_t i = 0; i < device->segments.cnt; i++) {
        sl_segment *segment = &device->segments.at[i];
        for (uint32_t b = 0; b < segment->block_cnt; b++) {
            moved[cnt + b] = device->blocks.at[segment->first_block + b];
            moved[cnt + b].segment_idx = (uint32_t)i;
        }
        segment->first_block = (uint32_t)cnt;
        cnt += segment->block_cnt;
    }
    free(device->blocks.at);
    device->blocks.at = moved;
    device->blocks.cap = device->blocks.cnt + 1;
    return SL_OK;
}

sl_status sl_torch_settle_segments(const sl_torch_build *build, sl_error *err) {
    for (size_t d = 0; d < build->trace->devices.cnt; d++) {
        sl_device_trace *device = build->trace->devices.at[d];
        device->has_end_state = build->has_segments;
        sort_blocks(device);
        SL_TRY(sort_segments(device, err));
    }
    return SL_OK;
}

static void note_unbalanced(const sl_torch_build *build) {
    if (build->unbalanced_segments)
        sl_trace_note(build->trace,
                      "%llu segment%s: the blocks do not add up to the size of the segment; totals "
                      "by block and by segment will differ",
                      (unsigned long long)build->unbalanced_segments,
                      sl_plural(build->unbalanced_segments));
}

/* --- Marks ------------------------------------------------------------------------------------ */

typedef struct mark_key {
    sl_mark mark;
    size_t i;
} mark_key;

static int compare_marks(const void *a, const void *b) {
    const mark_key *x = a, *y = b;
    if (x->mark.time_us != y->mark.time_us)
        return x->mark.time_us < y->mark.time_us ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

static bool marks_are_sorted(const sl_trace *trace) {
    for (size_t i = 1; i < trace->marks.cnt; i++)
        if (trace->marks.at[i].time_us < trace->marks.at[i - 1].time_us)
            return false;
    return true;
}

static sl_status sort_marks(sl_trace *trace, sl_error *err) {
    if (marks_are_sorted(trace))
        return SL_OK;
    mark_key *keys = malloc(trace->marks.cnt * sizeof *keys);
    if (!keys)
        return sl_fail_no_memory(err, "the order of the snapshot");
    for (size_t i = 0; i < trace->marks.cnt; i++)
        keys[i] = (mark_key){trace->marks.at[i], i};
    qsort(keys, trace->marks.cnt, sizeof *keys, compare_marks);
    for (size_t i = 0; i < trace->marks.cnt; i++)
        trace->marks.at[i] = keys[i].mark;
    free(keys);
    return SL_OK;
}

sl_status sl_torch_finish(sl_torch_build *build, sl_error *err) {
    set_clock(build);
    SL_TRY(sort_events(build->trace, err));
    SL_TRY(sl_torch_settle_segments(build, err));
    note_unbalanced(build);
    SL_TRY(sort_marks(build->trace, err));
    note_history(build);
    return SL_OK;
}
