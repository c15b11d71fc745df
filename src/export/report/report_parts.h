/* SPDX-License-Identifier: MIT */
/* Parts of a report as JSON that the report and the page write alike. */
#ifndef SL_REPORT_PARTS_H
#define SL_REPORT_PARTS_H

#include "base/text/json_out.h"
#include "report/report.h"

/* "notes": what the reader of an input wants the user to know. */
void sl_key_notes_json(sl_json_out *json, const sl_trace *trace);

void sl_fragmentation_json(sl_json_out *json, const sl_fragmentation *fragmentation);

/* Keys of a finding inside an object that the caller has begun: what it is and of which device, then
 * its figures and words. Times count from zero_us. */
void sl_finding_kind_json(sl_json_out *json, const sl_finding *finding);
void sl_finding_figures_json(sl_json_out *json, const sl_finding *finding, int64_t zero_us);

#endif
