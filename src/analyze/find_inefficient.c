/* SPDX-License-Identifier: MIT */
/* Inefficient use, as far as the times of allocation and free show it. They do not show when a
 * kernel used a block, so "allocated too early" and "idle" are not reported. What they do show is a
 * late free: at the peak, a block of the step before is still there although the same call has
 * already made its successor (the previous batch, loss or output, held by a loop variable until it
 * is assigned again). Its bytes raise the peak for nothing. */
#include <inttypes.h>

#include "analyze/an_context.h"
#include "analyze/thresholds.h"
#include "base/text/human.h"

typedef struct late_free {
    uint64_t bytes, blocks;
    uint64_t worst_bytes;
    uint32_t worst_stack;
} late_free;

/* The newest live block of each stack at the event; index + 1, by stack id. */
static uint32_t *newest_by_stack(const sl_an *an, const sl_life_ids *live) {
    uint32_t *newest = calloc(an->trace->stacks.spans.cnt + 1, sizeof *newest);
    for (size_t i = 0; newest && i < live->cnt; i++) {
        const sl_life *life = &an->replay->lives.at[live->at[i]];
        if (!(life->flags & SL_LIFE_BASE))
            newest[life->stack_id] = live->at[i] + 1; /* ids ascend with the beginning */
    }
    return newest;
}

/* Allocated in the previous step, freed within the step of the peak, and its successor already
 * exists. Older blocks were kept on purpose or by a leak. */
static bool is_late(const sl_an *an, const sl_life *life, const sl_life *newest, size_t step) {
    uint32_t begin = an->steps->borders.at[step];
    uint32_t before = step > 0 ? an->steps->borders.at[step - 1] : 0;
    uint32_t end = step + 1 < an->steps->borders.cnt ? an->steps->borders.at[step + 1] : an->to;
    return life->stack_id != SL_STACK_EMPTY && !(life->flags & SL_LIFE_BASE) &&
           life->begin_event >= before && life->begin_event < begin && life->drop_event < end &&
           newest->begin_event >= begin && newest->requested_bytes * 2 > life->requested_bytes;
}

static bool find_late(const sl_an *an, uint32_t event, late_free *late) {
    sl_life_ids live = {0};
    bool ok = sl_replay_live_at(an->replay, event, &live);
    uint32_t *newest = ok ? newest_by_stack(an, &live) : NULL;
    ok = ok && newest;
    size_t step = sl_steps_at(an->steps, event);
    for (size_t i = 0; ok && i < live.cnt; i++) {
        const sl_life *life = &an->replay->lives.at[live.at[i]];
        uint32_t next = newest[life->stack_id];
        if (!next || !is_late(an, life, &an->replay->lives.at[next - 1], step))
            continue;
        late->bytes += life->requested_bytes;
        late->blocks++;
        if (life->requested_bytes >= late->worst_bytes) {
            late->worst_bytes = life->requested_bytes;
            late->worst_stack = life->stack_id;
        }
    }
    free(newest);
    sl_vec_free(&live);
    return ok;
}

static bool report_late(sl_an *an, const late_free *late) {
    uint64_t peak = sl_an_device(an)->peak_requested_bytes;
    double share = (double)late->bytes / (double)(peak ? peak : 1);
    sl_evidence evidence[] = {
        {"share of the peak", share, "1", sl_an_t(an)->late_free_share, ">="},
        {"bytes", (double)late->bytes, "bytes", sl_an_t(an)->late_free_bytes, ">="},
    };
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_INEFFICIENT, SL_SEV_INFO, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->subkind = "late free";
    f->site = sl_user_site(an->trace, late->worst_stack);
    f->bytes = sl_known_u64(late->bytes);
    f->blocks = sl_known_u64(late->blocks);
    f->confidence = 0.7;
    f->title =
        sl_an_text(an, "%s of the peak belongs to the previous step", sl_an_bytes(an, late->bytes));
    f->explanation =
        sl_an_text(an,
                   "At the peak, the program still held %" PRIu64
                   " block%s of the previous step (%s, %.0f %% of the peak) although the same "
                   "calls had already allocated their successors; the largest is from %s. A trace "
                   "does not show when a block was last used.",
                   late->blocks, sl_plural(late->blocks), sl_an_bytes(an, late->bytes), 100 * share,
                   sl_site_text(f->site, &an->report->arena));
    f->advice = "Put the body of the loop into a function, or `del` batch, outputs and loss at the "
                "end of the step, so that they are freed before the next forward pass.";
    return true;
}

bool sl_find_inefficient(sl_an *an) {
    late_free late = {0};
    uint32_t peak_event = an->replay->peak_requested.event;
    bool has_peak = an->steps->borders.cnt && peak_event != SL_EVENT_BEFORE &&
                    peak_event >= an->steps->borders.at[0] && peak_event >= an->from &&
                    peak_event < an->to;
    if (has_peak && !find_late(an, peak_event, &late))
        return false;
    sl_an_reason(an, "inefficient: device %d: %" PRIu64 " bytes of the peak are late frees",
                 an->device->device, late.bytes);
    bool is_much = (double)late.bytes >= sl_an_t(an)->late_free_bytes &&
                   (double)late.bytes >= sl_an_t(an)->late_free_share *
                                             (double)sl_an_device(an)->peak_requested_bytes;
    return !is_much || report_late(an, &late);
}
