/* SPDX-License-Identifier: MIT */
/* From the analyses to what pictures and exports show of a trace: sl_run_view. */
#ifndef SL_RUN_VIEWS_H
#define SL_RUN_VIEWS_H

#include "run/lines/sites.h"
#include "run/run_view.h"

/* Owns everything the view points at. */
typedef struct sl_view_owner {
    sl_run_view view;
    sl_sites grouped;
    sl_site *sites;
    sl_view_steps *steps;
} sl_view_owner;

/* fini in either case. */
sl_status sl_view_owner_init(sl_view_owner *owner, const sl_trace *trace, sl_error *err);
void sl_view_owner_fini(sl_view_owner *owner);

#endif
