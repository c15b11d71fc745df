/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text/term.h"

void sl_output_add(sl_output *output, const char *line) {
    char *to = output->rows[output->cnt++ % SL_OUTPUT_ROWS];
    snprintf(to, sizeof output->rows[0], "%s", line);
    sl_term_clean(to);
}

/* In the child. */
static void become(const char *const *argv, int out) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS};
    int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    for (size_t i = 0; i < SL_COUNT_OF(numbers); i++)
        signal(numbers[i], SIG_DFL);
    dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

sl_status sl_task_start(sl_task *task, const char *const *argv, sl_error *err) {
    int ends[2];
    if (task->pid)
        return sl_fail(err, SL_E_BUSY, "a command is still running; X stops it");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot make a pipe");
    *task = (sl_task){.fd = ends[0]};
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    task->pid = fork();
    if (task->pid == 0)
        become(argv, ends[1]);
    close(ends[1]);
    if (task->pid > 0)
        return SL_OK;
    task->pid = 0;
    close(ends[0]);
    return sl_fail_errno(err, SL_E_SYSTEM, "cannot start '%s'", argv[0]);
}

static void end_line(sl_task *task, sl_output *output) {
    task->line[task->line_len] = '\0';
    if (task->line_len) {
        sl_output_add(output, task->line);
        memcpy(task->last, task->line, task->line_len + 1);
    }
    task->line_len = 0;
}

static void take_bytes(sl_task *task, sl_output *output) {
    char bytes[1024];
    ssize_t cnt;
    while (task->fd >= 0 && (cnt = read(task->fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < cnt; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r' || task->line_len + 1 >= sizeof task->line)
                end_line(task, output);
            else
                task->line[task->line_len++] = bytes[i];
        }
}

bool sl_task_poll(sl_task *task, sl_output *output, int *exit_code) {
    int status;
    if (!task->pid)
        return false;
    take_bytes(task, output);
    if (waitpid(task->pid, &status, WNOHANG) != task->pid)
        return false;
    take_bytes(task, output);
    end_line(task, output);
    close(task->fd);
    task->pid = 0;
    *exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

void sl_task_stop(const sl_task *task) {
    if (task->pid)
        kill(-task->pid, SIGTERM);
}
