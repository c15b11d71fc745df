/* SPDX-License-Identifier: MIT */
#include "cli/core/run_views.h"

#include <string.h>

#include "run/steps.h"

static sl_status copy_sites(sl_view_owner *owner, sl_error *err) {
    const sl_sites *grouped = &owner->grouped;
    owner->sites = calloc(grouped->sites.cnt + 1, sizeof *owner->sites);
    if (!owner->sites)
        return sl_fail(err, SL_E_NOMEM, "out of memory for the sites");
    for (size_t i = 0; i < grouped->sites.cnt; i++)
        owner->sites[i] = grouped->sites.at[i].site;
    return SL_OK;
}

/* The borders change hands: the view owns the vector's memory from here on. */
static sl_status find_steps(sl_view_owner *owner, size_t idx, sl_error *err) {
    const sl_device_trace *device = owner->grouped.trace->devices.at[idx];
    sl_replay *replay;
    sl_steps steps = {0};
    SL_TRY(sl_replay_new(owner->grouped.trace, device, &replay, err));
    bool is_done = sl_steps_find(&steps, replay, owner->grouped.classes, 0, replay->event_cnt);
    sl_replay_free(replay);
    if (!is_done) {
        sl_steps_fini(&steps);
        return sl_fail(err, SL_E_NOMEM, "out of memory for the steps");
    }
    owner->steps[idx] =
        (sl_view_steps){device->device, steps.borders.at, steps.borders.cnt, steps.is_marked};
    return SL_OK;
}

sl_status sl_view_owner_init(sl_view_owner *owner, const sl_trace *trace, sl_error *err) {
    *owner = (sl_view_owner){0};
    SL_TRY(sl_sites_init(&owner->grouped, trace, SL_GROUP_LINE, NULL, err));
    SL_TRY(copy_sites(owner, err));
    owner->steps = calloc(trace->devices.cnt + 1, sizeof *owner->steps);
    if (!owner->steps)
        return sl_fail(err, SL_E_NOMEM, "out of memory for the steps");
    for (size_t i = 0; i < trace->devices.cnt; i++)
        SL_TRY(find_steps(owner, i, err));
    owner->view = (sl_run_view){.trace = trace,
                                .sites = owner->sites,
                                .site_cnt = (uint32_t)owner->grouped.sites.cnt,
                                .site_of_stack = owner->grouped.site_of_stack,
                                .before_site = owner->grouped.before_site,
                                .steps = owner->steps};
    return SL_OK;
}

void sl_view_owner_fini(sl_view_owner *owner) {
    size_t device_cnt = owner->grouped.trace ? owner->grouped.trace->devices.cnt : 0;
    for (size_t i = 0; owner->steps && i < device_cnt; i++)
        free((void *)(uintptr_t)owner->steps[i].borders);
    free(owner->steps);
    free(owner->sites);
    sl_sites_fini(&owner->grouped);
    *owner = (sl_view_owner){0};
}
