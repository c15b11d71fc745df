/* SPDX-License-Identifier: MIT */
#include "counters/small_file.h"

#include <fcntl.h>
#include <unistd.h>

bool sl_small_file_read(const char *path, char *text, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, cap - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got >= 0;
}
