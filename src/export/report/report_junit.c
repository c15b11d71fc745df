/* SPDX-License-Identifier: MIT */
/* The report for a CI server: one test case for each input and kind of finding that decides a verdict or was
 * asked for, failed when there is such a finding. */
#include "export/report/report_format.h"
#include "export/report/report_words.h"
#include "export/report/xml_out.h"

/* Without --fail-on, the kinds that decide a verdict fail. */
static uint64_t failing_kinds(const sl_report_wishes *wishes) {
    uint64_t mask = 0;
    if (wishes->fail_mask)
        return wishes->fail_mask;
    for (size_t i = 0; i < SL_FINDING_LIMIT; i++)
        mask |= (uint64_t)(sl_finding_kind_rank((sl_finding_kind)i) > 0) << i;
    return mask;
}

static bool is_failure(const sl_finding *finding, const sl_report_input *input, size_t kind) {
    return finding->kind == kind && finding->trace == input->trace &&
           finding->severity >= SL_SEV_WARNING;
}

static size_t count_kind(const sl_report *report, const sl_report_input *input, size_t kind) {
    size_t cnt = 0;
    for (size_t i = 0; i < report->findings.cnt; i++)
        cnt += is_failure(&report->findings.at[i], input, kind);
    return cnt;
}

static void put_line(FILE *to, const char *text) {
    if (!text || !*text)
        return;
    sl_xml_text(to, text);
    putc('\n', to);
}

/* JUnit readers show one failure element per case, so all findings of the kind share it. */
static void put_failure(FILE *to, const sl_report *report, const sl_report_input *input,
                        size_t kind) {
    char text[SL_WORDS_CAP];
    bool is_open = false;
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (!is_failure(finding, input, kind))
            continue;
        if (!is_open) {
            fputs("    <failure", to);
            sl_xml_attribute(to, "type", sl_finding_kind_name(finding->kind));
            sl_xml_attribute(to, "message", finding->title);
            fputs(">", to);
            is_open = true;
        }
        put_line(to, finding->title);
        sl_words_site(text, finding->site, 0);
        put_line(to, text);
        sl_words_amount(text, finding);
        put_line(to, text);
        sl_words_growth(text, finding);
        put_line(to, text);
        put_line(to, finding->explanation);
        put_line(to, finding->advice);
    }
    fputs("</failure>\n", to);
}

static void put_case(FILE *to, const sl_report *report, const sl_report_input *input, size_t kind) {
    const char *name = sl_finding_kind_name((sl_finding_kind)kind);
    fputs("  <testcase", to);
    sl_xml_attribute(to, "classname", input->trace->path);
    sl_xml_attribute(to, "name", name);
    if (count_kind(report, input, kind) == 0) {
        fputs("/>\n", to);
        return;
    }
    fputs(">\n", to);
    put_failure(to, report, input, kind);
    fputs("  </testcase>\n", to);
}

sl_status sl_report_write_junit(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                                sl_error *err) {
    uint64_t mask = failing_kinds(wishes);
    size_t tests = 0, failures = 0;
    for (size_t i = 0; i < report->inputs.cnt; i++)
        for (size_t kind = 0; kind < SL_FINDING_LIMIT; kind++) {
            tests += mask >> kind & 1;
            failures += (mask >> kind & 1) && count_kind(report, &report->inputs.at[i], kind);
        }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", to);
    fprintf(to,
            "<testsuite name=\"stormlog analyze\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
            tests, failures);
    for (size_t i = 0; i < report->inputs.cnt; i++)
        for (size_t kind = 0; kind < SL_FINDING_LIMIT; kind++)
            if (mask >> kind & 1)
                put_case(to, report, &report->inputs.at[i], kind);
    fputs("</testsuite>\n", to);
    return ferror(to) ? sl_fail_errno(err, SL_E_WRITE, "cannot write the report") : SL_OK;
}
