/* SPDX-License-Identifier: MIT */
/* The full-screen program. The command line starts it through this one function and passes it the
 * functions that only the command line has: those that find a process's recordings and the runs of
 * a folder. */
#ifndef SL_TUI_RUN_H
#define SL_TUI_RUN_H

#include "tui/facts/tui_model.h"
#include "tui/facts/tui_paths.h"

typedef struct sl_tui_services {
    /* The recordings that a process writes. */
    sl_status (*find_process)(const char *pid, sl_tui_paths *paths, sl_error *err);
    /* This user's runs in the current folder; none if there is no folder of runs. */
    sl_status (*list_runs)(sl_tui_jobs *jobs, sl_error *err);
} sl_tui_services;

typedef struct sl_tui_options {
    /* Paths, or a process number; none = a running recording, or the overview. */
    const char *const *what;
    size_t what_cnt;
    int64_t interval_us;         /* between two readings */
    bool is_ascii;               /* also where the locale has more */
    const sl_code_folders *code; /* borrowed */
    const sl_tui_services *services;
} sl_tui_options;

/* 0 when the user quits. SL_E_UNSUPPORTED without a terminal and in a build without ncurses. If a
 * signal ends the program, the terminal is restored first and the process then dies of
 * that signal. */
int sl_tui_run(const sl_tui_options *options, sl_error *err);

#endif
