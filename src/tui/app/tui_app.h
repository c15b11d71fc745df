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
    sl_tui_source *judged;            /* owned; findings of the part that was asked for */
    sl_tui_comparison *compared;      /* owned */
    sl_whatif_question question;      /* of What-if, as typed */
    int64_t since_us, until_us;       /* of `judged` */
    char *path;                       /* owned; what is open, the first of it; NULL = nothing */
    sl_tui_paths paths;               /* owned; its parts */
    int64_t part_from_us, part_to_us; /* of the timeline; to <= from: all of it */
    int64_t cursor_us;                /* where the cursor goes when the part has changed */
    bool has_cursor;
    sl_tui_users users;
    sl_tui_follow follow;
    bool is_follow_made;          /* of what was read whole */
    char selected[SL_PROMPT_CAP]; /* text of the selected place, to find it again */
    size_t tick_cnt;
    bool wants_newest;     /* open the newest run once it has something to show */
    char task_output[256]; /* what the command writes; "" = nothing */
    bool is_quitting;
    char copied[SL_PROMPT_CAP]; /* for the terminal's clipboard; "" = nothing */
    bool wants_save;
} sl_app;

sl_status sl_app_init(sl_app *app, const sl_tui_options *options, sl_error *err);
void sl_app_fini(sl_app *app);

/* Opens paths with commas between them, or the recordings of a process; the status line says why it failed. */
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
/* gpumemprof or tfmemprof: their info. */
void sl__app_run_tool(sl_app *app, const char *name);
/* tui_zoom.c: what is shown of the timeline, or of the curves of Live. */
void sl__app_zoom(sl_app *app, int64_t by);
void sl__app_zoom_all(sl_app *app, int64_t arg);
void sl__app_pan(sl_app *app, int64_t by);
void sl__app_move_cursor(sl_app *app, int64_t by);
void sl__app_set_cursor(sl_app *app, int column);
void sl__app_find_peak(sl_app *app, int64_t arg);
/* tui_follow.c: the place that is selected in the tab Sites, its source, and the line that is followed. */
void sl__app_keep_selection(sl_app *app);
void sl__app_note_selection(sl_app *app);
void sl__app_follow(sl_app *app);
/* tui_prompt.c: asks, and takes the answer. */
void sl__app_ask(sl_app *app, sl_prompt prompt);
void sl__app_prompt_key(sl_app *app, uint32_t key);
/* tui_open.c. */
void sl__app_open_all(sl_app *app, const char *const *what, size_t cnt);
void sl__app_list_runs(sl_app *app);
/* Opens the newest run if it is still running and nothing else is being read. */
void sl__app_open_newest(sl_app *app);
void sl__app_close(sl_app *app);
void sl__app_read_whole(sl_app *app);
void sl__app_ask_whatif(sl_app *app);
void sl__app_judge(sl_app *app);
void sl__app_compare(sl_app *app, const char *what);

#endif
