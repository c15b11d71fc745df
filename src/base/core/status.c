/* SPDX-License-Identifier: MIT */
#include "base/core/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct status_row {
    sl_status code;
    const char *name;
    int exit_code;
    const char *meaning;
} status_row;

static const status_row status_rows[] = {
#define SL_STATUS_ROW(code, name, exit_code, meaning) {code, #name, exit_code, meaning},
    SL_STATUS_MAP(SL_STATUS_ROW)
#undef SL_STATUS_ROW
};

static const status_row *find_row(sl_status code) {
    for (size_t i = 0; i < SL_COUNT_OF(status_rows); i++)
        if (status_rows[i].code == code)
            return &status_rows[i];
    return &status_rows[SL_COUNT_OF(status_rows) - 1];
}

const char *sl_status_name(sl_status code) {
    return find_row(code)->name;
}

const char *sl_status_meaning(sl_status code) {
    return find_row(code)->meaning;
}

int sl_status_exit_code(sl_status code) {
    return find_row(code)->exit_code;
}

static void record(sl_error *err, sl_status code, int64_t position, const char *fmt, va_list args) {
    if (!err)
        return;
    err->code = code;
    err->sys_errno = 0;
    err->position = position;
    vsnprintf(err->text, sizeof err->text, fmt, args);
}

sl_status sl_fail(sl_error *err, sl_status code, const char *fmt, ...) {
    int saved_errno = errno;
    va_list args;
    va_start(args, fmt);
    record(err, code, -1, fmt, args);
    va_end(args);
    errno = saved_errno;
    return code;
}

sl_status sl_fail_no_memory(sl_error *err, const char *what, ...) {
    int saved_errno = errno;
    char text[SL_ERROR_TEXT_CAP];
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    errno = saved_errno;
    return sl_fail(err, SL_E_NOMEM, "out of memory for %s", text);
}

sl_status sl_fail_at(sl_error *err, sl_status code, uint64_t position, const char *fmt, ...) {
    int saved_errno = errno;
    va_list args;
    va_start(args, fmt);
    record(err, code, (int64_t)position, fmt, args);
    va_end(args);
    errno = saved_errno;
    return code;
}

static sl_status code_of_errno(int sys_errno, sl_status otherwise) {
    switch (sys_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return SL_E_NOSPACE;
    case EACCES:
    case EPERM:
    case EROFS: return SL_E_PERMISSION;
    case ENOMEM: return SL_E_NOMEM;
    default: return otherwise;
    }
}

sl_status sl_fail_errno(sl_error *err, sl_status code, const char *fmt, ...) {
    int saved_errno = errno;
    code = code_of_errno(saved_errno, code);
    if (err) {
        va_list args;
        va_start(args, fmt);
        record(err, code, -1, fmt, args);
        va_end(args);
        size_t used = strlen(err->text);
        err->sys_errno = saved_errno;
        snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(saved_errno));
    }
    errno = saved_errno;
    return code;
}

sl_status sl_error_prefix(sl_error *err, const char *fmt, ...) {
    if (!err)
        return SL_E_INTERNAL;
    char tail[SL_ERROR_TEXT_CAP];
    memcpy(tail, err->text, sizeof tail);
    va_list args;
    va_start(args, fmt);
    int used = vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", tail);
    return err->code;
}
