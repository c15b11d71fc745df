/* SPDX-License-Identifier: MIT */
#include "cli/top/top_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/recordings.h"
#include "record/core/record_setting.h"

typedef struct process_row {
    long pid, parent;
    bool is_below; /* the process that was named, or one below it */
} process_row;

typedef SL_VEC(process_row) process_rows;

void sl_top_paths_free(sl_top_paths *paths) {
    for (size_t i = 0; i < paths->cnt; i++)
        free(paths->at[i]);
    sl_vec_free(paths);
}

/* The parent's number follows the name, which may hold anything, also ") 1 (". */
static long read_parent(const char *pid) {
    char path[64], text[512];
    long parent = -1;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    const char *after = strrchr(text, ')');
    return after && sscanf(after, ") %*c %ld", &parent) == 1 ? parent : -1;
}

static sl_status list_processes(process_rows *rows, sl_error *err) {
    DIR *dir = opendir("/proc");
    bool has_room = true;
    if (!dir)
        return sl_fail_errno(err, SL_E_OPEN, "cannot list the processes");
    for (struct dirent *entry; has_room && (entry = readdir(dir));)
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name)) {
            process_row row = {.pid = atol(entry->d_name), .parent = read_parent(entry->d_name)};
            has_room = sl_vec_push(rows, row);
        }
    closedir(dir);
    return has_room ? SL_OK : sl_fail_no_memory(err, "the processes");
}

static bool is_below(const process_rows *rows, long pid) {
    for (size_t i = 0; i < rows->cnt; i++)
        if (rows->at[i].pid == pid)
            return rows->at[i].is_below;
    return false;
}

/* Marks the process and all below it: again and again, because numbers are in no order. */
static bool mark_below(process_rows *rows, long top) {
    bool is_there = false;
    for (size_t i = 0; i < rows->cnt; i++)
        is_there |= rows->at[i].is_below = rows->at[i].pid == top;
    for (bool is_changed = is_there; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < rows->cnt; i++)
            if (!rows->at[i].is_below && is_below(rows, rows->at[i].parent))
                is_changed = rows->at[i].is_below = true;
    }
    return is_there;
}

static bool has_path(const sl_top_paths *paths, const char *path) {
    for (size_t i = 0; i < paths->cnt; i++)
        if (strcmp(paths->at[i], path) == 0)
            return true;
    return false;
}

/* A recorder has its file mapped, however it was started. False with errno when the process may not
 * be inspected; a process that has ended meanwhile has no recording. */
static bool add_mapped(sl_top_paths *paths, long pid) {
    char name[64], *line = NULL;
    size_t cap = 0;
    snprintf(name, sizeof name, "/proc/%ld/maps", pid);
    FILE *file = fopen(name, "r");
    if (!file)
        return errno == ENOENT;
    errno = 0;
    while (getline(&line, &cap, file) > 0) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        if (!sl_recordings_is_name(path) || access(path, R_OK) != 0 || has_path(paths, path))
            continue;
        char *copy = strdup(path);
        if (!copy || !sl_vec_push(paths, copy))
            free(copy);
    }
    bool is_read = errno != EACCES && errno != EPERM;
    free(line);
    fclose(file);
    return is_read;
}

/* Whether its environment names a folder of recordings. */
static bool is_recorded(long pid) {
    const char *name = sl_settings[SL_SETTING_ID_DIR].env;
    char path[64], *line = NULL;
    size_t cap = 0, len = strlen(name);
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    FILE *file = fopen(path, "r");
    while (file && !is_found && getdelim(&line, &cap, '\0', file) > 0)
        is_found = strncmp(line, name, len) == 0 && line[len] == '=';
    free(line);
    if (file)
        fclose(file);
    return is_found;
}

static sl_status find_below(sl_top_paths *paths, const process_rows *rows, long top,
                            sl_error *err) {
    bool has_recorder = false;
    int refused = 0;
    for (size_t i = 0; i < rows->cnt; i++) {
        if (!rows->at[i].is_below)
            continue;
        if (!add_mapped(paths, rows->at[i].pid) && rows->at[i].pid == top)
            refused = errno;
        has_recorder |= is_recorded(rows->at[i].pid);
    }
    if (paths->cnt)
        return SL_OK;
    if (refused)
        return sl_fail(err, SL_E_PERMISSION,
                       "cannot inspect process %ld (%s); give its run folder instead", top,
                       strerror(refused));
    if (has_recorder)
        return sl_fail(err, SL_E_OPEN,
                       "process %ld is recorded, but has not allocated PyTorch memory yet", top);
    return sl_fail(
        err, SL_E_OPEN,
        "neither process %ld nor a child of it is recorded; start it with 'stormlog run'", top);
}

sl_status sl_top_find_process(sl_top_paths *paths, const char *pid, sl_error *err) {
    process_rows rows = {0};
    long top = strtol(pid, NULL, 10);
    sl_status status = list_processes(&rows, err);
    if (status == SL_OK && !mark_below(&rows, top))
        status = sl_fail(err, SL_E_OPEN,
                         "there is no process %s; for a run that has ended, give its folder", pid);
    if (status == SL_OK)
        status = find_below(paths, &rows, top, err);
    sl_vec_free(&rows);
    return status;
}
