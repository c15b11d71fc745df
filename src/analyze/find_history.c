/* SPDX-License-Identifier: MIT */
/* What is missing from the input. Each finding says what is therefore unknown. */
#include <inttypes.h>
#include <math.h>

#include "analyze/an_context.h"
#include "base/text/human.h"
#include "report/device_words.h"

static bool add(sl_an *an, const sl_evidence *evidence, const char *title, const char *explanation,
                const char *advice) {
    sl_finding *f = sl_an_finding(an, SL_FINDING_HISTORY, SL_SEV_INFO, evidence, 1);
    if (!f)
        return false;
    f->title = title;
    f->explanation = explanation;
    f->advice = advice;
    return true;
}

static const char *advise_history(sl_an *an) {
    const char *history = sl_device_words_of(an->trace, an->device->device)->history;
    if (!history)
        return "Run the program under `stormlog run`.";
    return sl_an_text(an,
                      "Record with %s before the part of interest, or run the program under "
                      "`stormlog run`.",
                      history);
}

static bool report_state_only(sl_an *an) {
    sl_evidence evidence = {"events", (double)an->device->events.cnt, "events", 1, "<="};
    return add(an, &evidence, "no event history: only the state at the moment of the dump",
               "The input lists the blocks that were live when it was written, but no events "
               "before that: peak, growth, leaks and spikes are unknown.",
               advise_history(an));
}

static bool report_overflow(sl_an *an) {
    const sl_replay *replay = an->replay;
    sl_evidence evidence = {"frees of blocks from before the trace",
                            (double)replay->unmatched_frees, "events", 0, ">"};
    return add(an, &evidence,
               sl_an_text(an, "the trace begins in the middle: %s was live before it",
                          sl_an_bytes(an, replay->start.requested_bytes)),
               sl_an_text(an,
                          "%" PRIu64
                          " freed block%s (%s) had been allocated before the first event: the "
                          "recording began late, or its ring overflowed and the oldest events were "
                          "overwritten. What allocated those blocks, and any peak before the first "
                          "event, is unknown; the totals are still exact.",
                          replay->unmatched_frees, sl_plural(replay->unmatched_frees),
                          sl_an_bytes(an, replay->unmatched_bytes)),
               "Start recording earlier or raise max_entries.");
}

static bool report_residue(sl_an *an) {
    const sl_replay *replay = an->replay;
    sl_evidence evidence = {"replayed events minus final state", (double)replay->identity_residue,
                            "bytes", 0, "!="};
    return add(an, &evidence, "the events and the final state do not add up",
               sl_an_text(an,
                          "Replaying the events gives %" PRIu64
                          " bytes %s than the blocks that are "
                          "live in the final state; %" PRIu64
                          " free%s missing. Events were lost (skipped actions, an overflow "
                          "inside the trace, another thread during the dump), so curves may be off "
                          "by that much; the final state is the allocator's own.",
                          replay->identity_residue < 0 ? 0 - (uint64_t)replay->identity_residue
                                                       : (uint64_t)replay->identity_residue,
                          replay->identity_residue < 0 ? "less" : "more", replay->lost_frees,
                          replay->lost_frees == 1 ? " is" : "s are"),
               "Record without skip_actions and dump while no other thread allocates.");
}

static bool report_dropped(sl_an *an) {
    sl_evidence evidence = {"dropped events", (double)an->device->dropped_events, "events", 0, ">"};
    return add(an, &evidence, "events were dropped while recording",
               sl_an_text(an,
                          "%" PRIu64 " event%s dropped, so the input has gaps. The recorder's "
                          "totals per line of code are complete.",
                          an->device->dropped_events,
                          an->device->dropped_events == 1 ? " was" : "s were"),
               "Record with a larger ring: `stormlog run --ring 1GiB`.");
}

bool sl_find_history(sl_an *an) {
    const sl_replay *replay = an->replay;
    bool ok = true;
    if (!replay->has_history)
        ok = report_state_only(an);
    if (ok && replay->has_history && replay->unmatched_frees)
        ok = report_overflow(an);
    if (ok && replay->has_history && !replay->identity_holds)
        ok = report_residue(an);
    if (ok && an->device->dropped_events)
        ok = report_dropped(an);
    sl_an_reason(an,
                 "history: device %d: replayed %" PRIu32
                 " event%s; events and final state %s (difference %" PRId64
                 " bytes); the size of %" PRIu64 " block%s was estimated",
                 an->device->device, replay->event_cnt, sl_plural(replay->event_cnt),
                 replay->identity_holds ? "agree" : "disagree", replay->identity_residue,
                 replay->rounded_by_rule, sl_plural(replay->rounded_by_rule));
    return ok;
}
