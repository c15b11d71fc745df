/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <string.h>

typedef struct finding_row {
    const char *name;
    const char *help;
    int rank;
} finding_row;

static const finding_row finding_rows[SL_FINDING_LIMIT] = {
#define SL_FINDING_ROW(name, text, rank, title, help) [SL_FINDING_##name] = {text, help, rank},
    SL_FINDING_KIND_MAP(SL_FINDING_ROW)
#undef SL_FINDING_ROW
};

static const char *const verdict_names[] = {"healthy", "spike", "fragmentation", "leak", "oom"};
static const char *const cause_names[] = {"leak", "spike", "fragmentation", "other-process",
                                          "capacity"};

sl_report *sl_report_new(void) {
    return calloc(1, sizeof(sl_report));
}

void sl_report_free(sl_report *report) {
    if (!report)
        return;
    sl_vec_free(&report->inputs);
    sl_vec_free(&report->devices);
    sl_vec_free(&report->findings);
    sl_vec_free(&report->reasons);
    sl_arena_fini(&report->arena);
    free(report);
}

const char *sl_finding_kind_name(sl_finding_kind kind) {
    return finding_rows[kind].name;
}

int sl_finding_kind_rank(sl_finding_kind kind) {
    return finding_rows[kind].rank;
}

const char *sl_finding_kind_help(sl_finding_kind kind) {
    return finding_rows[kind].help;
}

bool sl_finding_kind_find(const char *name, size_t len, sl_finding_kind *kind) {
    for (size_t i = 0; i < SL_FINDING_LIMIT; i++) {
        if (strlen(finding_rows[i].name) != len || memcmp(finding_rows[i].name, name, len) != 0)
            continue;
        *kind = (sl_finding_kind)i;
        return true;
    }
    return false;
}

const char *sl_verdict_name(sl_verdict verdict) {
    return verdict_names[verdict];
}

const char *sl_oom_cause_name(sl_oom_cause cause) {
    return cause_names[cause];
}

const char *sl_trial_result_name(sl_trial_result result) {
    static const char *const names[] = {
        [SL_TRIAL_NONE] = "none",
        [SL_TRIAL_HELPS] = "helps",
        [SL_TRIAL_MAY_HELP] = "may-help",
        [SL_TRIAL_NO_HELP] = "no-help",
        [SL_TRIAL_NOT_PROVEN] = "not-proven",
        [SL_TRIAL_NOT_TRIED] = "not-tried",
    };
    return names[result];
}
