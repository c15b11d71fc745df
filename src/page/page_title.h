/* SPDX-License-Identifier: MIT */
/* What a page is called where nobody gave it a heading: the command and the run, or the names of the
 * files. Whole paths are in the line below it. */
#ifndef SL_PAGE_TITLE_H
#define SL_PAGE_TITLE_H

#include "run/run.h"

#define SL_PAGE_TITLE_CAP 512

/* "python3 train.py --lr 0.1, run 20261115T120000Z-train", "snap.pickle", "a.pickle to b.pickle"; a
 * longer one is cut. Returns buf. */
const char *sl_page_title(char buf[SL_PAGE_TITLE_CAP], const sl_run *run, bool is_diff);

#endif
