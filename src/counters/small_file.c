/* SPDX-License-Identifier: MIT */
#include "counters/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/files/own_fd.h"

bool sl_small_file_read(const char *path, char *text, size_t cap) {
    sl_own_fd own;
    ssize_t got = -1;
    if (sl_own_fd_open(&own, path, O_RDONLY, 0)) {
        got = pread(own.fd, text, cap - 1, 0);
        sl_own_fd_close(&own);
    }
    text[got > 0 ? got : 0] = '\0';
    return got >= 0;
}
