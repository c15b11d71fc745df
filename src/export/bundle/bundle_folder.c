/* SPDX-License-Identifier: MIT */
#include "export/bundle/bundle_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file_rights.h"

sl_status sl_make_folders(const char *path, sl_error *err) {
    char part[SL_BUNDLE_PATH_CAP];
    size_t len = strlen(path);
    if (len >= sizeof part)
        return sl_fail(err, SL_E_LIMIT, "the path '%.60s...' is too long", path);
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return sl_fail_errno(err, SL_E_WRITE, "cannot create the folder '%s'", part);
    }
    struct stat info;
    if (len && stat(path, &info) == 0 && !S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_WRITE, "'%s' is not a folder", path);
    return SL_OK;
}

sl_status sl_make_parents(const char *path, sl_error *err) {
    char folder[SL_BUNDLE_PATH_CAP];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return SL_OK;
    int len = snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (len >= SL_BUNDLE_PATH_CAP)
        return sl_fail(err, SL_E_LIMIT, "the path '%.60s...' is too long", path);
    return sl_make_folders(folder, err);
}

/* By descriptor, so that a link put in the folder's place meanwhile is not followed. */
void sl_remove_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    rmdir(path);
}

sl_status sl_bundle_open(sl_bundle_folder *folder, const char *parent, const char *name,
                         sl_error *err) {
    *folder = (sl_bundle_folder){.fd = -1};
    int len = snprintf(folder->path, sizeof folder->path, "%s/%s", parent, name);
    int temp_len = snprintf(folder->temp, sizeof folder->temp, "%s/.%s" SL_BUNDLE_TEMP "XXXXXX",
                            parent, name, (int)getpid());
    if (len >= SL_BUNDLE_PATH_CAP || temp_len >= SL_BUNDLE_PATH_CAP)
        return sl_fail(err, SL_E_LIMIT, "the path '%.60s...' is too long", parent);
    SL_TRY(sl_place_check(folder->path, err));
    SL_TRY(sl_make_folders(parent, err));
    if (faccessat(AT_FDCWD, folder->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return sl_fail(err, SL_E_OPEN, "'%s' exists already", folder->path);
    if (sl_temp_mkdir(folder->temp, sl_share_folder_mode()) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot create the folder '%s'", folder->temp);
    folder->is_open = true;
    folder->fd = open(folder->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->fd >= 0)
        return SL_OK;
    sl_status status =
        sl_fail_errno(err, SL_E_WRITE, "cannot open the new folder '%s'", folder->temp);
    sl_bundle_abandon(folder);
    return status;
}

FILE *sl_bundle_file(sl_bundle_folder *folder, const char *name, sl_error *err) {
    int fd = sl_file_create(folder->fd, name, sl_share_file_mode());
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file)
        return file;
    sl_fail_errno(err, SL_E_WRITE, "cannot write '%s/%s'", folder->temp, name);
    if (fd >= 0)
        close(fd);
    return NULL;
}

sl_status sl_bundle_close_file(FILE *file, const char *name, sl_error *err) {
    bool is_bad = fflush(file) != 0 || ferror(file);
    is_bad = is_bad || (fsync(fileno(file)) != 0 && errno != EINVAL && errno != EROFS);
    sl_status status = is_bad ? sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", name) : SL_OK;
    if (fclose(file) != 0 && status == SL_OK)
        status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", name);
    return status;
}

static void close_folder(sl_bundle_folder *folder) {
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = -1;
}

sl_status sl_bundle_commit(sl_bundle_folder *folder, sl_error *err) {
    (void)fsync(folder->fd); /* some network file systems cannot; the bundle is complete anyway */
    if (rename(folder->temp, folder->path) != 0) {
        sl_status status = sl_fail_errno(err, SL_E_WRITE, "cannot rename to '%s'", folder->path);
        sl_bundle_abandon(folder);
        return status;
    }
    close_folder(folder);
    folder->is_open = false;
    return SL_OK;
}

void sl_bundle_abandon(sl_bundle_folder *folder) {
    if (!folder->is_open)
        return;
    close_folder(folder);
    sl_remove_folder(folder->temp);
    folder->is_open = false;
}
