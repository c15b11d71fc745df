/* SPDX-License-Identifier: MIT */
#include "memprof/watch/watch_options.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file_atomic.h"
#include "base/files/file_rights.h"
#include "export/bundle/bundle_folder.h"
#include "telemetry/telemetry_read.h"

static sl_status read_command(const sl_opts *opts, sl_watch_options *out, char ***command,
                              sl_error *err) {
    size_t cnt = opts->operands.cnt;
    *command = NULL;
    if (!cnt)
        return SL_OK;
    *command = calloc(cnt + 1, sizeof **command);
    if (!*command)
        return sl_fail_no_memory(err, "the command");
    for (size_t i = 0; i < cnt; i++)
        (*command)[i] = (char *)(uintptr_t)opts->operands.at[i];
    out->command = *command;
    return SL_OK;
}

sl_status sl_watch_read_options(const sl_opts *opts, sl_watch_options *out, char ***command,
                                sl_error *err) {
    *out = (sl_watch_options){
        .interval_s = sl_opts_real(opts, "interval"),
        .duration_s = sl_opts_real(opts, "duration"),
        .device = -1,
        .pid = (int)sl_opts_number(opts, "pid"),
        .identity = {.world_size = 1},
    };
    *command = NULL;
    /* Not "<= 0": a NaN must not pass. */
    if (!(out->interval_s > 0) || out->interval_s > 1e6)
        return sl_fail(err, SL_E_OPEN, "sampling_interval must be > 0");
    if (!(out->duration_s >= 0))
        out->duration_s = 0;
    if (out->interval_s < 0.001)
        out->interval_s = 0.001;
    if (out->pid && opts->operands.cnt)
        return sl_fail(err, SL_E_USAGE, "either --pid or a command, not both");
    return read_command(opts, out, command, err);
}

static sl_maybe_i32 claim(const sl_opts *opts, const char *name) {
    if (!sl_opts_is_given(opts, name))
        return (sl_maybe_i32){0};
    int64_t value = sl_opts_number(opts, name);
    int32_t narrow = value > INT32_MAX ? INT32_MAX : value < -1 ? -1 : (int32_t)value;
    return (sl_maybe_i32){narrow, true};
}

sl_status sl_watch_read_identity(const sl_opts *opts, sl_identity *out, sl_error *err) {
    sl_identity_claim given = {.job_id = sl_opts_text(opts, "job-id"),
                               .rank = claim(opts, "rank"),
                               .local_rank = claim(opts, "local-rank"),
                               .world_size = claim(opts, "world-size")};
    sl_status status = sl_identity_resolve(&given, NULL, getenv, out, err);
    /* Here a wrong rank is not a usage error but an error with exit code 1. */
    if (status == SL_E_USAGE)
        status = err->code = SL_E_OPEN;
    return status;
}

sl_status sl_watch_log_open(sl_watch_log *log, const char *path, sl_error *err) {
    *log = (sl_watch_log){.path = path};
    if (!path)
        return SL_OK;
    /* Said now: at the end the whole run would have been watched for nothing. */
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_USAGE, "cannot write '%s': it is a folder; give a file name",
                       path);
    SL_TRY(sl_make_parents(path, err));
    snprintf(log->part_path, sizeof log->part_path, "%.1000s.part.jsonl", path);
    SL_TRY(sl_place_check(log->part_path, err));
    /* Always a new file: an existing one of this name may be a link to another file. */
    unlink(log->part_path);
    int fd = sl_file_create(AT_FDCWD, log->part_path, 0666);
    log->part = fd < 0 ? NULL : fdopen(fd, "w");
    if (!log->part) {
        sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", log->part_path);
        if (fd >= 0)
            close(fd);
        return SL_E_WRITE;
    }
    sl_tm_out_begin(&log->out, log->part, SL_TM_FORM_LINES);
    return SL_OK;
}

void sl_watch_log_put(sl_watch_log *log, const sl_telemetry *set, const sl_tm_record *record) {
    if (!log->part)
        return;
    sl_tm_out_put(&log->out, set, record);
    /* Written at once: records that are still in this process are lost if it is killed. */
    fflush(log->part);
}

sl_status sl_watch_log_load(sl_watch_log *log, sl_telemetry *set, sl_error *err) {
    if (fflush(log->part) != 0 || ferror(log->part))
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", log->part_path);
    return sl_telemetry_load(log->part_path, NULL, set, err);
}

sl_status sl_watch_log_finish(sl_watch_log *log, sl_tm_form form, sl_error *err) {
    sl_file_out file;
    if (!log->part)
        return SL_OK;
    sl_telemetry *set = sl_telemetry_new();
    sl_status status =
        set ? sl_watch_log_load(log, set, err) : sl_fail_no_memory(err, "the records");
    if (status == SL_OK)
        status = sl_file_out_open(&file, log->path, err);
    if (status == SL_OK) {
        status = sl_tm_write(set, form, file.stream, err);
        if (status == SL_OK)
            status = sl_file_out_commit(&file, err);
        else
            sl_file_out_abandon(&file);
    }
    sl_telemetry_free(set);
    /* After a failure the JSON lines stay, so that nothing is lost. */
    if (status == SL_OK)
        sl_watch_log_close(log);
    return status;
}

void sl_watch_log_close(sl_watch_log *log) {
    if (!log->part)
        return;
    fclose(log->part);
    log->part = NULL;
    unlink(log->part_path);
}
