/* SPDX-License-Identifier: MIT */
/* The failed request that ended the trace: what it would have needed, and which sites held the
 * memory. */
#include "base/core/order.h"
#include "whatif/whatif_impl.h"

#define HOLDERS 5

/* Bytes in use before the call, each block rounded to 512 bytes. */
static uint64_t active_at(const sl_whatif *whatif, uint32_t event) {
    sl_replay_totals totals;
    if (!sl_replay_totals_at(whatif->calls->replay, event, &totals))
        return 0;
    return totals.active_bytes;
}

/* The mean growth of the bytes in use per step, over the last half of the steps. Unknown while a
 * model is being built. */
static sl_status find_growth(sl_whatif *whatif, const sl_sites *sites, sl_error *err) {
    const sl_steps *steps;
    SL_TRY(sl_run_steps(whatif->calls->device, &steps, err));
    size_t cnt = steps->borders.cnt;
    bool is_building = steps->beat_stack != SL_IDX_NONE &&
                       (sites->classes[steps->beat_stack].roles & SL_ROLE_PARAM);
    if (cnt < 4 || is_building)
        return SL_OK;
    size_t from = cnt / 2, to = cnt - 1;
    double grown = (double)active_at(whatif, steps->borders.at[to]) -
                   (double)active_at(whatif, steps->borders.at[from]);
    whatif->failure.step_growth = sl_known_f64(grown / (double)(to - from));
    return SL_OK;
}

static sl_status find_holders(sl_whatif *whatif, sl_error *err) {
    const sl_calls *calls = whatif->calls;
    const sl_sites *sites;
    SL_TRY(sl_run_lines(calls->device->input, &sites, err));
    SL_TRY(find_growth(whatif, sites, err));
    if (!sl_sites_holdings(sites, calls->replay, whatif->failure.event, HOLDERS, &whatif->arena,
                           &whatif->failure.holdings))
        return sl_fail_no_memory(err, "the answer");
    return SL_OK;
}

sl_status sl__whatif_find_failure(sl_whatif *whatif, sl_error *err) {
    const sl_calls *calls = whatif->calls;
    sl_whatif_failure *failure = &whatif->failure;
    if (calls->failed_cnt == 0)
        return SL_OK;
    size_t i = calls->list.cnt;
    while (i-- > 0 && calls->list.at[i].kind != SL_CALL_FAILED)
        continue;
    *failure = (sl_whatif_failure){.is_known = true,
                                   .event = calls->list.at[i].event,
                                   .call = (uint32_t)i,
                                   .bytes = calls->list.at[i].bytes};
    failure->active_bytes = active_at(whatif, failure->event);
    if (whatif->program.is_changed)
        failure->active_bytes = whatif->rows.at[0].pass.has_failed
                                    ? whatif->rows.at[0].pass.fail_active_bytes
                                    : whatif->rows.at[0].pass.stats.active_bytes;
    uint64_t need = failure->active_bytes + sl_min_u64(failure->bytes, SL_ALLOC_BYTES_MAX);
    uint64_t limit = whatif->limit_is_given ? whatif->limit_bytes : calls->limit_below_bytes - 1;
    if (whatif->limit_bytes != SL_ALLOC_NO_LIMIT && need > limit)
        failure->missing_bytes = need - limit;
    /* Growth and holders are those of the whole trace, so a changed program has none. */
    return whatif->program.is_changed ? SL_OK : find_holders(whatif, err);
}
