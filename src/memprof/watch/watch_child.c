/* SPDX-License-Identifier: MIT */
#include "memprof/watch/watch_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/order.h"

int64_t sl_watch_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* In the child: restores the signals, makes the pipe standard error, then executes the command.
 * Only calls that are safe after fork. */
static void become(const sl_watch *watch, int report_fd, int errors_fd) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    if (errors_fd >= 0)
        dup2(errors_fd, STDERR_FILENO);
    execvp(watch->options.command[0], watch->options.command);
    int code = errno;
    ssize_t done = write(report_fd, &code, sizeof code);
    _exit(done == sizeof code ? 127 : 126);
}

/* Reads what the child could not do; nothing arrives when exec succeeds, because exec closes the
 * pipe. */
static sl_status read_report(int fd, const char *command, sl_error *err) {
    int code = 0;
    ssize_t got;
    do
        got = read(fd, &code, sizeof code);
    while (got < 0 && errno == EINTR);
    if (got != sizeof code)
        return SL_OK;
    errno = code;
    return sl_fail_errno(err, SL_E_SYSTEM, "cannot start '%s'", command);
}

static sl_status start(sl_watch *watch, int report[2], int errors[2], sl_error *err) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot start a process");
    if (pid == 0)
        become(watch, report[1], errors[1]);
    close(report[1]);
    report[1] = -1;
    sl_status status = read_report(report[0], watch->options.command[0], err);
    if (status < 0) {
        waitpid(pid, NULL, 0);
        return status;
    }
    watch->child = watch->pid = pid;
    return SL_OK;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

sl_status sl_watch_child_start(sl_watch *watch, sl_error *err) {
    int report[2] = {-1, -1}, errors[2] = {-1, -1};
    sl_status status = SL_OK;
    if (pipe2(report, O_CLOEXEC) != 0 ||
        (watch->options.keeps_errors && pipe2(errors, O_CLOEXEC) != 0))
        status = sl_fail_errno(err, SL_E_SYSTEM, "cannot make a pipe");
    if (status == SL_OK)
        status = start(watch, report, errors, err);
    close_fd(&report[0]);
    close_fd(&report[1]);
    close_fd(&errors[1]);
    if (status < 0)
        close_fd(&errors[0]);
    watch->errors_fd = errors[0];
    return status;
}

/* Keeps the newest part of the error output. */
static void keep_errors(sl_watch *watch, const char *bytes, size_t len) {
    size_t cap = sizeof watch->errors - 1;
    if (len > cap) {
        bytes += len - cap;
        len = cap;
    }
    if (watch->errors_len + len > cap) {
        size_t drop = watch->errors_len + len - cap;
        memmove(watch->errors, watch->errors + drop, watch->errors_len - drop);
        watch->errors_len -= drop;
    }
    memcpy(watch->errors + watch->errors_len, bytes, len);
    watch->errors_len += len;
    watch->errors[watch->errors_len] = '\0';
}

static void pass_errors(sl_watch *watch) {
    char bytes[2048];
    ssize_t got = read(watch->errors_fd, bytes, sizeof bytes);
    if (got > 0) {
        keep_errors(watch, bytes, (size_t)got);
        fwrite(bytes, 1, (size_t)got, stderr);
    } else if (got == 0 || errno != EINTR) {
        close_fd(&watch->errors_fd);
    }
}

void sl_watch_sleep(sl_watch *watch, int64_t until_ns) {
    for (;;) {
        int64_t left_ns = until_ns - sl_watch_clock();
        struct pollfd errors = {watch->errors_fd, POLLIN, 0};
        struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
        if (left_ns <= 0)
            return;
        int ready = ppoll(&errors, watch->errors_fd >= 0, &left, NULL);
        if (ready < 0)
            return;
        if (ready > 0)
            pass_errors(watch);
    }
}

bool sl_watch_child_ended(sl_watch *watch) {
    int status;
    if (!watch->child)
        return true;
    if (waitpid(watch->child, &status, WNOHANG) != watch->child)
        return false;
    watch->exit_status = status;
    watch->child = 0;
    while (watch->errors_fd >= 0) {
        struct pollfd errors = {watch->errors_fd, POLLIN, 0};
        if (poll(&errors, 1, 0) <= 0)
            break;
        pass_errors(watch);
    }
    return true;
}

void sl_watch_child_wait(sl_watch *watch, int64_t at_most_ns) {
    int64_t until = sl_watch_clock() + at_most_ns;
    while (!sl_watch_child_ended(watch) && sl_watch_clock() < until) {
        int64_t soon = sl_watch_clock() + 50000000;
        sl_watch_sleep(watch, sl_min_i64(soon, until));
    }
}
