/* SPDX-License-Identifier: MIT */
/* A site as the JSON of reports and comparisons writes it. */
#ifndef SL_SITE_JSON_H
#define SL_SITE_JSON_H

#include "base/text/json_out.h"
#include "report/report.h"

/* {file, line, function, stack: [{file, line, function}…]}, innermost first. A site without a line
 * has nulls and a label that says why; a site that is not known at all is null. */
void sl_site_json(sl_json_out *json, sl_site site);

#endif
