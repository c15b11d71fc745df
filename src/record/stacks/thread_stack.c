/* SPDX-License-Identifier: MIT */
#include "record/stacks/thread_stack.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/files/own_fd.h"

/* A thread that changes stacks more often than this would read the file all the time. */
#define LOOKUP_MAX 64
/* The kernel keeps this free below the first thread's stack and lets the stack grow into it. */
#define GROWTH_MAX ((uintptr_t)128 << 20)
#define LINE_CAP   512
#define CHUNK      1024

typedef struct stack_range {
    uintptr_t low, high;
    unsigned lookup_cnt;
} stack_range;

static _Thread_local stack_range own __attribute__((tls_model("initial-exec")));

/* The file line by line in fixed memory; what is too long for a line is cut. */
typedef struct line_reader {
    sl_own_fd own;
    char bytes[CHUNK];
    size_t used, len;
    off_t offset; /* of the next chunk in the file */
    char line[LINE_CAP];
} line_reader;

static bool next_byte(line_reader *in, char *byte) {
    if (in->used == in->len) {
        ssize_t got = pread(in->own.fd, in->bytes, sizeof in->bytes, in->offset);
        in->used = 0;
        in->len = got > 0 ? (size_t)got : 0;
        in->offset += (off_t)in->len;
        if (!in->len)
            return false;
    }
    *byte = in->bytes[in->used++];
    return true;
}

static bool next_line(line_reader *in) {
    size_t len = 0;
    char byte = 0;
    while (next_byte(in, &byte) && byte != '\n')
        if (len + 1 < LINE_CAP)
            in->line[len++] = byte;
    in->line[len] = '\0';
    return len > 0;
}

static const char *take_hex(const char *text, uintptr_t *value) {
    *value = 0;
    for (;; text++) {
        unsigned digit = *text >= '0' && *text <= '9'   ? (unsigned)(*text - '0')
                         : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10
                                                        : 16;
        if (digit == 16)
            return text;
        *value = *value << 4 | digit;
    }
}

/* "7ffc6e6ff000-7ffc6e720000 rw-p 00000000 00:00 0    [stack]" */
static bool take_line(const char *line, uintptr_t sp, stack_range *range) {
    const char *rest = take_hex(line, &range->low);
    if (*rest != '-')
        return false;
    rest = take_hex(rest + 1, &range->high);
    if (sp < range->low || sp >= range->high || strncmp(rest, " rw", 3) != 0)
        return false;
    if (strstr(rest, "[stack]"))
        range->low = range->high - GROWTH_MAX;
    return true;
}

static __attribute__((noinline)) void look_up(uintptr_t sp) {
    line_reader in = {.offset = 0};
    stack_range found = {0};
    bool is_open = sl_own_fd_open(&in.own, "/proc/self/maps", O_RDONLY, 0), is_found = false;
    while (is_open && !is_found && next_line(&in))
        is_found = take_line(in.line, sp, &found);
    if (is_open)
        sl_own_fd_close(&in.own);
    own.low = is_found ? found.low : 0;
    own.high = is_found ? found.high : 0;
    own.lookup_cnt++;
}

uintptr_t sl_thread_stack_end(uintptr_t sp) {
    if (SL_LIKELY(sp >= own.low && sp < own.high))
        return own.high;
    if (own.lookup_cnt >= LOOKUP_MAX)
        return 0;
    look_up(sp);
    return own.high;
}
