/* SPDX-License-Identifier: MIT */
#include "base/core/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_CAP 512

static atomic_bool silenced;

void sl_diag_silence(bool is_silent) {
    atomic_store(&silenced, is_silent);
}

void sl_diag_say(sl_diag_once *once, const char *fmt, ...) {
    if (atomic_fetch_add(&once->said_cnt, 1) != 0 || atomic_load(&silenced))
        return;
    int saved_errno = errno;
    char line[LINE_CAP] = "stormlog: ";
    size_t len = strlen(line);
    va_list args;
    va_start(args, fmt);
    int added = vsnprintf(line + len, sizeof line - len - 1, fmt, args);
    va_end(args);
    if (added > 0)
        len = strlen(line);
    line[len++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, len);
    SL_UNUSED(written); /* nowhere to report it */
    errno = saved_errno;
}
