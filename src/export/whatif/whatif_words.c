/* SPDX-License-Identifier: MIT */
#include "export/whatif/whatif_words.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/order.h"
#include "base/text/human.h"
#include "base/text/term.h"

#define MIB ((uint64_t)1 << 20)

char *sl_whatif_mib(char *buf, uint64_t bytes) {
    return sl_human_count(buf, bytes / MIB + (bytes % MIB != 0));
}

void sl__whatif_put_line(FILE *to, const char *text) {
    char line[SL_WORDS_CAP];
    if (!*text)
        return;
    snprintf(line, sizeof line, "%.*s.", (int)sizeof line - 2, text);
    sl_term_wrap(to, &(sl_wrap){0}, line);
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
    return sl_known_u64(sl_steps_number_at(steps, event));
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

/* Rows whose settings a user can set, without the recorded one. */
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

/* ---- another program ---- */

static void append_change(char buf[SL_WORDS_CAP], size_t *cnt, const char *text) {
    sl_words_append(buf, "%s%s", (*cnt)++ ? "; " : "", text);
}

static void say_removed(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    char count[SL_HUMAN_CAP], bytes[SL_HUMAN_CAP];
    buf[0] = '\0';
    sl_words_append(buf,
                    "lines that match '%.100s' make no blocks (%s request%s, up to %s at once)",
                    whatif->without, sl_human_count(count, whatif->removed.request_cnt),
                    whatif->removed.request_cnt == 1 ? "" : "s",
                    sl_human_bytes(bytes, whatif->removed.peak_bytes));
}

static void say_freed(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_program *program = &whatif->program;
    char count[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (program->freed)
        sl_words_append(buf, "blocks of lines that match '%.100s' do not outlive their step",
                        program->freed);
    if (program->frees_late)
        sl_words_append(buf, "%sblocks that the next step drops are free before it begins",
                        program->freed ? ", and " : "");
    sl_words_append(buf, " (%s block%s %s free earlier)", sl_human_count(count, program->freed_cnt),
                    program->freed_cnt == 1 ? "" : "s", program->freed_cnt == 1 ? "is" : "are");
}

void sl_whatif_say_program(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_program *program = &whatif->program;
    char peak[SL_HUMAN_CAP], text[SL_WORDS_CAP];
    size_t cnt = 0;
    buf[0] = '\0';
    if (!program->is_changed)
        return;
    sl_words_append(buf, "Everything below is for a changed program: ");
    if (whatif->without) {
        say_removed(text, whatif);
        append_change(buf, &cnt, text);
    }
    if (program->freed || program->frees_late) {
        say_freed(text, whatif);
        append_change(buf, &cnt, text);
    }
    if (program->is_one_stream)
        append_change(buf, &cnt, "all work is on one stream");
    else if (program->no_record_stream)
        append_change(buf, &cnt, "no free waits for another stream");
    sl_words_append(buf, ". The recorded program reserved %s MiB",
                    sl_whatif_mib(peak, whatif->proof.pass.stats.reserved_peak));
}

/* ---- repairs of lines ---- */

static const struct {
    const char *name, *title, *option;
} repairs[] = {
    [SL_REPAIR_LEAK] = {"leak", "leak fixed", "--free"},
    [SL_REPAIR_EARLY] = {"early", "freed earlier", "--early"},
    [SL_REPAIR_RECORD_STREAM] = {"record_stream", "no record_stream", "--no-record-stream"},
    [SL_REPAIR_STREAM] = {"stream", "one stream", "--one-stream"},
};

const char *sl_whatif_repair_name(sl_repair_kind kind) {
    return repairs[kind].name;
}

const char *sl_whatif_repair_title(sl_repair_kind kind) {
    return repairs[kind].title;
}

void sl_whatif_say_lines(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    const sl_whatif_lines *lines = &whatif->lines;
    char peak[SL_HUMAN_CAP], count[SL_HUMAN_CAP];
    buf[0] = '\0';
    if (lines->tried_cnt == 0)
        return;
    sl_whatif_mib(peak, lines->peak);
    if (lines->at.cnt == 0) {
        sl_words_append(buf,
                        "No repair of a single line lowers the reserved peak of %s MiB (%s tried)",
                        peak, sl_human_count(count, lines->tried_cnt));
        return;
    }
    sl_words_append(buf, "Repairs of single lines, each replayed alone. ");
    sl_words_append(buf,
                    lines->has_limit ? "Unrepaired and without a limit the run needs %s MiB"
                                     : "Unrepaired, %s MiB are reserved",
                    peak);
    if (lines->candidate_cnt > lines->tried_cnt)
        sl_words_append(buf, "; the %s that hold most at the peak were tried, of %zu",
                        sl_human_count(count, lines->tried_cnt), lines->candidate_cnt);
}

void sl_whatif_say_line(char buf[SL_WORDS_CAP], const sl_whatif *whatif,
                        const sl_whatif_line *line) {
    static const char *const verbs[] = {
        [SL_REPAIR_LEAK] = "pile up and are never dropped",
        [SL_REPAIR_EARLY] = "outlive their step",
        [SL_REPAIR_RECORD_STREAM] = "wait for another stream",
        [SL_REPAIR_STREAM] = "are in the pool of another stream",
    };
    char bytes[SL_HUMAN_CAP], count[SL_HUMAN_CAP];
    buf[0] = '\0';
    sl_words_append(buf, "at the peak %s in %s block%s %s", sl_human_bytes(bytes, line->bytes),
                    sl_human_count(count, line->blocks), line->blocks == 1 ? "" : "s",
                    verbs[line->kind]);
    if (line->kind == SL_REPAIR_EARLY)
        sl_words_append(buf, " (by %.2g steps on average)", line->step_mean);
    if (whatif->lines.has_limit && line->fits)
        sl_words_append(buf, "; repaired, the run fits");
}

/* Whether a single line accounts for everything of a kind. */
static bool is_one_line(const sl_whatif_lines *lines, const sl_whatif_line *all) {
    for (size_t i = 0; i < lines->at.cnt; i++)
        if (lines->at.at[i].kind == all->kind && lines->at.at[i].saves == all->saves)
            return true;
    return false;
}

void sl_whatif_say_all_lines(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    static const char *const words[] = {
        [SL_REPAIR_LEAK] = "leaks",
        [SL_REPAIR_EARLY] = "blocks that are dropped one step late",
        [SL_REPAIR_RECORD_STREAM] = "frees that wait for another stream (record_stream)",
        [SL_REPAIR_STREAM] = "several streams",
    };
    const sl_whatif_lines *lines = &whatif->lines;
    char bytes[SL_HUMAN_CAP];
    size_t cnt = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < lines->all.cnt; i++) {
        const sl_whatif_line *line = &lines->all.at[i];
        if (line->saves == 0 || (line->kind == SL_REPAIR_LEAK && is_one_line(lines, line)))
            continue;
        sl_words_append(buf, "%s%s cost %s MiB (%s)",
                        cnt++ ? "; " : "All lines together: ", words[line->kind],
                        sl_whatif_mib(bytes, line->saves), repairs[line->kind].option);
    }
}

void sl_whatif_say_need(char buf[SL_WORDS_CAP], const sl_whatif *whatif) {
    buf[0] = '\0';
    for (size_t i = 0; i < whatif->lines.at.cnt; i++)
        if (whatif->lines.at.at[i].kind == SL_REPAIR_EARLY)
            snprintf(buf, SL_WORDS_CAP, "%s",
                     "A trace does not show when a block was last used: \"freed earlier\" holds "
                     "only for blocks that the program no longer needs then");
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
        sl_words_append(buf, "%s to %s MiB in %u replays%s", sl_whatif_mib(low, row->peak_low),
                        sl_whatif_mib(high, row->peak_high), row->pass_cnt,
                        row->peak_high - row->peak_low > row->place_range
                            ? " (when waiting frees complete)"
                            : "");
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
                        "under the higher one %zu would",
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
    if (whatif->rows.at[0].pass.oom_served_cnt == whatif->calls->failed_cnt)
        sl_words_append(buf, whatif->program.is_changed
                                 ? "The changed program would have got it"
                                 : "Under this limit it is served, also with the recorded "
                                   "settings");
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
    if (growth < (double)MIB)
        return;
    uint64_t more = (uint64_t)((double)spare / growth);
    sl_words_append(
        buf, "What is in use grows by %s per step: ", sl_human_bytes(bytes, (uint64_t)growth));
    if (more)
        sl_words_append(buf, "a setting without any waste would serve %s more step%s",
                        sl_human_count(steps, more), more == 1 ? "" : "s");
    else
        sl_words_append(buf, "no setting would serve one more step");
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
