/* SPDX-License-Identifier: MIT */
/* Build-up: blocks that were allocated in a row and are still live. Memory grew, but in one stretch
 * in which nothing was computed (run/step_row.h): the program loaded its data, or filled a list.
 * Only its author knows whether that is intended, so this is information, and the leak analysis
 * skips these blocks. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/an_context.h"
#include "analyze/thresholds.h"
#include "base/text/human.h"
#include "run/step_thresholds.h"

/* What one site made in the row. */
typedef struct site_row {
    uint64_t made, live, live_bytes;
    uint32_t stack_id; /* of its last block that is live */
} site_row;

static void sum_row(const sl_an *an, const sl_row *row, site_row *by_site) {
    const sl_replay *replay = an->replay;
    for (size_t i = sl_replay_first_life(replay, row->first); i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->begin_event >= row->end)
            break;
        /* A model that is built in between is not what the row is about. */
        if (an->sites->classes[life->stack_id].roles & SL_ROLE_PARAM)
            continue;
        site_row *site = &by_site[sl_sites_of(an->sites, life)];
        site->made++;
        if (life->end_event < an->to)
            continue;
        site->live++;
        site->live_bytes += life->requested_bytes;
        site->stack_id = life->stack_id;
    }
}

/* The site that holds most, of those that are shown; SL_IDX_NONE when nothing is left. */
static uint32_t largest_site(const sl_an *an, const site_row *by_site) {
    uint32_t best = SL_IDX_NONE;
    for (uint32_t i = 0; i < an->sites->sites.cnt; i++)
        if (an->sites->sites.at[i].is_shown && by_site[i].live &&
            (best == SL_IDX_NONE || by_site[i].live_bytes > by_site[best].live_bytes))
            best = i;
    return best;
}

static const char *why_not_a_leak(const sl_stretch *stretch) {
    return sl_stretch_is_hoarding(stretch)
               ? "Almost nothing was freed and no layer ran meanwhile, so these are not steps: the "
                 "program loaded data or filled a list."
               : "No layer ran meanwhile, and the growth ended when the model began to work: the "
                 "program prepared its data.";
}

static bool report_row(sl_an *an, const sl_row *row, const site_row *site, uint32_t site_idx) {
    const sl_device_report *device = sl_an_device(an);
    double share = (double)site->live_bytes / (double)device->live_requested_bytes;
    if (!(share >= sl_an_t(an)->build_up_share))
        return true;
    sl_stretch stretch = sl_stretch_count(an->replay, an->sites->classes, row->first, row->end);
    sl_evidence evidence[] = {
        {"share of the live bytes", share, "1", sl_an_t(an)->build_up_share, ">="},
        {"blocks allocated in a row", (double)stretch.allocs, "blocks", 0, ">"},
        {"of these, freed meanwhile", (double)stretch.freed, "blocks", 0, NULL},
        {"of these, allocated by layers or autograd", (double)stretch.computed, "blocks",
         SL_T_ROW_COMPUTED_SHARE * (double)row->cnt, "<"},
    };
    sl_finding *f =
        sl_an_finding(an, SL_FINDING_BUILD_UP, SL_SEV_INFO, evidence, SL_COUNT_OF(evidence));
    if (!f)
        return false;
    f->site = sl_sites_show(an->sites, site_idx, site->stack_id);
    f->bytes = sl_known_u64(site->live_bytes);
    f->blocks = sl_known_u64(site->live);
    f->first_time_us = sl_replay_time(an->replay, row->first);
    f->last_time_us = sl_replay_time(an->replay, row->end - 1);
    const char *where = sl_site_text(f->site, &an->report->arena);
    f->title =
        sl_an_text(an, "%" PRIu64 " of %" PRIu64 " blocks allocated in a row at %s are live: %s",
                   site->live, site->made, where, sl_an_bytes(an, site->live_bytes));
    f->explanation = sl_an_text(
        an, "%s allocated %" PRIu64 " blocks in a row; %" PRIu64 " of them are live at the end. %s",
        where, site->made, site->live, why_not_a_leak(&stretch));
    f->advice = "Nothing, if they are meant to stay. If this loop should not grow, mark its steps "
                "with stormlog.step(): marked steps are always checked for leaks.";
    return true;
}

static bool find_in_row(sl_an *an, const sl_row *row) {
    site_row *by_site = calloc(an->sites->sites.cnt + 1, sizeof *by_site);
    if (!by_site)
        return false;
    sum_row(an, row, by_site);
    uint32_t site_idx = largest_site(an, by_site);
    bool ok = site_idx == SL_IDX_NONE || report_row(an, row, &by_site[site_idx], site_idx);
    free(by_site);
    return ok;
}

bool sl_find_build_up(sl_an *an) {
    const sl_steps *steps = an->steps;
    bool ok = true;
    for (size_t i = 0; ok && i < steps->rows.cnt; i++)
        ok = find_in_row(an, &steps->rows.at[i]);
    if (ok && an->last_row.cnt)
        ok = find_in_row(an, &an->last_row);
    size_t cnt = steps->rows.cnt + (an->last_row.cnt > 0);
    sl_an_reason(
        an, "build-up: device %d: %zu stretch%s in which blocks were allocated and none was freed",
        an->device->device, cnt, cnt == 1 ? "" : "es");
    return ok;
}
