/* SPDX-License-Identifier: MIT */
/* Retries: before it gives up, the allocator waits for the device, returns every unused segment and
 * asks the driver again. In a trace that is a row of segment_free right before a segment_alloc or
 * an oom, in the same call. An explicit empty_cache() looks the same but for its stack. */
#include <inttypes.h>

#include "analyze/allocator/setting_advice.h"
#include "analyze/thresholds.h"
#include "base/text/human.h"
#include "report/device_words.h"

typedef struct retry_count {
    uint64_t cnt, bytes;
    uint32_t first, last; /* events */
    uint32_t stack_id;    /* of the last one's request */
} retry_count;

static retry_count count_retries(const sl_an *an) {
    const sl_events *events = &an->device->events;
    retry_count retries = {.first = SL_IDX_NONE};
    uint64_t released = 0;
    for (uint32_t i = an->from; i < an->to; i++) {
        uint8_t kind = events->kind[i];
        if (kind == SL_EV_DRIVER_ALLOC || kind == SL_EV_DRIVER_FREE)
            continue; /* a recording has the driver's side of it, too */
        if (kind == SL_EV_SEGMENT_FREE || kind == SL_EV_SEGMENT_UNMAP) {
            uint8_t roles = an->sites->classes[events->stack_id[i]].roles;
            released += roles & SL_ROLE_EMPTY_CACHE ? 0 : events->size_bytes[i];
            continue;
        }
        bool is_retry =
            kind == SL_EV_SEGMENT_ALLOC || kind == SL_EV_SEGMENT_MAP || kind == SL_EV_OOM;
        if (released && is_retry) {
            retries.first = retries.first == SL_IDX_NONE ? i : retries.first;
            retries.last = i;
            retries.stack_id = events->stack_id[i];
            retries.bytes += released;
            retries.cnt++;
        }
        released = 0;
    }
    return retries;
}

bool sl_find_retry(sl_an *an) {
    retry_count retries = count_retries(an);
    char times[SL_HUMAN_CAP];
    sl_an_reason(
        an, "retry: device %d: the allocator flushed its cache %s before it took a new segment",
        an->device->device, sl_human_times(times, retries.cnt));
    if (!retries.cnt)
        return true;
    sl_severity severity =
        (double)retries.cnt >= sl_an_t(an)->retry_warning ? SL_SEV_WARNING : SL_SEV_INFO;
    sl_evidence evidence[] = {
        {"retries", (double)retries.cnt, "times", sl_an_t(an)->retry_warning, ">="},
        {"returned", (double)retries.bytes, "bytes", 0, ">"},
    };
    sl_finding *f = sl_an_finding(an, SL_FINDING_RETRY, severity, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->site = sl_user_site(an->trace, retries.stack_id);
    f->bytes = sl_known_u64(retries.bytes);
    f->confidence = an->trace->has_event_stacks ? 0.9 : 0.6;
    f->first_time_us = sl_replay_time(an->replay, retries.first);
    f->last_time_us = sl_replay_time(an->replay, retries.last);
    f->title = sl_an_text(an, "the allocator had to flush its cache %s", times);
    f->explanation =
        sl_an_text(an,
                   "A request did not fit %s: the allocator waited for the whole device, returned "
                   "%s to the driver and tried again. Each flush costs a synchronisation and new "
                   "device allocations: %s is nearly full.",
                   times, sl_an_bytes(an, retries.bytes),
                   sl_device_words_of(an->trace, an->device->device)->name);
    return sl_an_advise_retries(an, f, "Lower the peak (batch, activation checkpointing).");
}
