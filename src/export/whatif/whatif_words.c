/* SPDX-License-Identifier: MIT */
#include "export/whatif/whatif_words.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/order.h"
#include "base/text/human.h"

#define MIB ((uint64_t)1 << 20)

char *sl_whatif_mib(char *buf, uint64_t bytes) {
    return sl_human_count(buf, bytes / MIB + (bytes % MIB != 0));
}

sl_site sl_whatif_site(const sl_whatif *whatif, uint32_t event) {
    const sl_trace *trace = whatif->calls->replay->trace;
    uint32_t stack = event < whatif->calls->replay->event_cnt
                         ? whatif->calls->replay->device->events.stack_id[event]
                         : SL_STACK_EMPTY;
    return sl_user_site(trace, stack);
}

sl_maybe_u64 sl_whatif_step(const sl_whatif *whatif, uint32_t event) {
    const sl_steps *steps;
    sl_error err = SL_ERROR_INIT;
    if (sl_run_steps(whatif->calls->device, &steps, &err) < 0 || steps->borders.cnt < 2)
        return (sl_maybe_u64){0};
    return sl_known_u64(sl_steps_at(steps, event) + 1);
}

static void append_place(char buf[SL_WORDS_CAP], const sl_whatif *whatif, uint32_t event) {
    char site[SL_WORDS_CAP];
    sl_maybe_u64 step = sl_whatif_step(whatif, event);
    sl_words_site(site, sl_whatif_site(whatif, event), 60);
    sl_words_append(buf, " at %s", site);
    if (step.known)
        sl_words_append(buf, ", step %" PRIu64, step.value);
}

void sl_whatif_say_settings(char buf[SL_WORDS_CAP], const sl_whatif_row *row) {
    char text[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(text, &row->settings);
    buf[0] = '\0';
    if (row->kind == SL_WHATIF_RECORDED)
        sl_words_append(buf, "as recorded (%s)", *text ? text : "defaults");
    else
        sl_words_append(buf, "%s", *text ? text : "defaults");
}

void sl_whatif_say_proof(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_proof *proof = &whatif->proof;
    char same[SL_HUMAN_CAP], all[SL_HUMAN_CAP], device[SL_WORDS_CAP];
    buf[0] = '\0';
    sl_words_device(device, whatif->calls->replay->device->device);
    sl_words_append(buf, "Replayed as recorded: %s of %s addresses (%s%.5g %%) are the same, ",
                    sl_human_count(same, proof->pass.same_cnt),
                    sl_human_count(all, proof->pass.placed_cnt),
                    proof->share < 1 && proof->share > 0.9999 ? "more than " : "",
                    proof->share < 1 && proof->share > 0.9999 ? 99.99 : 100 * proof->share);
    if (proof->pass.recorded_peak == 0)
        sl_words_append(buf, "the reserved bytes were not recorded");
    else if (proof->has_same_curve)
        sl_words_append(buf, "and so is the reserved curve");
    else if (proof->has_same_peak && !whatif->calls->has_segments)
        sl_words_append(buf, "and so is the reserved peak");
    else
        sl_words_append(buf, "the reserved curve is not (its peak is off by %.2g %%)",
                        100 * proof->error);
    sl_words_append(buf, " (%s)", device);
    if (!proof->is_exact && proof->is_good)
        sl_words_append(buf, ". All figures below are ±%.2g %%", 100 * proof->error);
    if (whatif->calls->settings.pad_bytes)
        sl_words_append(buf, ". Each request has %" PRIu64 " bytes more, as torch_npu adds them",
                        whatif->calls->settings.pad_bytes);
    else if (proof->is_guessed)
        sl_words_append(buf, ". The settings were not recorded, they were found by trying");
}

/* Rows that a user can set, besides the recorded one. */
static size_t count_settings(const sl_whatif *whatif) {
    size_t cnt = 0;
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        cnt += whatif->rows.at[i].kind == SL_WHATIF_SETTING;
    return cnt;
}

void sl_whatif_say_limit(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char limit[SL_HUMAN_CAP], below[SL_HUMAN_CAP];
    const sl_calls *calls = whatif->calls;
    buf[0] = '\0';
    if (whatif->limit_bytes == SL_ALLOC_NO_LIMIT) {
        sl_words_append(buf, "Without a limit: the trace never met one. --card sets one");
        return;
    }
    sl_human_bytes(limit, whatif->limit_bytes);
    if (whatif->limit_is_given)
        sl_words_append(buf, "For a card that has %s for PyTorch's allocator", limit);
    else if (calls->limit_below_bytes > whatif->limit_bytes + 1)
        sl_words_append(buf,
                        "Under the limit that the trace met: at least %s and less than %s for "
                        "PyTorch's allocator; the lower one is used, --card sets it",
                        limit, sl_human_bytes(below, calls->limit_below_bytes));
    else
        sl_words_append(buf, "Under the limit that the trace met: %s for PyTorch's allocator",
                        limit);
    sl_words_append(buf, "; the CUDA context and other libraries come on top");
}

void sl_whatif_say_card(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_pass *recorded = &whatif->rows.at[0].pass;
    char bytes[SL_HUMAN_CAP];
    size_t fit = 0;
    buf[0] = '\0';
    if (!whatif->limit_is_given)
        return;
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        fit += whatif->rows.at[i].kind == SL_WHATIF_SETTING && !whatif->rows.at[i].pass.has_failed;
    if (!recorded->has_failed) {
        sl_words_append(buf, "With the recorded settings the run fits");
        return;
    }
    sl_words_append(buf, "With the recorded settings the run does not fit: a request of %s fails",
                    sl_human_bytes(bytes, recorded->fail_bytes));
    append_place(buf, whatif, recorded->fail_event);
    if (count_settings(whatif))
        sl_words_append(buf, ". It fits with %zu of %zu settings", fit, count_settings(whatif));
}

void sl_whatif_say_without(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char count[SL_HUMAN_CAP], bytes[SL_HUMAN_CAP], peak[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (!whatif->without)
        return;
    sl_words_append(buf,
                    "Everything below is without the blocks of lines that match '%.100s': %s "
                    "request%s, up to %s at once. With them %s MiB were reserved",
                    whatif->without, sl_human_count(count, whatif->removed.request_cnt),
                    whatif->removed.request_cnt == 1 ? "" : "s",
                    sl_human_bytes(bytes, whatif->removed.peak_bytes),
                    sl_whatif_mib(peak, whatif->proof.pass.stats.reserved_peak));
}

void sl_whatif_say_floor(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char floor[SL_HUMAN_CAP];
    buf[0] = '\0';
    sl_words_append(buf, "No setting can go below %s MiB: so much was in use at once",
                    sl_whatif_mib(floor, whatif->floor_bytes));
    if (whatif->floor_event != SL_EVENT_BEFORE)
        append_place(buf, whatif, whatif->floor_event);
}

void sl_whatif_say_first_failure(char buf[SL_WORDS_CAP], const sl_whatif *whatif,
                                 const sl_whatif_row *row) {
    char bytes[SL_HUMAN_CAP], active[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (!row->pass.has_failed)
        return;
    const sl_whatif_row *recorded = &whatif->rows.at[0];
    if (row != recorded && recorded->pass.has_failed &&
        recorded->pass.fail_call == row->pass.fail_call) {
        sl_words_append(buf, "fails at the same request");
        if (row->may_fit)
            sl_words_append(buf, ", unless the limit was nearer to %s",
                            sl_human_bytes(bytes, whatif->calls->limit_below_bytes));
        return;
    }
    sl_words_append(buf, "fails: a request of %s", sl_human_bytes(bytes, row->pass.fail_bytes));
    append_place(buf, whatif, row->pass.fail_event);
    sl_words_append(buf, ", with %s in use", sl_human_bytes(active, row->pass.fail_active_bytes));
}

void sl_whatif_say_spread(char buf[SL_WORDS_CAP], const sl_whatif_row *row) {
    char low[SL_HUMAN_CAP], high[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (row->peak_low != row->peak_high)
        sl_words_append(buf, "%s to %s MiB in %u replays", sl_whatif_mib(low, row->peak_low),
                        sl_whatif_mib(high, row->peak_high), row->pass_cnt);
    if (row->failed_cnt && row->failed_cnt < row->pass_cnt)
        sl_words_append(buf, "%sfails in %u of %u replays", *buf ? "; " : "", row->failed_cnt,
                        row->pass_cnt);
}

/* ---- the best ---- */

static void append_costs(char buf[SL_WORDS_CAP], const sl_alloc_stats *own,
                         const sl_alloc_stats *then) {
    char count[SL_HUMAN_CAP];
    uint64_t calls = own->driver_allocs + own->driver_frees;
    uint64_t before = then->driver_allocs + then->driver_frees;
    if (calls == before)
        sl_words_append(buf, " with as many driver calls");
    else
        sl_words_append(buf, " with %s %s driver call%s",
                        sl_human_count(count, calls > before ? calls - before : before - calls),
                        calls > before ? "more" : "fewer",
                        calls - before == 1 || before - calls == 1 ? "" : "s");
    if (own->retries != then->retries)
        sl_words_append(buf, " and %" PRIu64 " flushes before a retry instead of %" PRIu64,
                        own->retries, then->retries);
}

void sl_whatif_say_best(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_row *recorded = &whatif->rows.at[0], *best = &whatif->rows.at[whatif->best];
    const sl_alloc_stats *own = &best->pass.stats, *then = &recorded->pass.stats;
    char from[SL_HUMAN_CAP], to[SL_HUMAN_CAP], settings[SL_WORDS_CAP];
    buf[0] = '\0';
    if (whatif->limit_bytes < whatif->floor_bytes) {
        sl_words_append(buf,
                        "No setting helps: more was in use at once than the limit, %s MiB must go",
                        sl_whatif_mib(from, whatif->floor_bytes - whatif->limit_bytes));
        return;
    }
    if (whatif->best == 0 && count_settings(whatif) == 0)
        return;
    if (whatif->best == 0) {
        sl_words_append(buf,
                        "None of the settings tried (%zu) is better than the recorded one (%s MiB)",
                        count_settings(whatif), sl_whatif_mib(from, then->reserved_peak));
        return;
    }
    sl_whatif_say_settings(settings, best);
    if (recorded->pass.has_failed && !best->pass.has_failed) {
        sl_words_append(buf, "%s would have served every request, with a reserved peak of %s MiB",
                        settings, sl_whatif_mib(to, own->reserved_peak));
        return;
    }
    if (best->pass.has_failed) {
        uint64_t more = best->pass.request_cnt - recorded->pass.request_cnt;
        sl_words_append(buf, "%s serves %s more request%s before one fails", settings,
                        sl_human_count(to, more), more == 1 ? "" : "s");
        return;
    }
    sl_words_append(buf, "%s saves %s MiB of %s (%.1f %%)", settings,
                    sl_whatif_mib(to, then->reserved_peak - own->reserved_peak),
                    sl_whatif_mib(from, then->reserved_peak),
                    100 - 100.0 * (double)own->reserved_peak / (double)then->reserved_peak);
    append_costs(buf, own, then);
}

void sl_whatif_say_paste(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char text[SL_SETTINGS_TEXT_CAP];
    const sl_alloc_settings *best = &whatif->rows.at[whatif->best].settings;
    buf[0] = '\0';
    if (whatif->best == 0)
        return;
    sl_alloc_settings_text(text, best);
    bool needs_quotes = strpbrk(text, "[]>") != NULL;
    if (*text)
        sl_words_append(buf, "export PYTORCH_CUDA_ALLOC_CONF=%s%s%s", needs_quotes ? "'" : "", text,
                        needs_quotes ? "'" : "");
    else
        sl_words_append(buf, "unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF");
}

/* ---- the failure of the trace ---- */

/* A setting under which all requests that failed in the trace are served. */
static bool serves(const sl_whatif *whatif, const sl_whatif_row *row) {
    return row->kind == SL_WHATIF_SETTING && row->pass.oom_served_cnt == whatif->calls->failed_cnt;
}

static size_t count_possible(const sl_whatif *whatif) {
    size_t cnt = 0;
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        cnt += whatif->rows.at[i].kind == SL_WHATIF_SETTING && whatif->rows.at[i].may_fit;
    return cnt;
}

static void append_servers(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char settings[SL_WORDS_CAP];
    size_t named = 0, cnt = 0;
    for (size_t i = 1; i < whatif->rows.cnt; i++) {
        const sl_whatif_row *row = &whatif->rows.at[i];
        if (!serves(whatif, row) || ++cnt > 2)
            continue;
        sl_whatif_say_settings(settings, row);
        sl_words_append(buf, "%s%s", named++ ? ", " : "", settings);
        if (row->pass.oom_more_cnt)
            sl_words_append(buf, " (and %" PRIu64 "%s more of its size)", row->pass.oom_more_cnt,
                            row->pass.oom_more_cnt == SL_MORE_MAX ? " or" : "");
    }
    if (cnt > 2)
        sl_words_append(buf, " and %zu more", cnt - 2);
    if (cnt)
        sl_words_append(buf, " would have served it");
    else if (count_possible(whatif))
        sl_words_append(buf,
                        "Under the lower limit none of the settings would have served it, "
                        "under the higher one %zu",
                        count_possible(whatif));
    else
        sl_words_append(buf, "None of the settings would have served it");
}

void sl_whatif_say_failure(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_failure *failure = &whatif->failure;
    char bytes[SL_HUMAN_CAP], active[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (!failure->is_known)
        return;
    sl_words_append(buf, "A request of %s failed in the trace",
                    sl_human_bytes(bytes, failure->bytes));
    append_place(buf, whatif, failure->event);
    sl_words_append(buf, "; %s were in use. ", sl_human_bytes(active, failure->active_bytes));
    if (whatif->without && whatif->rows.at[0].pass.oom_served_cnt == whatif->calls->failed_cnt)
        sl_words_append(buf, "Without these blocks it would have been served");
    else
        append_servers(buf, whatif);
}

void sl_whatif_say_remedy(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_failure *failure = &whatif->failure;
    char bytes[SL_HUMAN_CAP], steps[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (!failure->is_known || whatif->limit_bytes == SL_ALLOC_NO_LIMIT)
        return;
    if (failure->missing_bytes) {
        sl_words_append(buf, "At least %s must go before it fits, under any setting",
                        sl_human_bytes(bytes, failure->missing_bytes));
        return;
    }
    double growth = failure->step_growth.known ? failure->step_growth.value : 0;
    uint64_t limit = sl_max_u64(whatif->limit_bytes, failure->active_bytes);
    uint64_t spare = limit - failure->active_bytes;
    spare -= sl_min_u64(failure->bytes, spare);
    if (growth >= (double)MIB)
        sl_words_append(buf,
                        "What is in use grows by %s per step, so that at most %s more steps fit",
                        sl_human_bytes(bytes, (uint64_t)growth),
                        sl_human_count(steps, (uint64_t)((double)spare / growth)));
}

void sl_whatif_say_caveat(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char bytes[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (whatif->calls->start_bytes)
        sl_words_append(buf,
                        "The trace begins in the middle of a run, with %s in use; with segments of "
                        "another kind these blocks are placed anew",
                        sl_human_bytes(bytes, whatif->calls->start_bytes));
    if (!whatif->calls->replay->trace->has_requested_sizes &&
        !whatif->calls->replay->device->events.requested_bytes)
        sl_words_append(
            buf, "%sThe input has rounded sizes only: roundup_power2_divisions is approximate",
            *buf ? ". " : "");
}
