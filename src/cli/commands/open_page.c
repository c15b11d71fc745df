/* SPDX-License-Identifier: MIT */
#include "cli/commands/open_page.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/core/clock.h"
#include "base/text/term.h"

#define OPENER   "xdg-open"
#define PAUSE_US 10000u
/* A browser that xdg-open starts itself stays in the foreground: one that runs this long is open. */
#define WAIT_US  3000000u

extern char **environ;

/* 0 or the errno of the failure. */
static int start(const char *path, pid_t *pid) {
    char *argv[] = {(char *)(uintptr_t)OPENER, (char *)(uintptr_t)path, NULL}; /* exec only reads */
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0)
        return failure;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    failure = posix_spawnp(pid, OPENER, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* Whether it ended well, or is still at it. */
static bool is_open(pid_t pid) {
    int end = 0;
    for (unsigned waited_us = 0; waited_us < WAIT_US; waited_us += PAUSE_US) {
        pid_t ended = waitpid(pid, &end, WNOHANG);
        if (ended != 0)
            return ended == pid && WIFEXITED(end) && WEXITSTATUS(end) == 0;
        sl_clock_pause_us(PAUSE_US);
    }
    return true;
}

void sl_open_page(const char *path) {
    char *whole = realpath(path, NULL);
    const char *page = whole ? whole : path;
    pid_t pid;
    int failure = start(page, &pid);
    if (failure == ENOENT)
        sl_term_printf(stderr,
                       "stormlog: cannot open a browser: %s is not installed; the page is '%s'\n",
                       OPENER, page);
    else if (failure != 0)
        sl_term_printf(stderr, "stormlog: cannot start %s: %s; the page is '%s'\n", OPENER,
                       strerror(failure), page);
    else if (!is_open(pid))
        sl_term_printf(stderr, "stormlog: %s found no browser; the page is '%s'\n", OPENER, page);
    free(whole);
}
