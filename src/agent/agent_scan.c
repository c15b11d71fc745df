/* SPDX-License-Identifier: MIT */
#include "agent/agent_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/recording_names.h"
#include "base/core/order.h"

#define DEPTH_MAX     3
#define PATH_CAP      2048
#define WAIT_FIRST_MS 5000
#define WAIT_MAX_MS   300000

/* ---- folders ---- */

static void scan_below(const char *path, int depth, sl_agent_found_fn found, void *self) {
    DIR *dir = opendir(path);
    char below[PATH_CAP];
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        struct stat st;
        if (name[0] == '.' ||
            (size_t)snprintf(below, sizeof below, "%s/%s", path, name) >= sizeof below)
            continue;
        if (sl_recordings_is_file(dirfd(dir), name))
            found(self, below);
        else if (depth < DEPTH_MAX && fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISDIR(st.st_mode))
            scan_below(below, depth + 1, found, self);
    }
    if (dir)
        closedir(dir);
}

sl_status sl_agent_scan_folder(const char *path, sl_agent_found_fn found, void *self,
                               sl_error *err) {
    struct stat st;
    if (stat(path, &st) < 0)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", path);
    if (S_ISDIR(st.st_mode))
        scan_below(path, 1, found, self);
    else
        found(self, path);
    return SL_OK;
}

/* ---- processes ---- */

static sl_agent_idle *find_idle(sl_agent_scan *scan, uint32_t pid, uint64_t start) {
    for (size_t i = 0; i < scan->idle.cnt; i++)
        if (scan->idle.at[i].pid == pid && scan->idle.at[i].start == start)
            return &scan->idle.at[i];
    return NULL;
}

/* Field 22 of stat; the name before it may hold anything. */
static uint64_t read_start(const char *proc, const char *pid) {
    char path[128], text[1024];
    uint64_t start = 0;
    snprintf(path, sizeof path, "%.80s/%.20s/stat", proc, pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    const char *after = strrchr(text, ')');
    int field = 2;
    for (; after && field < 22; field++)
        after = strchr(after + 1, ' ');
    if (after)
        start = strtoull(after, NULL, 10);
    return start;
}

/* The path as this process sees it. */
static void give(const char *proc, const char *pid, const char *path, sl_agent_found_fn found,
                 void *self) {
    char through[PATH_CAP];
    if (access(path, R_OK) == 0)
        found(self, path);
    else if ((size_t)snprintf(through, sizeof through, "%s/%.20s/root%s", proc, pid, path) <
                 sizeof through &&
             access(through, R_OK) == 0)
        found(self, through);
}

/* True when the process has a recording. */
static bool scan_maps(const char *proc, const char *pid, sl_agent_found_fn found, void *self) {
    char name[128], *line = NULL;
    size_t cap = 0;
    bool has_any = false;
    snprintf(name, sizeof name, "%.80s/%.20s/maps", proc, pid);
    FILE *file = fopen(name, "re");
    while (file && getline(&line, &cap, file) > 0) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        if (!sl_recordings_is_name(path))
            continue;
        give(proc, pid, path, found, self);
        has_any = true;
    }
    free(line);
    if (file)
        fclose(file);
    return has_any;
}

static void note_idle(sl_agent_scan *scan, sl_agent_idle *idle, const sl_agent_idle *fresh,
                      bool is_recorded, int64_t now_ms) {
    if (!idle && sl_vec_push(&scan->idle, *fresh))
        idle = &scan->idle.at[scan->idle.cnt - 1];
    if (!idle)
        return;
    /* One that is recorded may begin another recording, too. */
    idle->wait_ms = is_recorded ? WAIT_MAX_MS : sl_min_i64(idle->wait_ms * 2, WAIT_MAX_MS);
    idle->next_ms = now_ms + idle->wait_ms;
}

static void scan_process(sl_agent_scan *scan, const char *proc, const char *pid, int64_t now_ms,
                         sl_agent_found_fn found, void *self) {
    sl_agent_idle fresh = {.pid = (uint32_t)strtoul(pid, NULL, 10),
                           .start = read_start(proc, pid),
                           .wait_ms = WAIT_FIRST_MS / 2,
                           .is_there = true};
    sl_agent_idle *idle = find_idle(scan, fresh.pid, fresh.start);
    if (idle)
        idle->is_there = true;
    if (idle && idle->next_ms > now_ms)
        return;
    bool is_recorded = scan_maps(proc, pid, found, self);
    note_idle(scan, idle, &fresh, is_recorded, now_ms);
}

static void forget_gone(sl_agent_scan *scan) {
    size_t kept = 0;
    for (size_t i = 0; i < scan->idle.cnt; i++)
        if (scan->idle.at[i].is_there) {
            scan->idle.at[i].is_there = false;
            scan->idle.at[kept++] = scan->idle.at[i];
        }
    scan->idle.cnt = kept;
}

void sl_agent_scan_processes(sl_agent_scan *scan, const char *proc, int64_t now_ms,
                             sl_agent_found_fn found, void *self) {
    DIR *dir = opendir(proc);
    uid_t own = geteuid();
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat st;
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || st.st_uid != own)
            continue;
        scan_process(scan, proc, entry->d_name, now_ms, found, self);
    }
    if (dir)
        closedir(dir);
    forget_gone(scan);
}

void sl_agent_scan_fini(sl_agent_scan *scan) {
    sl_vec_free(&scan->idle);
}
