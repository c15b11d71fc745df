/* SPDX-License-Identifier: MIT */
#include "analyze/allocator/setting_advice.h"

#include <inttypes.h>

#include "base/core/order.h"
#include "report/device_words.h"
#include "whatif/facts/whatif_fact.h"

/* ---- parts ---- */

static size_t count_settings(const sl_whatif *whatif) {
    size_t cnt = 0;
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        cnt += whatif->rows.at[i].kind == SL_WHATIF_SETTING;
    return cnt;
}

static const char *settings_text(sl_an *an, const sl_whatif_row *row) {
    char text[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(text, &row->settings);
    return sl_an_text(an, "%s", text);
}

/* "Set VARIABLE=…", or how to get back to the defaults. */
static const char *say_set(sl_an *an, const char *settings) {
    const char *variable = sl_device_words_of(an->trace, an->device->device)->conf;
    return *settings ? sl_an_text(an, "Set %s=%s", variable, settings)
                     : sl_an_text(an, "Unset %s, so that the defaults hold", variable);
}

/* "2.80 GiB", or the range where the placement of segments decides. */
static const char *say_peak(sl_an *an, const sl_whatif_row *row) {
    const char *high = sl_an_bytes(an, row->peak_high);
    return row->peak_low == row->peak_high
               ? high
               : sl_an_text(an, "%s to %s", sl_an_bytes(an, row->peak_low), high);
}

static const char *say_error(sl_an *an, const sl_whatif *whatif) {
    if (whatif->proof.is_exact || whatif->proof.error <= 0)
        return "";
    return sl_an_text(an, " (±%.2g %%)", 100 * whatif->proof.error);
}

/* ---- a setting that helps ---- */

static const char *say_best(sl_an *an, const sl_whatif *whatif, sl_trial *trial) {
    const sl_whatif_row *recorded = &whatif->rows.at[0], *best = &whatif->rows.at[whatif->best];
    trial->result = SL_TRIAL_HELPS;
    trial->settings = settings_text(an, best);
    const char *set = say_set(an, trial->settings);
    if (best->pass.has_failed) {
        uint64_t more = best->pass.request_cnt - recorded->pass.request_cnt;
        return sl_an_text(
            an, "%s: in the replay it serves %" PRIu64 " more request%s before one fails.", set,
            more, more == 1 ? "" : "s");
    }
    trial->reserved_peak_bytes = sl_known_u64(best->pass.stats.reserved_peak);
    if (recorded->pass.has_failed)
        return sl_an_text(an,
                          "%s: in the replay every request is served, with at most %s reserved%s.",
                          set, say_peak(an, best), say_error(an, whatif));
    return sl_an_text(an, "%s: it would have reserved %s instead of %s%s.", set, say_peak(an, best),
                      say_peak(an, recorded), say_error(an, whatif));
}

/* ---- none ---- */

static const sl_whatif_row *find_possible(const sl_whatif *whatif) {
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        if (whatif->rows.at[i].kind == SL_WHATIF_SETTING && whatif->rows.at[i].may_fit)
            return &whatif->rows.at[i];
    return NULL;
}

static const char *say_possible(sl_an *an, const sl_whatif *whatif, const sl_whatif_row *row,
                                sl_trial *trial) {
    trial->result = SL_TRIAL_MAY_HELP;
    trial->settings = settings_text(an, row);
    return sl_an_text(
        an,
        "No allocator setting is certain to help: the limit was between %s and %s, and "
        "only near the upper end %s would have served every request.",
        sl_an_bytes(an, whatif->limit_bytes), sl_an_bytes(an, whatif->calls->limit_below_bytes),
        *trial->settings ? trial->settings : "the defaults");
}

static const char *say_none(sl_an *an, const sl_whatif *whatif, sl_trial *trial) {
    const sl_whatif_row *recorded = &whatif->rows.at[0], *possible = find_possible(whatif);
    size_t cnt = count_settings(whatif);
    trial->result = SL_TRIAL_NO_HELP;
    if (whatif->failure.is_known && whatif->failure.missing_bytes)
        return sl_an_text(an,
                          "No allocator setting helps: at least %s must be freed before the "
                          "request fits.",
                          sl_an_bytes(an, whatif->failure.missing_bytes));
    if (whatif->limit_bytes < whatif->floor_bytes)
        return sl_an_text(
            an, "No allocator setting helps: %s were in use at once, and the limit is %s.",
            sl_an_bytes(an, whatif->floor_bytes), sl_an_bytes(an, whatif->limit_bytes));
    if (recorded->pass.has_failed && possible)
        return say_possible(an, whatif, possible, trial);
    if (recorded->pass.has_failed)
        return sl_an_text(an,
                          "No allocator setting helps: the replay tried %zu, and none serves every "
                          "request.",
                          cnt);
    return sl_an_text(an,
                      "No allocator setting helps: the replay tried %zu, and none reserves less "
                      "than the %s of the recorded one%s; %s were in use at once.",
                      cnt, say_peak(an, recorded), say_error(an, whatif),
                      sl_an_bytes(an, whatif->floor_bytes));
}

static const char *say_answer(sl_an *an, const sl_whatif *whatif, sl_trial *trial) {
    const sl_whatif_row *recorded = &whatif->rows.at[0];
    if (!recorded->pass.has_failed)
        trial->recorded_peak_bytes = sl_known_u64(recorded->pass.stats.reserved_peak);
    return whatif->best ? say_best(an, whatif, trial) : say_none(an, whatif, trial);
}

/* ---- retries ---- */

static bool is_calmer(const sl_whatif_row *row, const sl_whatif_row *than) {
    uint64_t retries = row->pass.stats.retries, then = than->pass.stats.retries;
    bool is_tie = retries == then && than->kind == SL_WHATIF_SETTING;
    return retries < then || (is_tie && row->peak_high < than->peak_high);
}

/* The setting with the fewest retries that serves every request, and of those the one that reserves least. */
static const sl_whatif_row *find_calmest(const sl_whatif *whatif) {
    const sl_whatif_row *best = &whatif->rows.at[0];
    for (size_t i = 1; i < whatif->rows.cnt; i++) {
        const sl_whatif_row *row = &whatif->rows.at[i];
        if (row->kind == SL_WHATIF_SETTING && !row->failed_cnt && is_calmer(row, best))
            best = row;
    }
    return best;
}

static const char *say_retries(sl_an *an, const sl_whatif *whatif, sl_trial *trial) {
    const sl_whatif_row *recorded = &whatif->rows.at[0], *best = find_calmest(whatif);
    uint64_t then = recorded->pass.stats.retries, now = best->pass.stats.retries;
    trial->result = SL_TRIAL_NO_HELP;
    if (!recorded->pass.has_failed)
        trial->recorded_peak_bytes = sl_known_u64(recorded->pass.stats.reserved_peak);
    if (then == 0) {
        trial->result = SL_TRIAL_NOT_PROVEN;
        return "Which allocator setting helps could not be proven: the replay has no retry.";
    }
    if (best == recorded)
        return sl_an_text(an,
                          "No allocator setting helps: the replay tried %zu, and none serves every "
                          "request with fewer retries.",
                          count_settings(whatif));
    trial->result = SL_TRIAL_HELPS;
    trial->settings = settings_text(an, best);
    trial->reserved_peak_bytes = sl_known_u64(best->pass.stats.reserved_peak);
    if (now == 0)
        return sl_an_text(an, "%s: in the replay no retry is needed.",
                          say_set(an, trial->settings));
    return sl_an_text(an, "%s: in the replay %" PRIu64 " retr%s instead of %" PRIu64 ".",
                      say_set(an, trial->settings), now, now == 1 ? "y" : "ies", then);
}

/* ---- all states ---- */

typedef const char *say_fn(sl_an *an, const sl_whatif *whatif, sl_trial *trial);

static const char *say_fact(sl_an *an, const sl_whatif_fact *fact, say_fn *say, sl_trial *trial) {
    trial->result = SL_TRIAL_NOT_PROVEN;
    switch (fact->state) {
    case SL_WHATIF_ANSWERED: return say(an, fact->answer, trial);
    case SL_WHATIF_REFUSED:
    case SL_WHATIF_IMPOSSIBLE:
        return sl_an_text(an, "Which allocator setting helps could not be proven: %s.", fact->why);
    case SL_WHATIF_TOO_LONG:
        trial->result = SL_TRIAL_NOT_TRIED;
        return sl_an_text(an,
                          "Allocator settings were not tried: %s; 'stormlog whatif' has no limit.",
                          fact->why);
    case SL_WHATIF_OFF: break;
    }
    trial->result = SL_TRIAL_NOT_TRIED;
    return "Allocator settings were not tried; 'stormlog whatif' tries them.";
}

static bool advise(sl_an *an, sl_finding *finding, const char *before, say_fn *say) {
    const sl_whatif_fact *fact;
    finding->advice = before;
    if (!sl_device_words_of(an->trace, an->device->device)->conf)
        return true;
    if (sl_whatif_of(an->of, &fact, NULL) < 0)
        return false;
    const char *sentence = say_fact(an, fact, say, &finding->trial);
    finding->advice = sl_an_text(an, "%s%s%s", before, *before ? " " : "", sentence);
    return true;
}

bool sl_an_advise_setting(sl_an *an, sl_finding *finding, const char *before) {
    return advise(an, finding, before, say_answer);
}

bool sl_an_advise_retries(sl_an *an, sl_finding *finding, const char *before) {
    return advise(an, finding, before, say_retries);
}
