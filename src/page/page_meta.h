/* SPDX-License-Identifier: MIT */
/* The JSON part of a page: verdict, findings, inputs, lanes, and where the columns lie. Its shape is
 * web/src/model/meta.ts. */
#ifndef SL_PAGE_META_H
#define SL_PAGE_META_H

#include "page/page_lane.h"
#include "report/report.h"

typedef struct sl_page {
    const sl_run *run;       /* borrowed */
    const sl_report *report; /* borrowed; of the same inputs in the same order */
    const char *title;       /* borrowed */
    bool is_diff;
    sl_page_names names;
    sl_page_source *sources;      /* owned; by input */
    SL_VEC(sl_page_lane *) lanes; /* owned */
    sl_page_heat heat;
    sl_page_clock clock;
    sl_page_index index;
} sl_page;

void sl_page_meta_json(sl_page *page, sl_json_out *json);

/* page_whatif.c: the lane's part, and why it has none. */
void sl_page_whatif_json(const sl_page_lane *lane, sl_json_out *json);
void sl_page_whatif_absent(const sl_page_lane *lane, sl_json_out *json);

/* The same for a page that says why there is none. */
void sl_page_failure_json(const char *title, const char *reason, sl_json_out *json);

#endif
