/* SPDX-License-Identifier: MIT */
#include "cli/run/run_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Handed on to the command. Those the terminal makes (Ctrl-C, Ctrl-\) reach it directly, because it
 * is in the same process group; handing them on as well would deliver them twice. */
static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

typedef struct signal_state {
    sigset_t mask;
    struct sigaction on_child;
} signal_state;

/* Signals wait to be fetched one by one. A caller that ignores SIGCHLD would make the kernel throw
 * the exit code away. */
static void hold_signals(const sigset_t *set, signal_state *before) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &plain, &before->on_child);
    sigprocmask(SIG_BLOCK, set, &before->mask);
}

static void restore_signals(const signal_state *before) {
    sigaction(SIGCHLD, &before->on_child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

static void fill_set(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < SL_COUNT_OF(forwarded); i++)
        sigaddset(set, forwarded[i]);
}

/* In the child. A failed exec sends its errno through the pipe, which a good one closes. */
static void exec_command(const char *path, char *const *argv, const signal_state *before,
                         int pipe_fd) {
    restore_signals(before);
    execv(path, argv);
    int failed = errno;
    ssize_t sent = write(pipe_fd, &failed, sizeof failed);
    _exit(sent == (ssize_t)sizeof failed ? 127 : 126);
}

/* Waits until exec has happened or failed. */
static ssize_t read_failure(const int fds[2], bool is_started, int *failed) {
    if (fds[0] < 0)
        return 0;
    close(fds[1]);
    ssize_t got = is_started ? read(fds[0], failed, sizeof *failed) : 0;
    close(fds[0]);
    return got;
}

static bool is_from_terminal(const siginfo_t *info) {
    return info->si_code == SI_KERNEL && info->si_signo != SIGTERM;
}

/* The next signal; false when none came in one interval, or when it was a stop or continue. */
static bool next_signal(const sigset_t *set, const sl_run_idle *idle, siginfo_t *info) {
    if (!idle)
        return sigwaitinfo(set, info) >= 0;
    struct timespec pause = {idle->interval_ms / 1000, idle->interval_ms % 1000 * 1000000L};
    bool has_signal = sigtimedwait(set, info, &pause) >= 0;
    if (!has_signal)
        idle->look(idle->self);
    return has_signal;
}

static sl_run_end wait_for(pid_t pid, const sigset_t *set, const sl_run_idle *idle) {
    for (;;) {
        siginfo_t info;
        int status;
        if (!next_signal(set, idle, &info))
            continue;
        if (info.si_signo != SIGCHLD) {
            if (!is_from_terminal(&info))
                kill(pid, info.si_signo);
            continue;
        }
        if (waitpid(pid, &status, WNOHANG) != pid)
            continue;
        if (WIFSIGNALED(status))
            return (sl_run_end){128 + WTERMSIG(status), WTERMSIG(status)};
        return (sl_run_end){WEXITSTATUS(status), 0};
    }
}

sl_status sl_run_process(const char *path, char *const *argv, const sl_run_idle *idle,
                         sl_run_end *end, sl_error *err) {
    int fds[2], failed = 0;
    sigset_t set;
    signal_state before;
    /* Without a descriptor to spare (ulimit -n) only the exit code says that exec failed. */
    if (pipe2(fds, O_CLOEXEC) != 0)
        fds[0] = fds[1] = -1;
    fill_set(&set);
    hold_signals(&set, &before);
    pid_t pid = fork();
    if (pid == 0)
        exec_command(path, argv, &before, fds[1]);
    ssize_t got = read_failure(fds, pid > 0, &failed);
    if (pid > 0)
        *end = wait_for(pid, &set, idle);
    int fork_errno = errno;
    restore_signals(&before);
    if (pid > 0 && got != (ssize_t)sizeof failed)
        return SL_OK;
    errno = pid > 0 ? failed : fork_errno;
    return sl_fail_errno(err, SL_E_SYSTEM, "cannot run '%s'", path);
}
