/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/counters.h"
#include "counters/small_file.h"

#define FILE_CAP 1024

static sl_maybe_u64 number_at(const char *text) {
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    return text && end != text ? sl_known_u64(value) : (sl_maybe_u64){0, false};
}

static sl_maybe_u64 read_rss(void) {
    char text[FILE_CAP];
    if (!sl_small_file_read("/proc/self/statm", text, sizeof text))
        return (sl_maybe_u64){0, false};
    sl_maybe_u64 pages = number_at(strchr(text, ' ')); /* second number: resident pages */
    pages.value *= (uint64_t)sysconf(_SC_PAGESIZE);
    return pages;
}

/* A line "Key:  123 kB" of /proc/meminfo. */
static sl_maybe_u64 find_meminfo(const char *text, const char *key) {
    const char *line = strstr(text, key);
    sl_maybe_u64 kib = number_at(line ? line + strlen(key) : NULL);
    kib.value *= 1024;
    return kib;
}

/* Version 2 has one line "0::/path"; version 1 names the memory controller. */
static bool find_cgroup_file(char path[FILE_CAP]) {
    char text[FILE_CAP];
    if (!sl_small_file_read("/proc/self/cgroup", text, sizeof text))
        return false;
    const char *start = strstr(text, "0::/"), *folder = "/sys/fs/cgroup", *file = "/memory.current";
    size_t skip = 3;
    if (!start) {
        start = strstr(text, ":memory:/");
        folder = "/sys/fs/cgroup/memory";
        file = "/memory.usage_in_bytes";
        skip = 8;
    }
    if (!start)
        return false;
    start += skip;
    size_t len = strcspn(start, "\n");
    if (len + 64 >= FILE_CAP)
        return false;
    strcpy(path, folder);
    strncat(path, start, len);
    strcat(path, file);
    if (access(path, R_OK) == 0)
        return true;
    /* Inside a container the own group is often mounted as the root. */
    strcpy(path, folder);
    strcat(path, file);
    return access(path, R_OK) == 0;
}

static sl_maybe_u64 read_cgroup(void) {
    char path[FILE_CAP], text[64];
    if (!find_cgroup_file(path) || !sl_small_file_read(path, text, sizeof text))
        return (sl_maybe_u64){0, false};
    return number_at(text);
}

void sl_counters_read_host(sl_host_sample *sample) {
    char text[FILE_CAP];
    sample->rss_bytes = read_rss();
    if (!sl_small_file_read("/proc/meminfo", text, sizeof text))
        text[0] = '\0';
    sample->total_bytes = find_meminfo(text, "MemTotal:");
    sample->available_bytes = find_meminfo(text, "MemAvailable:");
    sample->cgroup_bytes = read_cgroup();
}
