/* SPDX-License-Identifier: MIT */
#include "log/compact/log_compact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "base/files/file_atomic.h"
#include "base/files/packer.h"
#include "log/compact/log_pack.h"
#include "log/read/log_reader_impl.h"

/* ---- whether it may be touched (C2) ---- */

/* A lock that other machines cannot see says nothing about a process there; its heartbeat does. */
#define SILENT_NS (UINT64_C(3600) * 1000000000u)

static bool is_of_this_host(const sl_fmt_header *h) {
    char host[sizeof h->host] = "";
    return gethostname(host, sizeof host - 1) == 0 && strncmp(host, h->host, sizeof host) == 0;
}

static bool is_silent(const sl_log_reader *r) {
    uint64_t last_ns = r->header.start_wall_ns + r->state.heartbeat_ns, now_ns;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return last_ns + SILENT_NS < now_ns;
}

/* After this nobody can begin to write the file until the reader is closed. */
static sl_status claim(sl_log_reader *r, bool *is_live, sl_error *err) {
    int locked = sl_sys_lock_shared(r->fd);
    bool is_known = locked == 0;
    *is_live = locked < 0 && errno == EAGAIN;
    if (*is_live)
        return SL_OK;
    SL_TRY(sl_log_refresh(r, err));
    if (r->state.closing == SL_CLOSING_CLOSED)
        return SL_OK;
    if (!is_known)
        return sl_fail(err, SL_E_BUSY,
                       "its process did not close it, and this file system cannot tell whether "
                       "the process still runs");
    if (!is_of_this_host(&r->header) && !is_silent(r))
        return sl_fail(err, SL_E_BUSY,
                       "process %u on host %.127s wrote to it within the last hour and has not "
                       "closed it; compact it on that host",
                       r->header.pid, r->header.host);
    return SL_OK;
}

/* ---- writing and comparing (C1) ---- */

typedef struct compacting {
    const sl_compact_options *options;
    sl_log_reader *reader;
    const char *to; /* NULL = in its own place */
    bool compresses;
    struct stat before;
    sl_pack_plan plan;
    sl_file_out file;
    sl_packer *packer;
    sl_byte_stream back;
} compacting;

static sl_status check_stop(const compacting *c, sl_error *err) {
    return c->options->stop && *c->options->stop ? sl_fail(err, SL_E_SYSTEM, "interrupted") : SL_OK;
}

static sl_status write_bytes(void *self, const void *bytes, size_t len, sl_error *err) {
    compacting *c = self;
    SL_TRY(check_stop(c, err));
    return sl_packer_write(c->packer, bytes, len, err);
}

static sl_status write_file(compacting *c, sl_error *err) {
    SL_TRY(sl_packer_new(c->file.stream, c->compresses, &c->packer, err));
    sl_status status = sl__pack_emit(c->reader, &c->plan, write_bytes, c, err);
    if (status >= 0)
        status = sl_packer_finish(c->packer, err);
    sl_packer_free(c->packer);
    if (status >= 0 && fflush(c->file.stream) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "writing failed");
    return status;
}

static sl_status differs(const compacting *c, sl_error *err) {
    if (c->back.failure.code < 0) {
        sl_bytes_failure(&c->back, "the compacted file", err);
        return sl_error_prefix(err, "the compacted file cannot be read back");
    }
    return sl_fail(err, SL_E_INTERNAL, "the compacted file differs from its source at byte %llu",
                   (unsigned long long)sl_bytes_position(&c->back));
}

static sl_status compare_bytes(void *self, const void *bytes, size_t len, sl_error *err) {
    compacting *c = self;
    const uint8_t *expected = bytes;
    SL_TRY(check_stop(c, err));
    while (len > 0) {
        if (!sl_bytes_need(&c->back, 1))
            return differs(c, err);
        size_t there = (size_t)(c->back.end - c->back.at);
        size_t n = there < len ? there : len;
        if (memcmp(c->back.at, expected, n) != 0)
            return differs(c, err);
        c->back.at += n;
        expected += n;
        len -= n;
    }
    return SL_OK;
}

static sl_status compare_file(compacting *c, sl_error *err) {
    sl_byte_options options = {.max_expansion = UINT32_MAX};
    sl_status status = sl_bytes_open(&c->back, c->file.temp_path, &options, err);
    if (status >= 0)
        status = sl__pack_emit(c->reader, &c->plan, compare_bytes, c, err);
    if (status >= 0 && (sl_bytes_need(&c->back, 1) || c->back.failure.code < 0))
        status = differs(c, err);
    sl_bytes_close(&c->back);
    return status;
}

/* ---- putting it in place ---- */

/* (C3). The permissions are copied where the temporary file is made. */
static sl_status keep_rights(const compacting *c, sl_error *err) {
    int fd = fileno(c->file.stream);
    struct stat now;
    struct timespec times[2] = {c->before.st_atim, c->before.st_mtim};
    if (fstat(fd, &now) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot examine the compacted file");
    if ((now.st_uid != c->before.st_uid || now.st_gid != c->before.st_gid) &&
        fchown(fd, c->before.st_uid, c->before.st_gid) != 0)
        return sl_fail_errno(err, SL_E_PERMISSION, "cannot keep the owner of the file");
    (void)futimens(fd, times); /* a convenience */
    return SL_OK;
}

static bool is_still_there(const compacting *c) {
    struct stat now;
    return stat(c->file.path, &now) == 0 && now.st_dev == c->before.st_dev &&
           now.st_ino == c->before.st_ino;
}

static sl_status replace(compacting *c, sl_compact_result *result, sl_error *err) {
    struct stat now;
    if (stat(c->file.temp_path, &now) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot examine the compacted file");
    if (now.st_size >= c->before.st_size) {
        result->outcome = SL_COMPACT_ALREADY;
        return SL_OK;
    }
    SL_TRY(compare_file(c, err));
    if (!c->to)
        SL_TRY(keep_rights(c, err));
    if (!c->to && !is_still_there(c))
        return sl_fail(err, SL_E_BUSY, "another file has replaced it meanwhile");
    SL_TRY(sl_file_out_commit(&c->file, err));
    result->bytes_after = (uint64_t)now.st_size;
    return SL_OK;
}

static sl_status make_file(compacting *c, const char *path, sl_compact_result *result,
                           sl_error *err) {
    SL_TRY(sl__pack_plan(c->reader, c->compresses, &c->plan, err));
    SL_TRY(sl_file_out_open(&c->file, c->to ? c->to : path, err));
    sl_status status = write_file(c, err);
    if (status >= 0)
        status = replace(c, result, err);
    sl_file_out_abandon(&c->file);
    return status;
}

static sl_status compact_open(compacting *c, const char *path, sl_compact_result *result,
                              sl_error *err) {
    bool is_live;
    if (fstat(c->reader->fd, &c->before) != 0)
        return sl_fail_errno(err, SL_E_READ, "cannot examine the file");
    result->bytes_before = result->bytes_after = (uint64_t)c->before.st_size;
    SL_TRY(claim(c->reader, &is_live, err));
    if (is_live) {
        result->outcome = SL_COMPACT_LIVE;
        return SL_OK;
    }
    return make_file(c, path, result, err);
}

static sl_status compact_file(compacting *c, const char *path, sl_compact_result *result,
                              sl_error *err) {
    SL_TRY(sl_log_open(path, &c->reader, err));
    if (c->reader->fd >= 0)
        return compact_open(c, path, result, err);
    struct stat info; /* it was unpacked into memory */
    result->outcome = SL_COMPACT_ALREADY;
    if (stat(path, &info) == 0)
        result->bytes_before = result->bytes_after = (uint64_t)info.st_size;
    return SL_OK;
}

sl_status sl_log_compact(const char *path, const sl_compact_options *options,
                         sl_compact_result *result, sl_error *err) {
    return sl_log_compact_to(path, NULL, options, result, err);
}

sl_status sl_log_compact_to(const char *path, const char *to, const sl_compact_options *options,
                            sl_compact_result *result, sl_error *err) {
    static const sl_compact_options defaults;
    compacting *c = calloc(1, sizeof *c);
    *result = (sl_compact_result){.outcome = SL_COMPACT_DONE};
    if (!c)
        return sl_fail(err, SL_E_NOMEM, "out of memory for compacting a recording");
    c->options = options ? options : &defaults;
    c->to = to;
    c->compresses = sl_packer_is_built_in() && !c->options->is_plain;
    sl_status status = compact_file(c, path, result, err);
    sl_log_reader_close(c->reader);
    free(c);
    return status;
}
