/* SPDX-License-Identifier: MIT */
/* One command at a time, started from the screen: an export, or a program under the recorder. What it prints
 * is kept line by line; it never touches the terminal. */
#ifndef SL_TUI_TASK_H
#define SL_TUI_TASK_H

#include <sys/types.h>

#include "tui/view/view.h"

typedef struct sl_task {
    pid_t pid; /* 0 = none; its own process group */
    int fd;    /* what it prints; -1 = closed */
    char line[200];
    size_t line_len;
    char last[200]; /* the last line that was not empty */
} sl_task;

/* argv[0] is looked up by execv. */
sl_status sl_task_start(sl_task *task, const char *const *argv, sl_error *err);
/* Reads what it printed; true when it has ended, with its exit code (128 + signal). */
bool sl_task_poll(sl_task *task, sl_output *output, int *exit_code);
/* SIGTERM to its whole process group. */
void sl_task_stop(const sl_task *task);

void sl_output_add(sl_output *output, const char *line);

#endif
