/* SPDX-License-Identifier: MIT */
#include "api/torch_version.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_CAP 1024
#define PACKAGE  "/torch/"

/* "2.11.0+cu130" out of a line `__version__ = '2.11.0+cu130'`, with or without a type. */
static bool take_version(const char *line, char *to, size_t cap) {
    const char *begin = strpbrk(line, "'\"");
    size_t len = begin ? strcspn(begin + 1, "'\"\n") : 0;
    if (strncmp(line, "__version__", 11) != 0 || len == 0 || len >= cap)
        return false;
    memcpy(to, begin + 1, len);
    to[len] = '\0';
    return true;
}

/* The recording names the place: it may be a pipe, which must not be waited for. */
static FILE *open_regular(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* `path` names something inside the package's folder. */
static bool read_beside(const char *path, char *to, size_t cap) {
    char file[PATH_CAP], line[256];
    const char *package = strstr(path, PACKAGE);
    if (!package || *path != '/')
        return false;
    int len = snprintf(file, sizeof file, "%.*sversion.py",
                       (int)(package - path + (ptrdiff_t)strlen(PACKAGE)), path);
    FILE *source = len < PATH_CAP ? open_regular(file) : NULL;
    bool is_found = false;
    while (source && !is_found && fgets(line, sizeof line, source))
        is_found = take_version(line, to, cap);
    if (source)
        fclose(source);
    return is_found;
}

static bool find_in_maps(int pid, char *to, size_t cap) {
    char file[64], line[PATH_CAP];
    bool is_found = false;
    snprintf(file, sizeof file, "/proc/%d/maps", pid);
    FILE *maps = pid > 0 ? fopen(file, "re") : NULL;
    while (maps && !is_found && fgets(line, sizeof line, maps)) {
        const char *path = strchr(line, '/');
        is_found = path && read_beside(path, to, cap);
    }
    if (maps)
        fclose(maps);
    return is_found;
}

void sl_torch_version_find(const sl_trace *trace, int pid, char *to, size_t cap) {
    to[0] = '\0';
    if (find_in_maps(pid, to, cap))
        return;
    for (size_t i = 0; i < trace->strings.strings.cnt; i++)
        if (read_beside(trace->strings.strings.at[i].ptr, to, cap))
            return;
}
