/* SPDX-License-Identifier: MIT */
#include "cli/runs/run_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/str.h"
#include "base/text/term.h"
#include "cli/runs/run_parts.h"
#include "log/read/log_reader.h"

#define SECOND_NS UINT64_C(1000000000)

const char *sl_run_state_name(sl_run_state state) {
    static const char *const names[] = {
#define RUN_STATE_NAME(name, text) text,
        SL_RUN_STATE_MAP(RUN_STATE_NAME)
#undef RUN_STATE_NAME
    };
    return names[state];
}

/* "20261115T120000Z-train" and when that was. */
static bool parse_name(const char *name, int64_t *start_s) {
    struct tm utc = {0};
    const char *rest = strptime(name, "%Y%m%dT%H%M%SZ", &utc);
    if (!rest || rest - name != sizeof "20261115T120000Z" - 1 || *rest != '-' || !rest[1])
        return false;
    *start_s = (int64_t)timegm(&utc);
    return true;
}

/* ---- one run ---- */

/* What was found of a run so far. */
typedef struct scan {
    sl_run_row *row;
    size_t readable_cnt;
    bool is_written, is_unclear;
    bool has_start;
} scan;

static void take_header(scan *s, const sl_fmt_header *h) {
    int64_t start_s = (int64_t)(h->start_wall_ns / SECOND_NS);
    if (s->has_start && start_s >= s->row->start_s)
        return;
    s->has_start = true;
    s->row->start_s = start_s;
    snprintf(s->row->command, sizeof s->row->command, "%.*s",
             (int)strnlen(h->cmdline, sizeof h->cmdline), h->cmdline);
    sl_term_clean(s->row->command);
}

static void take_recording(scan *s, const char *name) {
    char path[SL_RUN_PATH_CAP];
    sl_log_reader *log;
    sl_error err = SL_ERROR_INIT;
    s->row->recording_cnt++;
    int used = snprintf(path, sizeof path, "%s/%s", s->row->path, name);
    if (used < 0 || (size_t)used >= sizeof path)
        sl_fail(&err, SL_E_LIMIT, "the path is too long");
    else if (sl_log_open(path, &log, &err) == SL_OK) {
        sl_log_ending ending = sl_log_get_ending(log);
        s->readable_cnt++;
        s->is_written |= ending == SL_LOG_LIVE;
        s->is_unclear |= ending == SL_LOG_UNCLEAR;
        take_header(s, sl_log_header(log));
        sl_log_reader_close(log);
        return;
    }
    if (!s->row->unreadable_cnt++)
        snprintf(s->row->problem, sizeof s->row->problem, "%.60s: %.300s", name, err.text);
    sl_term_clean(s->row->problem);
}

static void note_foreign(sl_run_row *row, const char *name) {
    if (row->foreign[0])
        return;
    snprintf(row->foreign, sizeof row->foreign, "%.*s", (int)sizeof row->foreign - 1, name);
    sl_term_clean(row->foreign);
}

static void take_part(const sl_run_part *part, void *context) {
    scan *s = context;
    s->row->bytes += part->bytes;
    if (part->kind == SL_RUN_PART_FOREIGN)
        note_foreign(s->row, part->name);
    else if (part->kind == SL_RUN_PART_RECORDING)
        take_recording(s, part->name);
}

/* `stormlog run` holds a shared lock on its folder while the command runs. */
static bool is_held(int fd) {
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

static sl_run_state state_of(const scan *s, int fd) {
    if (s->is_written || is_held(fd))
        return SL_RUN_RUNNING;
    if (s->is_unclear)
        return SL_RUN_UNCLEAR;
    if (s->row->recording_cnt == 0)
        return SL_RUN_EMPTY;
    return s->readable_cnt ? SL_RUN_FINISHED : SL_RUN_BROKEN;
}

/* False when the folder is not a run. */
static bool describe(sl_run_row *row, int runs_fd, const struct stat *info) {
    scan s = {.row = row};
    row->start_s = info->st_mtime;
    row->has_our_name = parse_name(row->name, &row->start_s);
    int fd = openat(runs_fd, row->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    sl_error err = SL_ERROR_INIT;
    if (fd < 0 || sl_run_parts_each(fd, take_part, &s, &err) < 0) {
        if (fd < 0)
            sl_fail_errno(&err, SL_E_READ, "cannot read the folder");
        snprintf(row->problem, sizeof row->problem, "%s", err.text);
        row->state = SL_RUN_BROKEN;
    } else
        row->state = state_of(&s, fd);
    if (fd >= 0)
        close(fd);
    return row->has_our_name || row->recording_cnt > 0;
}

/* ---- all of them ---- */

static int compare_rows(const void *a, const void *b) {
    const sl_run_row *x = *(const sl_run_row *const *)a, *y = *(const sl_run_row *const *)b;
    if (x->start_s != y->start_s)
        return x->start_s > y->start_s ? -1 : 1;
    return strcmp(y->name, x->name);
}

static sl_status add_run(sl_run_list *list, const char *folder, const char *name, int runs_fd,
                         sl_error *err) {
    struct stat info;
    if (name[0] == '.' || fstatat(runs_fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(info.st_mode) || strlen(folder) + strlen(name) + 2 > SL_RUN_PATH_CAP)
        return SL_OK;
    if (info.st_uid != geteuid()) {
        int64_t ignored;
        list->others_cnt += parse_name(name, &ignored);
        return SL_OK;
    }
    sl_run_row *row = calloc(1, sizeof *row);
    if (!row)
        return sl_fail_no_memory(err, "the list of runs");
    snprintf(row->path, sizeof row->path, "%s/%s", folder, name);
    row->name = sl_base_name(row->path);
    if (!describe(row, runs_fd, &info)) {
        free(row);
        return SL_OK;
    }
    if (!sl_vec_push(&list->rows, row)) {
        free(row);
        return sl_fail_no_memory(err, "the list of runs");
    }
    list->bytes += row->bytes;
    return SL_OK;
}

sl_status sl_run_list_read(sl_run_list *list, const char *folder, sl_error *err) {
    *list = (sl_run_list){0};
    DIR *dir = opendir(folder);
    if (!dir)
        return sl_fail_errno(err, SL_E_OPEN, "cannot read the folder '%s'", folder);
    sl_status status = SL_OK;
    for (struct dirent *entry; status == SL_OK && (entry = readdir(dir));)
        status = add_run(list, folder, entry->d_name, dirfd(dir), err);
    closedir(dir);
    if (status < 0)
        sl_run_list_fini(list);
    else if (list->rows.cnt > 1)
        qsort(list->rows.at, list->rows.cnt, sizeof *list->rows.at, compare_rows);
    return status;
}

void sl_run_list_fini(sl_run_list *list) {
    for (size_t i = 0; i < list->rows.cnt; i++)
        free(list->rows.at[i]);
    sl_vec_free(&list->rows);
}
