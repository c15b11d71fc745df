/* SPDX-License-Identifier: MIT */
/* A CSV table with one row per device and step: what was live when the step ended, and the highest within
 * it. For programs that draw curves over steps. Steps have the numbers of the moment @step:N. */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/order.h"
#include "export/formats/exporter.h"

static void put_row(FILE *to, const sl_replay_walk *walk, uint64_t step,
                    const sl_replay_totals *peak) {
    const sl_replay *replay = walk->replay;
    uint32_t last = walk->next ? walk->next - 1 : SL_EVENT_BEFORE;
    fprintf(to, "%d,%zu,%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
            replay->device->device, step, sl_replay_time(replay, last),
            walk->totals.requested_bytes, peak->requested_bytes, walk->totals.allocated_bytes,
            peak->allocated_bytes);
    if (replay->reserved_known)
        fprintf(to, ",%" PRIu64 ",%" PRIu64 "\n", walk->totals.reserved_bytes,
                peak->reserved_bytes);
    else
        fputs(",,\n", to); /* not known, which is not 0 */
}

/* Runs to the end of the step and keeps the highest totals on the way. */
static void walk_step(sl_replay_walk *walk, uint32_t end, sl_replay_totals *peak) {
    *peak = walk->totals;
    while (walk->next < end && sl_replay_walk_next(walk)) {
        const sl_replay_totals *now = &walk->totals;
        peak->requested_bytes = sl_max_u64(peak->requested_bytes, now->requested_bytes);
        peak->allocated_bytes = sl_max_u64(peak->allocated_bytes, now->allocated_bytes);
        peak->reserved_bytes = sl_max_u64(peak->reserved_bytes, now->reserved_bytes);
    }
}

static sl_status put_device(FILE *to, const sl_run_device *device, sl_error *err) {
    const sl_replay *replay;
    const sl_steps *steps;
    SL_TRY(sl_run_replay(device, &replay, err));
    SL_TRY(sl_run_steps(device, &steps, err));
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    for (size_t i = 0; i < steps->ended_cnt; i++) {
        sl_step_range range = sl_steps_range(steps, replay, i);
        sl_replay_totals peak;
        walk_step(&walk, range.from, &peak); /* events before the first step */
        walk_step(&walk, range.to, &peak);
        put_row(to, &walk, sl_steps_number(steps, i), &peak);
    }
    return SL_OK;
}

sl_status sl_export_steps_csv(const sl_run_input *input, const sl_export_options *options, FILE *to,
                              sl_error *err) {
    SL_TRY(sl_export_check_events(input, "steps-csv", err));
    fputs("device,step,end_time_us,live_requested_bytes,peak_requested_bytes,allocated_bytes,"
          "peak_allocated_bytes,reserved_bytes,peak_reserved_bytes\n",
          to);
    for (size_t i = 0; i < input->device_cnt; i++)
        if (sl_export_wants_device(options, input->devices[i].events->device))
            SL_TRY(put_device(to, &input->devices[i], err));
    return sl_export_finish(to, err);
}
