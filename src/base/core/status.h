/* SPDX-License-Identifier: MIT */
/* Status codes and the caller-owned error record. Fallible functions return sl_status (0 or a
 * negative code) and describe the failure in an sl_error, which may be NULL. Nothing here
 * allocates, so the recorder may use it inside the target process. */
#ifndef SL_STATUS_H
#define SL_STATUS_H

#include <stdarg.h>

#include "base/core/sl_base.h"

/* code, name, exit code of the command line, meaning. Numbers are pinned, in groups of ten. */
#define SL_STATUS_MAP(X)                                                            \
    X(0, OK, 0, "done")                                                             \
    X(-10, E_USAGE, 2, "usage error")                                               \
    X(-20, E_OPEN, 3, "a file cannot be opened")                                    \
    X(-21, E_READ, 3, "a file cannot be read")                                      \
    X(-22, E_WRITE, 4, "a file cannot be written")                                  \
    X(-23, E_NOSPACE, 4, "the disk or a quota is full")                             \
    X(-30, E_FORMAT, 3, "the input is malformed")                                   \
    X(-31, E_TRUNCATED, 3, "the input ends too early")                              \
    X(-32, E_VERSION, 3, "the input has a version that this program does not read") \
    X(-33, E_REFUSED, 3, "the input asks for something that is refused")            \
    X(-34, E_FOREIGN, 3, "the input has an unknown format")                         \
    X(-35, E_LAPPED, 3, "the writer overtook the reader")                           \
    X(-36, E_BUSY, 3, "another process already writes to this file")                \
    X(-40, E_SYSTEM, 4, "a system call failed")                                     \
    X(-41, E_NOMEM, 5, "out of host memory")                                        \
    X(-42, E_PERMISSION, 4, "not permitted")                                        \
    X(-43, E_NETWORK, 4, "a server cannot be reached or does not answer")           \
    X(-50, E_DEVICE, 4, "no such device")                                           \
    X(-51, E_UNSUPPORTED, 4, "this build lacks a library that is needed")           \
    X(-60, E_LIMIT, 3, "a built-in limit was reached")                              \
    X(-90, E_INTERNAL, 5, "a bug in stormlog")

typedef enum sl_status {
#define SL_STATUS_ENUM(code, name, exit_code, meaning) SL_##name = code,
    SL_STATUS_MAP(SL_STATUS_ENUM)
#undef SL_STATUS_ENUM
} sl_status;

#define SL_ERROR_TEXT_CAP 400

typedef struct sl_error {
    sl_status code;
    int sys_errno;    /* errno at the failure, 0 when none applies */
    int64_t position; /* byte position in the input, -1 when none applies */
    char text[SL_ERROR_TEXT_CAP];
} sl_error;

#define SL_ERROR_INIT   \
    {                   \
        SL_OK, 0, -1, { \
            0           \
        }               \
    }

/* Records the failure and returns code, so that callers can write `return sl_fail(...)`.
 * err may be NULL. errno is preserved. */
sl_status sl_fail(sl_error *err, sl_status code, const char *fmt, ...) SL_PRINTF(3, 4);

/* The same for a failure at a byte of the input. */
sl_status sl_fail_at(sl_error *err, sl_status code, uint64_t position, const char *fmt, ...)
    SL_PRINTF(4, 5);

/* The same for a failed system call: appends the text of errno and maps ENOSPC, EDQUOT and EFBIG
 * to SL_E_NOSPACE, EACCES and EPERM to SL_E_PERMISSION, ENOMEM to SL_E_NOMEM. */
sl_status sl_fail_errno(sl_error *err, sl_status code, const char *fmt, ...) SL_PRINTF(3, 4);

/* SL_E_NOMEM: "out of memory for <what>". */
sl_status sl_fail_no_memory(sl_error *err, const char *what, ...) SL_PRINTF(2, 3);

/* Puts "prefix: " in front of a recorded failure; once per layer. Returns err->code. */
sl_status sl_error_prefix(sl_error *err, const char *fmt, ...) SL_PRINTF(2, 3);

const char *sl_status_name(sl_status code);
const char *sl_status_meaning(sl_status code);
int sl_status_exit_code(sl_status code);

/* Forwards a failure to the caller. */
#define SL_TRY(call)                      \
    do {                                  \
        sl_status sl_try_status = (call); \
        if (sl_try_status < 0)            \
            return sl_try_status;         \
    } while (0)

#endif
