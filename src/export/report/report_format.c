/* SPDX-License-Identifier: MIT */
#include "export/report/report_format.h"

#include <string.h>

#include "run/lines/sites.h"

const sl_report_format sl_report_formats[] = {
    {"txt", "for people, 80 columns", sl_report_write_text},
    {"json", "for programs, docs/report.md", sl_report_write_json},
    {"md", "for a pull request or a ticket", sl_report_write_markdown},
    {"junit", "for a CI server's list of tests", sl_report_write_junit},
};
const size_t sl_report_format_cnt = SL_COUNT_OF(sl_report_formats);

const sl_report_format *sl_report_format_find(const char *name) {
    for (size_t i = 0; i < sl_report_format_cnt; i++)
        if (strcmp(sl_report_formats[i].name, name) == 0)
            return &sl_report_formats[i];
    return NULL;
}

size_t sl_report_rows(const sl_report_wishes *wishes, const sl_holdings *holdings) {
    uint64_t rest = holdings->other_bytes;
    for (size_t i = 0; i < holdings->cnt; i++)
        rest += holdings->at[i].bytes;
    const uint64_t total = rest;
    size_t cnt = 0;
    for (; cnt < holdings->cnt &&
           (cnt < wishes->top || (wishes->fills_lists && sl_sites_rest_is_large(rest, total)));
         cnt++)
        rest -= holdings->at[cnt].bytes;
    return cnt;
}

bool sl_report_fails(const sl_report *report, uint64_t fail_mask) {
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (finding->severity >= SL_SEV_WARNING && (fail_mask >> finding->kind & 1))
            return true;
    }
    return false;
}
