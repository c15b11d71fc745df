/* SPDX-License-Identifier: MIT */
/* The state of the program and what it does, without a terminal: opening, refreshing, and what keys
 * do. tui_run.c shows it. Used by one thread; only the loader has another. */
#ifndef SL_TUI_APP_H
#define SL_TUI_APP_H

#include "tui/app/tui_loader.h"
#include "tui/app/tui_task.h"
#include "tui/facts/live_facts.h"
#include "tui/tui_run.h"
#include "tui/view/view.h"

typedef struct sl_app {
    const sl_tui_options *options; /* borrowed */
    sl_ui ui;
    sl_screen screen;
    sl_tui_machine machine;
    sl_tui_jobs jobs;
    sl_output output;
    sl_task task;
    sl_loader *loader;
    sl_live *live;                    /* owned; NULL = what is open is not being written */
    sl_tui_inputs inputs;             /* of screen.whole */
    sl_tui_timeline *timeline;        /* owned */
    sl_tui_whatif *whatif;            /* owned */
    char *path;                       /* owned; what is open; NULL = nothing */
    int64_t part_from_us, part_to_us; /* of the timeline; to <= from: all of it */
    size_t line_node;                 /* whose source line was read; SIZE_MAX = none */
    size_t tick_cnt;
    bool wants_newest; /* a run was started here: open it once it exists */
    bool is_quitting;
    char copied[SL_PROMPT_CAP]; /* for the terminal's clipboard; "" = nothing */
    bool wants_save;
} sl_app;

sl_status sl_app_init(sl_app *app, const sl_tui_options *options, sl_error *err);
void sl_app_fini(sl_app *app);

/* Opens a path, or the recordings of a process; the status line says why it failed. */
void sl_app_open(sl_app *app, const char *what);

/* Reads what changes by itself. */
void sl_app_tick(sl_app *app);
/* Takes what the loader has finished and what the command has printed; true when there was
 * something. */
bool sl_app_poll(sl_app *app);
/* A key; x and y of a click, on a grid of this size. */
void sl_app_key(sl_app *app, uint32_t key, int x, int y, const sl_grid *grid);
/* Makes everything the screen needs; columns of the terminal for the timeline. */
void sl_app_prepare(sl_app *app, int columns);

/* One line below the screen; the next key removes it. */
void sl_app_say(sl_app *app, bool is_error, const char *fmt, ...) SL_PRINTF(3, 4);

/* Internal to src/tui/app. */

/* tui_actions.c: the selected row of Files & Actions; a command under the recorder; the end of one. */
void sl__app_do_file_action(sl_app *app);
void sl__app_run_command(sl_app *app, const char *command);
void sl__app_task_ended(sl_app *app, int exit_code);
/* tui_input.c. */
void sl__app_prompt_key(sl_app *app, uint32_t key);
void sl__app_read_whole(sl_app *app);
void sl__app_ask_whatif(sl_app *app);

#endif
