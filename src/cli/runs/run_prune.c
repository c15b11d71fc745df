/* SPDX-License-Identifier: MIT */
#include "cli/runs/run_prune.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/runs/run_parts.h"

/* On a file system without locks, a run that has recorded nothing yet may be starting. */
#define EMPTY_AGE_S 86400

const char *sl_run_protection(const sl_run_row *row, int64_t now_s, char buf[160]) {
    if (row->state == SL_RUN_RUNNING)
        return "it is still being written";
    if (row->state == SL_RUN_UNCLEAR)
        return "it may still be being written: this file system cannot tell";
    if (row->state == SL_RUN_EMPTY && now_s - row->start_s < EMPTY_AGE_S)
        return "it is less than a day old and may not have started yet";
    if (row->foreign[0]) {
        snprintf(buf, 160, "it contains '%s', which stormlog did not write", row->foreign);
        return buf;
    }
    if (!row->has_our_name && row->unreadable_cnt == row->recording_cnt)
        return "none of its files can be read as a recording";
    return NULL;
}

void sl_run_prune_plan(const sl_run_list *list, const sl_prune_rules *rules, sl_prune_fate *fates) {
    uint64_t left_bytes = list->bytes;
    char buf[160];
    for (size_t i = list->rows.cnt; i-- > 0;) { /* oldest first */
        const sl_run_row *row = list->rows.at[i];
        bool falls = (!rules->has_keep || i >= rules->keep_cnt) &&
                     (!rules->has_age || rules->now_s - row->start_s > rules->older_s) &&
                     (!rules->has_size || left_bytes > rules->size_bytes);
        fates[i] = !falls                                      ? SL_PRUNE_KEEP
                   : sl_run_protection(row, rules->now_s, buf) ? SL_PRUNE_PROTECTED
                                                               : SL_PRUNE_REMOVE;
        if (fates[i] == SL_PRUNE_REMOVE)
            left_bytes -= row->bytes;
    }
}

/* Something new in it: the run is in use, or somebody put a file there. */
static void look_for_foreign(const sl_run_part *part, void *context) {
    size_t *recordings_left = context;
    if (part->kind == SL_RUN_PART_FOREIGN)
        *recordings_left = SIZE_MAX;
    else if (part->kind == SL_RUN_PART_RECORDING && *recordings_left != SIZE_MAX)
        (*recordings_left)--;
}

static sl_status remove_locked(const sl_run_row *row, int fd, sl_error *err) {
    size_t left = row->recording_cnt;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return sl_fail(err, SL_E_BUSY, "'%s' is in use now; not removed", row->path);
    SL_TRY(sl_run_parts_each(fd, look_for_foreign, &left, err));
    if (left != 0)
        return sl_fail(err, SL_E_BUSY, "'%s' has changed meanwhile; not removed", row->path);
    if (sl_run_parts_remove(fd, err) < 0)
        return sl_error_prefix(err, "cannot remove '%s'", row->path);
    if (rmdir(row->path) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot remove '%s'", row->path);
    return SL_OK;
}

sl_status sl_run_remove(const sl_run_row *row, sl_error *err) {
    int fd = open(row->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot open '%s'", row->path);
    sl_status status = remove_locked(row, fd, err);
    close(fd);
    return status;
}

void sl_run_fix_latest(const char *folder, const sl_run_list *list, const sl_prune_fate *fates) {
    char temp[48];
    struct stat info;
    size_t i = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    while (i < list->rows.cnt && fates[i] == SL_PRUNE_REMOVE)
        i++;
    snprintf(temp, sizeof temp, ".latest-%d", (int)getpid());
    bool is_dangling = fstatat(fd, "latest", &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISLNK(info.st_mode) && fstatat(fd, "latest", &info, 0) != 0;
    if (is_dangling && i == list->rows.cnt)
        unlinkat(fd, "latest", 0);
    else if (is_dangling && symlinkat(list->rows.at[i]->name, fd, temp) == 0 &&
             renameat(fd, temp, fd, "latest") != 0)
        unlinkat(fd, temp, 0);
    close(fd);
}
