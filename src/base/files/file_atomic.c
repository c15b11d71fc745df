/* SPDX-License-Identifier: MIT */
#include "base/files/file_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file_rights.h"

/* The place a symbolic link points to, so that the link survives; the path itself where there is
 * no file yet. Owned by the caller. */
static char *resolve(const char *path) {
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

static bool is_special(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static sl_status open_temp(sl_file_out *out, sl_error *err) {
    if (asprintf(&out->temp_path, "%s.tmp-XXXXXX", out->path) < 0) {
        out->temp_path = NULL;
        return sl_fail_no_memory(err, "a file name");
    }
    /* A file that is replaced keeps its permissions; a new one gets what the umask leaves. */
    struct stat old;
    bool has_old = stat(out->path, &old) == 0;
    int fd = sl_temp_create(out->temp_path, has_old ? old.st_mode & 0777 : 0666);
    if (fd < 0) {
        free(out->temp_path);
        out->temp_path = NULL;
        return sl_fail_errno(err, SL_E_WRITE, "cannot create '%s'", out->path);
    }
    if ((!has_old || fchmod(fd, old.st_mode & 0777) == 0) &&
        (out->stream = fdopen(fd, "w")) != NULL)
        return SL_OK;
    sl_fail_errno(err, SL_E_WRITE, "cannot create '%s'", out->path);
    close(fd);
    return err ? err->code : SL_E_WRITE;
}

sl_status sl_file_out_open(sl_file_out *out, const char *path, sl_error *err) {
    *out = (sl_file_out){0};
    if (!path || strcmp(path, "-") == 0) {
        out->stream = stdout;
        return SL_OK;
    }
    struct stat info;
    SL_TRY(sl_place_check(path, err));
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_USAGE, "cannot write '%s': it is a folder; give a file name",
                       path);
    out->path = resolve(path);
    if (!out->path)
        return sl_fail_no_memory(err, "a file name");
    if (!is_special(out->path)) {
        sl_status status = open_temp(out, err);
        if (status < 0)
            sl_file_out_abandon(out);
        return status;
    }
    out->stream = fopen(out->path, "we");
    if (out->stream)
        return SL_OK;
    sl_status status = sl_fail_errno(err, SL_E_WRITE, "cannot open '%s' for writing", path);
    sl_file_out_abandon(out);
    return status;
}

/* The rename is durable only when the folder is. A folder that cannot be opened or synced (some
 * network file systems) does not make a complete file a failure. */
static void sync_folder(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
}

/* fsync of a pipe or a terminal is EINVAL: nothing to sync there. */
static bool flush_all(FILE *stream, bool is_file) {
    if (ferror(stream))
        errno = errno ? errno : EIO;
    else if (fflush(stream) == 0)
        return !is_file || fsync(fileno(stream)) == 0;
    return false;
}

static sl_status fail_write(const sl_file_out *out, sl_error *err) {
    return out->path ? sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", out->path)
                     : sl_fail_errno(err, SL_E_WRITE, "cannot write standard output");
}

static sl_status finish(sl_file_out *out, sl_error *err) {
    if (!flush_all(out->stream, out->temp_path != NULL))
        return fail_write(out, err);
    if (!out->temp_path)
        return SL_OK;
    if (rename(out->temp_path, out->path) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot rename the finished file to '%s'", out->path);
    free(out->temp_path);
    out->temp_path = NULL;
    sync_folder(out->path);
    return SL_OK;
}

sl_status sl_file_out_commit(sl_file_out *out, sl_error *err) {
    sl_status status = finish(out, err);
    sl_file_out_abandon(out);
    return status;
}

sl_status sl_file_out_end(sl_file_out *out, sl_status written, sl_error *err) {
    if (written >= 0)
        return sl_file_out_commit(out, err);
    if (ferror(out->stream)) {
        errno = err && err->sys_errno ? err->sys_errno : EIO;
        written = fail_write(out, err);
    }
    sl_file_out_abandon(out);
    return written;
}

void sl_file_out_abandon(sl_file_out *out) {
    if (out->stream && out->stream != stdout)
        fclose(out->stream);
    if (out->temp_path)
        unlink(out->temp_path);
    free(out->temp_path);
    free(out->path);
    *out = (sl_file_out){0};
}
