/* SPDX-License-Identifier: MIT */
#include "cli/export/profile_child.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"

#define WORDS_MAX 96
#define PRIORITY  10

/* The command line; without room left, labels are left out. */
typedef struct child_line {
    const char *words[WORDS_MAX + 1];
    size_t cnt;
    char every[32], since[32], until[32];
} child_line;

static void add_pair(child_line *line, const char *option, const char *value) {
    if (!value || line->cnt + 2 > WORDS_MAX)
        return;
    line->words[line->cnt++] = option;
    line->words[line->cnt++] = value;
}

static void make_line(child_line *line, const sl_opts *opts, const sl_agent_profile_part *part) {
    const sl_opt_value *label;
    line->words[line->cnt++] = "stormlog";
    line->words[line->cnt++] = "export";
    line->words[line->cnt++] = part->path;
    add_pair(line, "--to", "pprof");
    add_pair(line, "--push", sl_opts_text(opts, "profiles"));
    snprintf(line->every, sizeof line->every, "%" PRId64 "ms",
             sl_opts_number(opts, "profile-every") / 1000);
    snprintf(line->since, sizeof line->since, "%" PRId64, part->since_us);
    snprintf(line->until, sizeof line->until, "%" PRId64, part->until_us);
    add_pair(line, "--every", line->every);
    add_pair(line, "--since", part->has_since ? line->since : NULL);
    add_pair(line, "--until", part->has_until ? line->until : NULL);
    add_pair(line, "--tries", "2");
    add_pair(line, "--token-file", sl_opts_text(opts, "token-file"));
    add_pair(line, "--ca-file", sl_opts_text(opts, "ca-file"));
    for (size_t at = 0; (label = sl_opts_next(opts, "label", &at)) != NULL;)
        add_pair(line, "--label", label->text);
}

static int wait_for(pid_t child, const sl_stop_flag *stop) {
    int state;
    while (waitpid(child, &state, WNOHANG) == 0) {
        if (*stop) {
            kill(child, SIGKILL);
            waitpid(child, &state, 0);
            return -1;
        }
        sl_clock_pause_us(20000);
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

int sl_profile_child_run(const sl_opts *opts, const sl_agent_profile_part *part,
                         const sl_stop_flag *stop) {
    child_line line = {.cnt = 0};
    posix_spawn_file_actions_t files;
    pid_t child;
    make_line(&line, opts, part);
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    int failed = posix_spawn(&child, "/proc/self/exe", &files, NULL,
                             (char *const *)(uintptr_t)line.words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed)
        return -1;
    setpriority(PRIO_PROCESS, (id_t)child, PRIORITY);
    return wait_for(child, stop);
}
