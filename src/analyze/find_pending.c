/* SPDX-License-Identifier: MIT */
/* Pending frees: blocks that the program freed but that cannot be reused until another stream has
 * finished with them (record_stream). Counted as bytes at the worst moment and as bytes times
 * seconds. */
#include <inttypes.h>

#include "analyze/an_context.h"
#include "analyze/thresholds.h"
#include "base/text/human.h"

typedef struct pending_sum {
    uint64_t peak_bytes;
    uint32_t peak_event;
    double byte_seconds;
    uint64_t blocks;
    uint32_t worst_stack;
} pending_sum;

static double pending_seconds(const sl_an *an, const sl_life *life) {
    uint32_t end = life->end_event < an->to ? life->end_event : sl_an_end(an);
    return sl_replay_span_us(an->replay, life->drop_event, end) / 1e6;
}

static void sum_lives(const sl_an *an, pending_sum *sum) {
    double worst = 0;
    for (size_t i = 0; i < an->replay->lives.cnt; i++) {
        const sl_life *life = &an->replay->lives.at[i];
        if (life->drop_event >= an->to || life->drop_event < an->from ||
            life->end_event <= life->drop_event + 1)
            continue;
        double cost = (double)life->block_bytes * pending_seconds(an, life);
        sum->blocks++;
        sum->byte_seconds += cost;
        if (cost >= worst) {
            worst = cost;
            sum->worst_stack = life->stack_id;
        }
    }
}

static void find_peak(const sl_an *an, pending_sum *sum) {
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, an->replay);
    while (walk.next < an->to && sl_replay_walk_next(&walk)) {
        uint64_t pending = walk.totals.active_bytes - walk.totals.allocated_bytes;
        if (walk.next > an->from && pending > sum->peak_bytes) {
            sum->peak_bytes = pending;
            sum->peak_event = walk.next - 1;
        }
    }
}

static bool report_pending(sl_an *an, const pending_sum *sum) {
    const sl_device_report *d = sl_an_device(an);
    double share = (double)sum->peak_bytes /
                   (double)(d->peak_allocated_bytes.value ? d->peak_allocated_bytes.value : 1);
    sl_evidence evidence[] = {
        {"pending / allocated peak", share, "1", sl_an_t(an)->pending_share, ">="},
        {"pending bytes at worst", (double)sum->peak_bytes, "bytes", sl_an_t(an)->pending_bytes,
         ">="},
        {"bytes times seconds", sum->byte_seconds, "bytes*s", 0, ">"},
    };
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_PENDING_FREE, SL_SEV_INFO, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->site = sl_user_site(an->trace, sum->worst_stack);
    f->bytes = sl_known_u64(sum->peak_bytes);
    f->blocks = sl_known_u64(sum->blocks);
    f->title = sl_an_text(an, "%s was freed but still in use by another stream",
                          sl_an_bytes(an, sum->peak_bytes));
    f->explanation = sl_an_text(
        an,
        "The program freed %" PRIu64
        " block%s while another stream still used the memory (record_stream). At worst %s, %.0f %% "
        "of the allocated peak, could not be reused yet; most of it is from %s.",
        sum->blocks, sl_plural(sum->blocks), sl_an_bytes(an, sum->peak_bytes), 100 * share,
        sl_site_text(f->site, &an->report->arena));
    f->advice = "Free the tensor on the stream that allocated it after waiting for the other "
                "stream, reuse a fixed set of buffers, or synchronise the streams more often.";
    return true;
}

bool sl_find_pending(sl_an *an) {
    pending_sum sum = {0};
    const sl_device_report *d = sl_an_device(an);
    sum_lives(an, &sum);
    if (sum.blocks)
        find_peak(an, &sum);
    sl_an_reason(an,
                 "pending-free: device %d: %" PRIu64 " block%s waited, %" PRIu64 " bytes at worst",
                 an->device->device, sum.blocks, sl_plural(sum.blocks), sum.peak_bytes);
    if ((double)sum.peak_bytes < sl_an_t(an)->pending_bytes ||
        (double)sum.peak_bytes < sl_an_t(an)->pending_share * (double)d->peak_allocated_bytes.value)
        return true;
    return report_pending(an, &sum);
}
