/* SPDX-License-Identifier: MIT */
/* Questions in the status line: one row each says what is asked, what stands there at first, and what the answer
 * does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/opt_value.h"
#include "tui/app/tui_app.h"

static void take_search(sl_app *app, const char *text) {
    snprintf(app->ui.search, sizeof app->ui.search, "%s", text);
}

static void take_path(sl_app *app, const char *text) {
    if (*text)
        sl_app_open(app, text);
}

static void take_command(sl_app *app, const char *text) {
    if (*text)
        sl__app_run_command(app, text);
}

static void take_ranks(sl_app *app, const char *text) {
    const char *wrong = sl_rank_filter_error(text);
    if (wrong)
        sl_app_say(app, true, "ranks '%s': %s", text, wrong);
    else
        snprintf(app->ui.rank_filter, sizeof app->ui.rank_filter, "%s", text);
}

/* "10s-2m", "10s-", "-2m": either end may be left out. */
static sl_status parse_part(const char *text, int64_t *since_us, int64_t *until_us, sl_error *err) {
    char from[64];
    size_t len = strcspn(text, "-");
    *since_us = 0, *until_us = INT64_MAX;
    if (len >= sizeof from || !text[len])
        return sl_fail(err, SL_E_USAGE, "time '%s': expected a part of the run, like 10s-2m", text);
    snprintf(from, sizeof from, "%.*s", (int)len, text);
    if (*from)
        SL_TRY(sl_opt_parse_duration(from, since_us, err));
    if (text[len + 1])
        SL_TRY(sl_opt_parse_duration(text + len + 1, until_us, err));
    if (*since_us >= *until_us)
        return sl_fail(err, SL_E_USAGE, "time '%s': the end is before the start", text);
    return SL_OK;
}

static void take_time(sl_app *app, const char *text) {
    sl_error err = SL_ERROR_INIT;
    if (!*text) {
        app->ui.time_filter[0] = '\0';
        app->screen.judged = NULL;
        return;
    }
    if (parse_part(text, &app->since_us, &app->until_us, &err) < 0) {
        sl_app_say(app, true, "%s", err.text);
        return;
    }
    snprintf(app->ui.time_filter, sizeof app->ui.time_filter, "%s", text);
    sl__app_judge(app);
}

static void take_comparison(sl_app *app, const char *text) {
    snprintf(app->ui.compared_with, sizeof app->ui.compared_with, "%s", text);
    if (*text)
        sl__app_compare(app, text);
    else
        app->ui.shows_comparison = false;
}

static void ask_again(sl_app *app, char *field, size_t cap, const char *text) {
    sl_whatif_question before = app->question;
    sl_error err = SL_ERROR_INIT;
    snprintf(field, cap, "%s", text);
    if (sl_whatif_question_check(&app->question, &err) < 0) {
        app->question = before;
        sl_app_say(app, true, "%s", err.text);
        return;
    }
    sl__app_ask_whatif(app);
}

static void take_settings(sl_app *app, const char *text) {
    ask_again(app, app->question.settings, sizeof app->question.settings, text);
}

static void take_card(sl_app *app, const char *text) {
    ask_again(app, app->question.card, sizeof app->question.card, text);
}

typedef struct prompt_row {
    void (*take)(sl_app *app, const char *text);
    size_t field; /* offset in sl_app of the text that stands there at first */
    bool has_field;
} prompt_row;

#define FIELD(name) offsetof(sl_app, name), true

static const prompt_row rows[] = {
    [SL_PROMPT_SEARCH] = {take_search, FIELD(ui.search)},
    [SL_PROMPT_OPEN] = {take_path, 0, false},
    [SL_PROMPT_RUN] = {take_command, 0, false},
    [SL_PROMPT_FILTER] = {take_ranks, FIELD(ui.rank_filter)},
    [SL_PROMPT_TIME] = {take_time, FIELD(ui.time_filter)},
    [SL_PROMPT_COMPARE] = {take_comparison, FIELD(ui.compared_with)},
    [SL_PROMPT_SETTINGS] = {take_settings, FIELD(question.settings)},
    [SL_PROMPT_CARD] = {take_card, FIELD(question.card)},
};

void sl__app_ask(sl_app *app, sl_prompt prompt) {
    const char *text = rows[prompt].has_field ? (const char *)app + rows[prompt].field : "";
    app->ui.prompt = prompt;
    snprintf(app->ui.prompt_text, sizeof app->ui.prompt_text, "%s", text);
}

static void answer(sl_app *app) {
    char text[SL_PROMPT_CAP];
    sl_prompt prompt = app->ui.prompt;
    snprintf(text, sizeof text, "%s", app->ui.prompt_text);
    app->ui.prompt = SL_PROMPT_NONE;
    rows[prompt].take(app, text);
}

void sl__app_prompt_key(sl_app *app, uint32_t key) {
    char *text = app->ui.prompt_text;
    size_t len = strlen(text);
    if (key == SL_KEY_ENTER) {
        answer(app);
    } else if (key == SL_KEY_ESCAPE || key == 3) {
        app->ui.prompt = SL_PROMPT_NONE;
    } else if (key == SL_KEY_BACKSPACE) {
        while (len > 0 && (text[--len] & 0xc0) == 0x80)
            continue;
        text[len] = '\0';
    } else if (key == 21) { /* Ctrl-U, as in a shell */
        text[0] = '\0';
    } else if (key >= ' ' && key < SL_KEY_UP && len + 5 < SL_PROMPT_CAP) {
        sl_utf8_encode(text + len, key);
    }
}
