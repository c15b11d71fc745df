/* SPDX-License-Identifier: MIT */
/* The report for a pull request or a ticket. Text from the input is escaped, so that a file name
 * cannot become a heading, a table or HTML. */
#include <string.h>

#include "base/text/human.h"
#include "export/report/ledger_out.h"
#include "export/report/md_out.h"
#include "export/report/process_rows.h"
#include "export/report/report_format.h"
#include "export/report/report_words.h"
#include "export/report/split_out.h"

static void put_row(FILE *to, const char *name, const char *value) {
    if (!*value)
        return;
    fputs("| ", to);
    sl_md_text(to, name);
    fputs(" | ", to);
    sl_md_text(to, value);
    fputs(" |\n", to);
}

static void put_site_row(FILE *to, const char *name, sl_site site) {
    char place[SL_WORDS_CAP];
    if (!site.trace)
        return;
    sl_words_site(place, site, 0);
    fprintf(to, "| %s | ", name);
    sl_md_code(to, place);
    fputs(" |\n", to);
}

static void put_paragraph(FILE *to, const char *lead, const char *text) {
    if (!text)
        return;
    fprintf(to, "\n%s", lead);
    sl_md_text(to, text);
    putc('\n', to);
}

static void put_input_row(FILE *to, const sl_report *report, const sl_trace *trace) {
    if (report->inputs.cnt < 2 || !trace)
        return;
    fputs("| input | ", to);
    sl_md_code(to, trace->path);
    fputs(" |\n", to);
}

static void put_finding(FILE *to, const sl_report *report, const sl_finding *finding,
                        bool explains) {
    char text[SL_WORDS_CAP];
    fprintf(to, "\n### %s: ", sl_finding_kind_name(finding->kind));
    sl_md_text(to, finding->title);
    fputs("\n\n| | |\n| --- | --- |\n", to);
    put_input_row(to, report, finding->trace);
    put_site_row(to, "where", finding->site);
    sl_words_amount(text, finding);
    put_row(to, "amount", text);
    sl_words_growth(text, finding);
    put_row(to, "growth", text);
    sl_words_certainty(text, finding);
    put_row(to, "severity", text);
    for (size_t i = 0; explains && i < finding->evidence_cnt; i++) {
        sl_words_evidence(text, &finding->evidence[i]);
        put_row(to, "evidence", text);
    }
    put_paragraph(to, "", finding->explanation);
    put_paragraph(to, "**Fix:** ", finding->advice);
}

static void put_holdings(FILE *to, const char *title, const sl_holdings *holdings,
                         const sl_report_wishes *wishes) {
    size_t rows = sl_report_rows(wishes, holdings);
    char bytes[SL_HUMAN_CAP], blocks[SL_HUMAN_CAP], place[SL_WORDS_CAP];
    if (holdings->cnt == 0)
        return;
    fprintf(to, "\n%s\n\n| bytes | blocks | line |\n| ---: | ---: | --- |\n", title);
    for (size_t i = 0; i < rows; i++) {
        sl_words_site(place, holdings->at[i].site, 0);
        fprintf(to, "| %s | %s | ", sl_human_bytes(bytes, holdings->at[i].bytes),
                sl_human_count(blocks, holdings->at[i].blocks));
        sl_md_code(to, place);
        fputs(" |\n", to);
    }
}

static void put_tags(FILE *to, const char *name, const sl_split *by_tag) {
    char text[SL_WORDS_CAP];
    sl_split_words(text, by_tag);
    if (*text)
        put_row(to, name, text);
}

static void put_device(FILE *to, const sl_report *report, const sl_device_report *device,
                       const sl_report_wishes *wishes) {
    char human[SL_WORDS_CAP] = "", number[SL_HUMAN_CAP];
    if (device->device == SL_DEVICE_HOST)
        sl_words_append(human, "the host");
    else
        sl_words_device(human, device->device);
    if (device->rank.known)
        sl_words_append(human, " of rank %llu", (unsigned long long)device->rank.value);
    fprintf(to, "\n### Memory of %s\n\n| | |\n| --- | --- |\n", human);
    put_input_row(to, report, device->trace);
    put_row(to, "live at the end", sl_human_bytes(number, device->live_requested_bytes));
    if (device->has_history)
        put_row(to, "peak", sl_human_bytes(number, device->peak_requested_bytes));
    sl_words_bytes(human, device->reserved_bytes);
    put_row(to, "reserved at the end", human);
    sl_words_bytes(human, device->peak_reserved_bytes);
    put_row(to, "reserved peak", human);
    put_row(to, "live before the recording", sl_human_bytes(number, device->base_bytes));
    put_row(to, "events", sl_human_count(number, device->events));
    sl_ledger_words(human, &device->ledger);
    if (*human)
        put_row(to, "card at the end", human);
    put_tags(to, "by tag at the end", &device->live_by_tag);
    put_tags(to, "by tag at the peak", &device->peak_by_tag);
    put_holdings(to, "Live at the end:", &device->top_live, wishes);
    put_holdings(to, "Live at the peak:", &device->top_peak, wishes);
}

static void put_oom(FILE *to, const sl_report *report, const sl_report_input *input,
                    const sl_report_wishes *wishes) {
    const sl_oom_report *oom = &input->oom;
    char human[SL_WORDS_CAP], number[SL_HUMAN_CAP];
    if (!oom->present)
        return;
    fputs("\n### The failed request\n\n| | |\n| --- | --- |\n", to);
    put_input_row(to, report, input->trace);
    put_row(to, "requested",
            oom->requested_bytes ? sl_human_bytes(number, oom->requested_bytes) : "unknown");
    put_site_row(to, "where", oom->site);
    sl_words_bytes(human, oom->allocated_bytes);
    put_row(to, "allocated", human);
    sl_words_bytes(human, oom->reserved_bytes);
    put_row(to, "reserved", human);
    put_row(to, "cause", sl_oom_cause_name(oom->cause));
    put_paragraph(to, "", oom->explanation);
    put_holdings(to, "Live at that moment:", &oom->holders, wishes);
}

/* A list whose heading is printed before its first row; an empty list has no heading. */
typedef struct list_pen {
    FILE *to;
    bool is_started;
} list_pen;

static void put_note(const char *text, void *context) {
    list_pen *pen = context;
    fputs(pen->is_started ? "- " : "\n### Notes\n\n- ", pen->to);
    sl_md_text(pen->to, text);
    putc('\n', pen->to);
    pen->is_started = true;
}

static void put_process(const sl_process_row *row, void *context) {
    list_pen *pen = context;
    fprintf(pen->to, "%s%*s- ", pen->is_started ? "" : "\n", (int)(2 * row->depth), "");
    sl_md_text(pen->to, row->text);
    putc('\n', pen->to);
    pen->is_started = true;
}

static void put_notes(FILE *to, const sl_report *report, bool explains) {
    sl_report_notes_each(report, put_note, &(list_pen){to, false});
    for (size_t i = 0; explains && i < report->reasons.cnt; i++) {
        fputs(i ? "- " : "\n### How this verdict was reached\n\n- ", to);
        sl_md_text(to, report->reasons.at[i].text);
        putc('\n', to);
    }
}

/* One verdict for each of several inputs. */
static void put_verdicts(FILE *to, const sl_report *report) {
    char text[SL_WORDS_CAP];
    for (size_t i = 0; report->inputs.cnt > 1 && i < report->inputs.cnt; i++) {
        fputs(i ? "- " : "\n- ", to);
        sl_md_code(to, report->inputs.at[i].trace->path);
        fputs(": ", to);
        sl_words_input_verdict(text, report, &report->inputs.at[i]);
        sl_md_text(to, text);
        putc('\n', to);
    }
}

sl_status sl_report_write_markdown(const sl_report *report, const sl_report_wishes *wishes,
                                   FILE *to, sl_error *err) {
    char text[SL_WORDS_CAP], events[SL_HUMAN_CAP];
    sl_words_verdict(text, report);
    fputs("## ", to);
    sl_md_text(to, text);
    fputs("\n\n| input | kind | events |\n| --- | --- | ---: |\n", to);
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_report_input *input = &report->inputs.at[i];
        fputs("| ", to);
        sl_md_code(to, input->trace->path);
        fprintf(to, " | %s | %s |\n", sl_words_source(input->trace->source),
                sl_human_count(events, input->events));
    }
    sl_process_rows_each(report, put_process, &(list_pen){to, false});
    put_verdicts(to, report);
    for (size_t i = 0; i < report->inputs.cnt; i++)
        put_oom(to, report, &report->inputs.at[i], wishes);
    for (size_t i = 0; i < report->findings.cnt; i++)
        put_finding(to, report, &report->findings.at[i], wishes->explains);
    for (size_t i = 0; i < report->devices.cnt; i++)
        put_device(to, report, &report->devices.at[i], wishes);
    put_notes(to, report, wishes->explains);
    return ferror(to) ? sl_fail_errno(err, SL_E_WRITE, "cannot write the report") : SL_OK;
}
