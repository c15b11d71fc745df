/* SPDX-License-Identifier: MIT */
/* What the analyses found, of a whole run or of a part of it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "export/report/report_words.h"
#include "tui/facts/run_facts.h"

static const char *keep(sl_tui_source *source, const char *text) {
    const char *copy = sl_arena_copy(&source->arena, text, strlen(text));
    source->has_failed |= !copy;
    return copy ? copy : "";
}

static const char *const *keep_evidence(sl_tui_source *source, const sl_finding *finding) {
    char text[SL_WORDS_CAP];
    const char **rows = sl_arena_alloc(&source->arena, (finding->evidence_cnt + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < finding->evidence_cnt; i++) {
        text[0] = '\0';
        sl_words_evidence(text, &finding->evidence[i]);
        rows[i] = keep(source, text);
    }
    source->has_failed |= !rows;
    return rows;
}

static void add_finding(sl_tui_source *source, const sl_finding *finding) {
    char place[SL_WORDS_CAP] = "", amount[SL_WORDS_CAP] = "", growth[SL_WORDS_CAP] = "",
         device[SL_WORDS_CAP] = "";
    if (finding->site.trace)
        sl_words_site(place, finding->site, 0);
    sl_words_amount(amount, finding);
    sl_words_growth(growth, finding);
    if (*growth)
        sl_words_append(amount, "%s%s", *amount ? "; " : "", growth);
    sl_words_ranked_device(device, finding->device, finding->rank);
    sl_tui_finding row = {.title = keep(source, finding->title),
                          .text = keep(source, finding->explanation ? finding->explanation : ""),
                          .advice = keep(source, finding->advice ? finding->advice : ""),
                          .place = keep(source, place),
                          .amount = keep(source, amount),
                          .device = keep(source, device),
                          .severity = finding->severity,
                          .rank = finding->rank,
                          .first_us = finding->first_time_us,
                          .last_us = finding->last_time_us,
                          .evidence = keep_evidence(source, finding),
                          .evidence_cnt = finding->evidence_cnt};
    sl_words_certainty(device, finding);
    row.certainty = keep(source, device);
    if (!row.evidence)
        row.evidence_cnt = 0;
    source->has_failed |= !sl_vec_push(&source->findings, row);
}

void sl__finding_facts(const sl_report *report, sl_tui_source *source) {
    char text[SL_WORDS_CAP];
    for (size_t i = 0; i < report->findings.cnt; i++)
        add_finding(source, &report->findings.at[i]);
    sl_words_verdict(text, report);
    source->verdict = keep(source, text);
    source->verdict_rank = (int)report->verdict;
}

sl_status sl_judge_facts(const sl_tui_inputs *inputs, int64_t since_us, int64_t until_us,
                         sl_tui_source **out, sl_error *err) {
    /* Times below that of the first event count from it (analysis.h). */
    sl_analysis_options options = {.has_since = since_us > 0,
                                   .since_us = since_us,
                                   .has_until = until_us != INT64_MAX,
                                   .until_us = until_us};
    sl_report *report = NULL;
    SL_TRY(sl_analyze(inputs->run, &options, &report, err));
    sl_tui_source *source = calloc(1, sizeof *source);
    if (source)
        sl__finding_facts(report, source);
    sl_report_free(report);
    if (!source || source->has_failed) {
        sl_tui_source_free(source);
        return sl_fail_no_memory(err, "the findings");
    }
    *out = source;
    return SL_OK;
}
