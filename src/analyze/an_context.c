/* SPDX-License-Identifier: MIT */
#include "analyze/an_context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"

const sl_thresholds sl_thresholds_initial = {
#define THRESHOLD_INITIAL(member, key, kind, initial, help) .member = (double)(initial),
    SL_THRESHOLD_MAP(THRESHOLD_INITIAL)
#undef THRESHOLD_INITIAL
};

#define TEXT_MAX 1600

/* NULL when memory ran out. */
static const char *keep(sl_an *an, const char *fmt, va_list args) {
    char text[TEXT_MAX];
    vsnprintf(text, sizeof text, fmt, args);
    return sl_arena_copy(&an->report->arena, text, strlen(text));
}

void sl_an_reason(sl_an *an, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const char *text = keep(an, fmt, args);
    va_end(args);
    if (text)
        (void)sl_vec_push(&an->report->reasons, ((sl_reason){text}));
}

const char *sl_an_text(sl_an *an, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const char *text = keep(an, fmt, args);
    va_end(args);
    return text ? text : "";
}

const char *sl_an_bytes(sl_an *an, uint64_t bytes) {
    char text[SL_HUMAN_CAP];
    return sl_an_text(an, "%s", sl_human_bytes(text, bytes));
}

sl_finding *sl_an_finding(sl_an *an, sl_finding_kind kind, sl_severity severity,
                          const sl_evidence *evidence, size_t evidence_cnt) {
    sl_evidence *copy = sl_arena_alloc(&an->report->arena, (evidence_cnt + 1) * sizeof *copy);
    if (!copy)
        return NULL;
    if (evidence_cnt)
        memcpy(copy, evidence, evidence_cnt * sizeof *copy);
    sl_finding finding = {.kind = kind,
                          .severity = severity,
                          .decides = (sl_verdict)sl_finding_kind_rank(kind),
                          .confidence = 1,
                          .trace = an->trace,
                          .device = an->device->device,
                          .first_time_us = sl_replay_time(an->replay, an->from),
                          .last_time_us = sl_replay_time(an->replay, sl_an_end(an)),
                          .title = "",
                          .explanation = "",
                          .advice = "",
                          .evidence = copy,
                          .evidence_cnt = evidence_cnt};
    if (!sl_vec_push(&an->report->findings, finding))
        return NULL;
    return &an->report->findings.at[an->report->findings.cnt - 1];
}
