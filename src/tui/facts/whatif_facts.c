/* SPDX-License-Identifier: MIT */
/* The answer of What-if for one device, in the words of `stormlog whatif`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/whatif/whatif_words.h"
#include "tui/facts/run_facts.h"

static const char *keep(sl_tui_whatif *to, const char *text) {
    const char *copy = sl_arena_copy(&to->arena, text, strlen(text));
    return copy ? copy : "";
}

static void keep_lines(sl_tui_whatif *to, const sl_whatif *answer) {
    static void (*const say[])(char *, const sl_whatif *) = {
        sl_whatif_say_proof, sl_whatif_say_best,    sl_whatif_say_paste,  sl_whatif_say_limit,
        sl_whatif_say_floor, sl_whatif_say_failure, sl_whatif_say_caveat,
    };
    char text[SL_WORDS_CAP];
    for (size_t i = 0; i < SL_COUNT_OF(say); i++) {
        text[0] = '\0';
        say[i](text, answer);
        if (*text)
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

static void fill(sl_tui_whatif *to, const sl_run_device *device) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    sl_whatif_options options = {.thread_cnt = cores > 1 ? (unsigned)cores - 1 : 1,
                                 .wants_cards = true};
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
                          sl_tui_whatif **out, sl_error *err) {
    sl_tui_whatif *to = calloc(1, sizeof *to);
    if (!to)
        return sl_fail_no_memory(err, "the answer");
    to->device = device;
    fill(to, sl_run_facts_device(inputs, source, device));
    *out = to;
    return SL_OK;
}
