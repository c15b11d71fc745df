/* SPDX-License-Identifier: MIT */
#include "whatif/facts/whatif_fact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void free_fact(void *kept) {
    sl_whatif_fact *fact = kept;
    sl_whatif_free(fact->answer);
    free(fact);
}

/* Events that were replayed for the run so far (F2). */
static uint64_t count_replayed(const sl_run *run) {
    uint64_t cnt = 0;
    for (size_t i = 0; i < run->input_cnt; i++)
        for (size_t d = 0; d < run->inputs[i].device_cnt; d++) {
            const sl_run_device *device = &run->inputs[i].devices[d];
            const sl_whatif_fact *fact = sl_run_whatif_slot(device)->fact;
            cnt += fact && fact->answer ? device->events->events.cnt : 0;
        }
    return cnt;
}

static void say_too_long(const sl_run_device *device, uint64_t before, sl_whatif_fact *fact) {
    fact->state = SL_WHATIF_TOO_LONG;
    if (before)
        snprintf(fact->why, sizeof fact->why,
                 "%" PRIu64 " events of this run were replayed already, and %u is the limit",
                 before, SL_WHATIF_EVENTS_MAX);
    else
        snprintf(fact->why, sizeof fact->why, "the trace has %zu events, and %u is the limit",
                 device->events->events.cnt, SL_WHATIF_EVENTS_MAX);
}

/* Finds a reason that needs no replay; false when there is none. */
static bool is_left_out(const sl_run_device *device, sl_whatif_fact *fact) {
    const sl_events *events = &device->events->events;
    uint64_t before = count_replayed(device->input->run);
    fact->state = SL_WHATIF_IMPOSSIBLE;
    if (device->events->device == SL_DEVICE_HOST)
        snprintf(fact->why, sizeof fact->why, "host memory has another allocator");
    else if (events->cnt < 2)
        snprintf(fact->why, sizeof fact->why, "the input has no history of the card");
    else if (device->input->run->effort.no_whatif)
        fact->state = SL_WHATIF_OFF;
    else if (!device->input->run->effort.is_patient && before + events->cnt > SL_WHATIF_EVENTS_MAX)
        say_too_long(device, before, fact);
    else
        return false;
    return true;
}

static sl_status replay(const sl_run_device *device, sl_whatif_fact *fact, sl_error *err) {
    sl_error here = SL_ERROR_INIT;
    unsigned threads = device->input->run->effort.thread_cnt;
    const sl_whatif_options options = {.thread_cnt = threads ? threads : 1};
    sl_whatif *answer = NULL;
    sl_status status = sl_whatif_new(device, &options, &answer, &here);
    if (status == SL_E_NOMEM) {
        if (err)
            *err = here;
        return status;
    }
    if (status < 0) {
        snprintf(fact->why, sizeof fact->why, "%.*s", SL_WHATIF_WHY - 1, here.text);
        return SL_OK;
    }
    fact->answer = answer;
    fact->state = answer->refusal[0] ? SL_WHATIF_REFUSED : SL_WHATIF_ANSWERED;
    snprintf(fact->why, sizeof fact->why, "%s", answer->refusal);
    return SL_OK;
}

sl_status sl_whatif_of(const sl_run_device *device, const sl_whatif_fact **out, sl_error *err) {
    sl_run_slot *slot = sl_run_whatif_slot(device);
    if (!slot->fact) {
        sl_whatif_fact *fact = calloc(1, sizeof *fact);
        if (!fact)
            return sl_fail_no_memory(err, "the answer");
        sl_status status = is_left_out(device, fact) ? SL_OK : replay(device, fact, err);
        if (status < 0) {
            free(fact);
            return status;
        }
        *slot = (sl_run_slot){fact, free_fact};
    }
    *out = slot->fact;
    return SL_OK;
}
