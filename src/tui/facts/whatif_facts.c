/* SPDX-License-Identifier: MIT */
/* The answer of What-if for one device, in the words of `stormlog whatif`. */
#include "tui/facts/whatif_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cpus.h"
#include "api/whatif_answers.h"
#include "base/core/str.h"
#include "base/text/human.h"
#include "export/whatif/whatif_words.h"

#define SETS_MAX 16

typedef struct asked {
    sl_alloc_settings sets[SETS_MAX];
    size_t set_cnt;
    sl_maybe_u64 card;
} asked;

static sl_status read_question(const sl_whatif_question *question, asked *out, sl_error *err) {
    const char *text = question->settings;
    out->set_cnt = 0;
    out->card = (sl_maybe_u64){0};
    for (size_t len; *(text += strspn(text, " ")); text += len) {
        len = strcspn(text, " ");
        if (out->set_cnt == SETS_MAX)
            return sl_fail(err, SL_E_USAGE, "expected at most %d sets of settings", SETS_MAX);
        SL_TRY(sl_whatif_read_set((sl_str){text, len}, &out->sets[out->set_cnt], err));
        out->set_cnt++;
    }
    if (*question->card) {
        SL_TRY(sl_human_parse_bytes(question->card, &out->card.value, err));
        out->card.known = true;
    }
    return SL_OK;
}

sl_status sl_whatif_question_check(const sl_whatif_question *question, sl_error *err) {
    asked what;
    return read_question(question, &what, err);
}

static const char *keep(sl_tui_whatif *to, const char *text) {
    const char *copy = sl_arena_copy(&to->arena, text, strlen(text));
    return copy ? copy : "";
}

static void keep_lines(sl_tui_whatif *to, const sl_whatif *answer) {
    static void (*const say[])(char *, const sl_whatif *) = {
        sl_whatif_say_proof, sl_whatif_say_best,  sl_whatif_say_paste,   sl_whatif_say_limit,
        sl_whatif_say_card,  sl_whatif_say_floor, sl_whatif_say_failure, sl_whatif_say_caveat,
    };
    char text[SL_WORDS_CAP];
    for (size_t i = 0; i < SL_COUNT_OF(say); i++) {
        text[0] = '\0';
        say[i](text, answer);
        if (*text && to->line_cnt < SL_COUNT_OF(to->lines))
            to->lines[to->line_cnt++] = keep(to, text);
    }
}

static void keep_row(sl_tui_whatif *to, const sl_whatif *answer, size_t i) {
    const sl_whatif_row *row = &answer->rows.at[i];
    sl_tui_setting *setting = &to->rows[i];
    char text[SL_WORDS_CAP] = "";
    sl_whatif_say_settings(text, row);
    setting->text = keep(to, text);
    text[0] = '\0';
    sl_whatif_say_spread(text, row);
    setting->spread = keep(to, text);
    text[0] = '\0';
    sl_whatif_say_first_failure(text, answer, row);
    setting->failure = keep(to, text);
    setting->peak = row->pass.stats.reserved_peak;
    setting->saves = (int64_t)answer->rows.at[0].pass.stats.reserved_peak - (int64_t)setting->peak;
    setting->card = row->card_bytes;
    setting->is_best = i > 0 && i == answer->best;
    setting->has_failed = row->pass.has_failed;
}

static void fill(sl_tui_whatif *to, const sl_run_device *device, const asked *what) {
    unsigned cpus = sl_usable_cpus(); /* one of them answers the keys */
    sl_whatif_options options = {.settings = what->sets,
                                 .setting_cnt = what->set_cnt,
                                 .card_bytes = what->card,
                                 .thread_cnt = cpus > 1 ? cpus - 1 : 1,
                                 .wants_cards = !what->card.known};
    sl_whatif *answer = NULL;
    sl_error err = SL_ERROR_INIT;
    if (!device || device->events->device == SL_DEVICE_HOST || device->events->events.cnt < 2) {
        to->problem = "Only the history of a card can be replayed; this device has none.";
        return;
    }
    if (sl_whatif_new(device, &options, &answer, &err) < 0) {
        to->problem = keep(to, err.text);
        return;
    }
    keep_lines(to, answer);
    if (answer->refusal[0])
        to->problem = keep(to, answer->refusal);
    to->rows = sl_arena_alloc(&to->arena, (answer->rows.cnt + 1) * sizeof *to->rows);
    for (size_t i = 0; to->rows && i < answer->rows.cnt; i++)
        keep_row(to, answer, i);
    to->row_cnt = to->rows ? answer->rows.cnt : 0;
    sl_whatif_free(answer);
}

sl_status sl_whatif_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                          const sl_whatif_question *question, sl_tui_whatif **out, sl_error *err) {
    asked what;
    SL_TRY(read_question(question, &what, err));
    sl_tui_whatif *to = calloc(1, sizeof *to);
    if (!to)
        return sl_fail_no_memory(err, "the answer");
    to->device = device;
    to->asked = "";
    if (*question->settings || *question->card)
        to->asked = sl_arena_printf(&to->arena, "settings: %s   card: %s",
                                    *question->settings ? question->settings : "the usual ones",
                                    *question->card ? question->card : "as recorded");
    to->asked = to->asked ? to->asked : "";
    fill(to, sl_run_facts_device(inputs, source, device), &what);
    *out = to;
    return SL_OK;
}
