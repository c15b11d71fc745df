/* SPDX-License-Identifier: MIT */
#include "ship/ship_fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/str.h"

/* ---- names ---- */

sl_status sl_ship_split(const char *where, char place[SL_SHIP_PLACE_CAP],
                        char run[SL_SHIP_NAME_CAP], sl_error *err) {
    const char *path = strstr(where, "://");
    path = path ? path + 3 : where;
    size_t len = strlen(path);
    while (len && path[len - 1] == '/')
        len--;
    const char *slash = memrchr(path, '/', len);
    sl_str name = slash ? (sl_str){slash + 1, (size_t)(path + len - slash - 1)} : (sl_str){"", 0};
    if (!sl_ship_run_is_good(name) || (size_t)(slash - where) >= SL_SHIP_PLACE_CAP)
        return sl_fail(err, SL_E_USAGE,
                       "expected the place of a shipped run, such as s3://BUCKET/PREFIX/RUN, found "
                       "'%.100s'",
                       where);
    snprintf(place, SL_SHIP_PLACE_CAP, "%.*s", (int)(slash - where), where);
    snprintf(run, SL_SHIP_NAME_CAP, "%.*s", (int)name.len, name.ptr);
    return SL_OK;
}

/* ---- the index ---- */

typedef struct index_names {
    SL_VEC(char *) at;
} index_names;

static sl_status take_name(void *self, const char *name, sl_error *err) {
    index_names *names = self;
    if (!sl_ship_index_is_name(sl_str_of(name)))
        return SL_OK;
    if (!sl_vec_push(&names->at, NULL) || !(names->at.at[names->at.cnt - 1] = strdup(name)))
        return sl_fail_no_memory(err, "the index");
    return SL_OK;
}

static sl_status read_one(sl_ship_target *target, const char *run, const char *name,
                          sl_ship_index *index, sl_error *err) {
    char key[SL_SHIP_KEY_CAP], *text;
    size_t len;
    snprintf(key, sizeof key, "%s/%s", run, name);
    SL_TRY(sl_ship_get_text(target, key, SL_SHIP_INDEX_MAX, &text, &len, err));
    sl_status status = sl_ship_index_read(index, key, text, len, err);
    free(text);
    return status;
}

sl_status sl_ship_read_run(sl_ship_target *target, const char *run, sl_ship_index *index,
                           sl_error *err) {
    index_names names = {0};
    sl_status status = sl_ship_list(target, run, take_name, &names, err);
    for (size_t i = 0; status == SL_OK && i < names.at.cnt; i++)
        status = read_one(target, run, names.at.at[i], index, err);
    if (status == SL_OK && names.at.cnt == 0)
        status = sl_fail(err, SL_E_OPEN,
                         "'%s' has no index (index-*.json) there; was it shipped with 'stormlog "
                         "ship'?",
                         run);
    for (size_t i = 0; i < names.at.cnt; i++)
        free(names.at.at[i]);
    sl_vec_free(&names.at);
    return status;
}

/* ---- files ---- */

/* Whether the local file is the one of the index. */
static bool is_present(int folder, const sl_ship_entry *entry, const char *name) {
    char sum[SL_SHA256_HEX_CAP];
    struct stat info;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_same = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                   (uint64_t)info.st_size == entry->bytes &&
                   sl_ship_hash(fd, 0, entry->bytes, sum, NULL) == SL_OK &&
                   strcmp(sum, entry->sha256) == 0;
    if (fd >= 0)
        close(fd);
    return is_same;
}

/* Under a name that no reader takes until its sum was compared. */
static sl_status fetch_file(sl_ship_target *target, const char *run, int folder,
                            const sl_ship_entry *entry, sl_error *err) {
    char key[SL_SHIP_KEY_CAP], part[SL_SHIP_NAME_CAP + 16];
    snprintf(key, sizeof key, "%s/%s", run, entry->name);
    snprintf(part, sizeof part, ".%s.part", entry->name);
    int fd = openat(folder, part, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", part);
    sl_status status = sl_ship_get_file(target, key, fd, entry->bytes, err);
    if (status == SL_OK && fsync(fd) != 0)
        status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", part);
    close(fd);
    if (status == SL_OK && !is_present(folder, entry, part))
        status =
            sl_fail(err, SL_E_FORMAT,
                    "'%s' does not have the bytes that the index promises: it was cut short or "
                    "changed",
                    key);
    if (status == SL_OK && renameat(folder, part, folder, entry->name) != 0)
        status = sl_fail_errno(err, SL_E_WRITE, "cannot rename '%s'", part);
    if (status < 0)
        unlinkat(folder, part, 0);
    return status;
}

/* What belongs to one recording and not to the server or to this machine. */
static bool is_of_file(sl_status status) {
    return status == SL_E_OPEN || status == SL_E_FORMAT || status == SL_E_LIMIT;
}

static void remove_others(const char *path, int folder, const sl_ship_index *index) {
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (sl_ship_name_is_good(sl_str_of(entry->d_name)) &&
            !sl_ship_index_find(index, entry->d_name))
            unlinkat(folder, entry->d_name, 0);
    if (dir)
        closedir(dir);
}

static sl_status fetch_files(sl_ship_target *target, const char *run, const sl_ship_index *index,
                             int folder, sl_ship_fetch *fetch, sl_error *err) {
    sl_error first = SL_ERROR_INIT;
    for (size_t i = 0; i < index->files.cnt; i++) {
        const sl_ship_entry *entry = &index->files.at[i];
        sl_error failed = SL_ERROR_INIT;
        if (fetch->step)
            fetch->step(fetch->self, i, index->files.cnt);
        if (is_present(folder, entry, entry->name)) {
            fetch->present_cnt++;
            continue;
        }
        sl_status status = fetch_file(target, run, folder, entry, &failed);
        fetch->fetched_cnt += status == SL_OK;
        if (status == SL_OK)
            continue;
        unlinkat(folder, entry->name, 0); /* an older one would be taken for it */
        *err = failed;
        if (!is_of_file(status))
            return status;
        if (first.code == SL_OK)
            first = failed;
        fetch->tell(fetch->self, failed.text);
        fetch->skipped_cnt++;
    }
    if (fetch->fetched_cnt + fetch->present_cnt)
        return SL_OK;
    if (first.code == SL_OK)
        return sl_fail(err, SL_E_OPEN, "the index of '%s' has no recordings", run);
    *err = first;
    return first.code;
}

sl_status sl_ship_fetch_run(sl_ship_target *target, const char *run, sl_ship_fetch *fetch,
                            sl_error *err) {
    sl_ship_index index = {0};
    sl_status status = sl_ship_read_run(target, run, &index, err);
    int folder = status == SL_OK ? open(fetch->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (status == SL_OK && folder < 0)
        status = sl_fail_errno(err, SL_E_OPEN, "cannot open the folder '%s'", fetch->folder);
    if (status == SL_OK) {
        remove_others(fetch->folder, folder, &index);
        status = fetch_files(target, run, &index, folder, fetch, err);
    }
    if (folder >= 0)
        close(folder);
    sl_ship_index_fini(&index);
    return status;
}
