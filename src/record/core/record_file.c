/* SPDX-License-Identifier: MIT */
#include "record/core/record_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/job/launcher.h"

#define NAMES_MAX 1000

/* The program's name lies in argv[0], which programs that give themselves a title (Ray, vLLM) write
 * over: what is there then may be empty, contain a slash, or look like an option. */
static bool is_file_name(const char *name) {
    for (const char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ')
            return false;
    return *name && *name != '-' && *name != '.';
}

static const char *program_name(char *link, size_t cap) {
    if (is_file_name(program_invocation_short_name))
        return program_invocation_short_name;
    ssize_t len = readlink("/proc/self/exe", link, cap - 1);
    if (len <= 0 || (size_t)len == cap - 1)
        return "process";
    link[len] = '\0';
    const char *slash = strrchr(link, '/');
    return slash && is_file_name(slash + 1) ? slash + 1 : "process";
}

/* "rank3-python3-4711.slog"; after an exec the process has the same number, so a count follows. */
static void make_path(char *path, const char *dir, const sl_launched *who, unsigned attempt) {
    char rank[32] = "", suffix[16] = "", link[512];
    if (who->rank >= 0)
        snprintf(rank, sizeof rank, "rank%d-", who->rank);
    if (attempt)
        snprintf(suffix, sizeof suffix, ".%u", attempt);
    snprintf(path, SL_RECORD_FILE_CAP, "%s/%s%.40s-%d%s.slog", dir, rank,
             program_name(link, sizeof link), (int)getpid(), suffix);
}

sl_status sl_record_file_create(const sl_record_settings *settings, bool starts_small, char *path,
                                sl_log **out, sl_error *err) {
    sl_launched who = sl_launcher_find(getenv);
    sl_log_identity identity = {
        .job = who.job,
        .rank = who.rank,
        .local_rank = who.local_rank,
        .world_size = who.world_size,
    };
    sl_log_options options = {
        .struct_size = sizeof options,
        .path = path,
        .identity = &identity,
        .ring_bytes = settings->ring_bytes,
        .starts_small = starts_small,
        .is_shared = settings->is_shared,
    };
    /* Reported only if the file cannot be created either: the folder may exist on a read-only disk. */
    int no_folder = mkdir(settings->dir, settings->is_shared ? 0755 : 0700) == 0 ? 0 : errno;
    for (unsigned attempt = 0; attempt < NAMES_MAX; attempt++) {
        make_path(path, settings->dir, &who, attempt);
        if (access(path, F_OK) == 0)
            continue;
        sl_status status = sl_log_create(&options, out, err);
        if (status == SL_OK)
            return SL_OK;
        if (access(path, F_OK) == 0)
            continue; /* a process of another machine, with the same number, was faster */
        if (no_folder && no_folder != EEXIST && access(settings->dir, F_OK) != 0) {
            errno = no_folder;
            return sl_fail_errno(err, SL_E_OPEN, "cannot create the folder '%s'", settings->dir);
        }
        return status;
    }
    return sl_fail(err, SL_E_OPEN, "'%s' and %d other names are taken", path, NAMES_MAX - 1);
}
