/* SPDX-License-Identifier: MIT */
/* The JSON part of a page: verdict, findings, inputs, lanes, and the positions of the columns.
 * Its structure is web/src/model/meta.ts. */
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

/* whatif/page_whatif.c: the lane's part, or the reason why there is none. */
void sl_page_whatif_json(const sl_page_lane *lane, sl_json_out *json);
void sl_page_whatif_absent(const sl_page_lane *lane, sl_json_out *json);

/* The default title of a page: "python3 train.py --lr 0.1, run 20261115T120000Z-train",
 * "snap.pickle", "a.pickle to b.pickle"; a longer one is cut. Returns buf. */
#define SL_PAGE_TITLE_CAP 512
const char *sl_page_title(char buf[SL_PAGE_TITLE_CAP], const sl_run *run, bool is_diff);

/* The JSON of a page that says why there is no report. */
void sl_page_failure_json(const char *title, const char *reason, sl_json_out *json);

#endif
