/* SPDX-License-Identifier: MIT */
#include "cli/commands/ask_python.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 5000

/* torch is looked for, not imported: that takes seconds. */
static const char question[] =
    "import sys, importlib.util as u; t = u.find_spec('torch'); "
    "print('%d.%d.%d' % sys.version_info[:3]); print((t and t.origin) or '')";

extern char **environ;

/* Without LD_PRELOAD: a recorder in it would record this question. NULL when memory ran out. */
static char **plain_environment(void) {
    size_t cnt = 0, kept = 0;
    while (environ[cnt])
        cnt++;
    char **list = calloc(cnt + 1, sizeof *list);
    for (size_t i = 0; list && i < cnt; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            list[kept++] = environ[i];
    return list;
}

static bool start(const char *python, int out, pid_t *pid) {
    char *argv[] = {(char *)(uintptr_t)python, (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)question, NULL}; /* exec does not write to them */
    char **environment = plain_environment();
    posix_spawn_file_actions_t actions;
    if (!environment || posix_spawn_file_actions_init(&actions) != 0) {
        free(environment);
        return false;
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    bool is_started = posix_spawn(pid, python, &actions, NULL, argv, environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return is_started;
}

/* Everything up to the end of the stream, or until it takes too long. */
static size_t read_all(int in, char *text, size_t cap) {
    size_t len = 0;
    struct pollfd wait = {.fd = in, .events = POLLIN};
    while (len < cap - 1 && poll(&wait, 1, WAIT_MS) > 0) {
        ssize_t got = read(in, text + len, cap - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    text[len] = '\0';
    return len;
}

static void take_line(const char **at, char *to, size_t cap) {
    size_t len = strcspn(*at, "\n");
    snprintf(to, cap, "%.*s", (int)len, *at);
    *at += len + ((*at)[len] == '\n');
}

bool sl_ask_python(const char *python, sl_python_answer *answer) {
    int ends[2], exit_status = -1;
    char text[1100];
    const char *at = text;
    pid_t pid;
    *answer = (sl_python_answer){0};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    bool is_started = start(python, ends[1], &pid);
    close(ends[1]);
    if (is_started) {
        read_all(ends[0], text, sizeof text);
        /* Harmless for one that has ended: its number is kept until it is waited for. */
        int ended = waitpid(pid, &exit_status, WNOHANG);
        for (int i = 0; ended == 0 && i < 100; i++, ended = waitpid(pid, &exit_status, WNOHANG))
            usleep(10000);
        if (ended == 0) {
            kill(pid, SIGKILL);
            waitpid(pid, &exit_status, 0);
        }
    }
    close(ends[0]);
    if (!is_started || exit_status != 0)
        return false;
    take_line(&at, answer->version, sizeof answer->version);
    take_line(&at, answer->torch, sizeof answer->torch);
    return answer->version[0] != '\0';
}
