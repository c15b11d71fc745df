/* SPDX-License-Identifier: MIT */
/* The numbers of an earlier run: from the JSON that `stormlog analyze --format json` made, or from its
 * recording or snapshot, which is then analysed. */
#ifndef SL_BASELINE_H
#define SL_BASELINE_H

#include "report/check.h"

/* Fields that the file does not have stay unknown; a file that is none of these is SL_E_FOREIGN, a
 * report that is cut off SL_E_FORMAT with path and byte. */
sl_status sl_baseline_load(const char *path, sl_baseline *baseline, sl_error *err);

#endif
