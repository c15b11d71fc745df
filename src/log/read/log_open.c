/* SPDX-License-Identifier: MIT */
/* Opening a log for reading: bytes, header, state. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/sys.h"
#include "log/layout/log_columns.h"
#include "log/read/log_reader_impl.h"

/* How long a writer may take from its lock to its header: 3 s. */
#define BEGIN_TRIES    300
#define BEGIN_PAUSE_US 10000

/* ---- bytes ---- */

static ssize_t read_some(const sl_log_reader *r, void *to, uint64_t len, uint64_t offset) {
    if (!r->bytes)
        return sl_sys_pread(r->fd, to, len, offset);
    if (offset >= r->size)
        return 0;
    if (len > r->size - offset)
        len = r->size - offset;
    memcpy(to, r->bytes + offset, len);
    return (ssize_t)len;
}

sl_status sl__log_read(const sl_log_reader *r, void *to, uint64_t len, uint64_t offset,
                       sl_error *err) {
    for (uint64_t done = 0; done < len;) {
        ssize_t got = read_some(r, (uint8_t *)to + done, len - done, offset + done);
        if (got < 0) {
            sl_status status = sl_fail_errno(err, SL_E_READ, "byte %llu: cannot read",
                                             (unsigned long long)(offset + done));
            if (err)
                err->position = (int64_t)(offset + done);
            return status;
        }
        if (got == 0)
            return sl_fail_at(err, SL_E_TRUNCATED, offset + done,
                              "byte %llu: expected %llu more bytes, found the end of the file",
                              (unsigned long long)(offset + done),
                              (unsigned long long)(len - done));
        done += (uint64_t)got;
    }
    return SL_OK;
}

int sl__log_section(const sl_log_reader *r, uint32_t kind) {
    for (uint32_t i = 0; i < r->header.section_cnt; i++)
        if (r->header.sections[i].kind == kind)
            return (int)i;
    return -1;
}

const sl_fmt_section *sl__log_find(const sl_log_reader *r, uint32_t kind, uint64_t *cnt) {
    int i = sl__log_section(r, kind);
    *cnt = i < 0 ? 0 : r->state.marks[i].reserved;
    return i < 0 ? NULL : &r->header.sections[i];
}

/* Memory is asked for only after the file has been seen to hold that many bytes. */
sl_status sl__log_load(const sl_log_reader *r, const sl_fmt_section *s, uint64_t cnt, void *out,
                       sl_error *err) {
    uint64_t bytes = cnt * s->record_bytes;
    void **to = out;
    *to = NULL;
    if (cnt == 0)
        return SL_OK;
    if (cnt > s->cap || s->offset + bytes > r->size)
        return sl_fail_at(err, SL_E_TRUNCATED, r->size,
                          "section %s: expected %llu records of %u bytes from byte %llu, found the "
                          "end of the file at byte %llu",
                          sl_section_name(s->kind), (unsigned long long)cnt, s->record_bytes,
                          (unsigned long long)s->offset, (unsigned long long)r->size);
    void *buffer = malloc(bytes);
    if (!buffer)
        return sl_fail(err, SL_E_NOMEM, "cannot allocate %llu bytes for section %s",
                       (unsigned long long)bytes, sl_section_name(s->kind));
    sl_status status = sl__log_read(r, buffer, bytes, s->offset, err);
    if (status < 0)
        free(buffer);
    else
        *to = buffer;
    return status;
}

/* Where the ring begins; the whole file when there is none. */
static uint64_t head_bytes(const sl_log_reader *r) {
    int ring = sl__log_section(r, SL_SECTION_RING);
    return ring < 0 ? UINT64_MAX : r->header.sections[ring].offset;
}

/* ---- state ---- */

/* The live writer's marks may be a step apart in our copy; a dead one's may not. */
static sl_status check_watermark(sl_log_reader *r, uint32_t i, sl_error *err) {
    const sl_fmt_section *s = &r->header.sections[i];
    const sl_fmt_watermark *wm = &r->state.marks[i];
    uint64_t at = r->header.state_offset + offsetof(sl_fmt_state, marks) + i * sizeof *wm;
    if (wm->reserved > s->cap)
        return sl_fail_at(err, SL_E_FORMAT, at,
                          "byte %llu: section %s: expected at most %llu reserved records, found "
                          "%llu",
                          (unsigned long long)at, sl_section_name(s->kind),
                          (unsigned long long)s->cap, (unsigned long long)wm->reserved);
    uint64_t end = s->offset + wm->reserved * s->record_bytes;
    bool is_skipped = r->is_head && wm->reserved == 0;
    if (end > r->size && !is_skipped)
        return sl_fail_at(err, SL_E_TRUNCATED, r->size,
                          "byte %llu: expected section %s to go on to byte %llu, found the end of "
                          "the file; the file was cut",
                          (unsigned long long)r->size, sl_section_name(s->kind),
                          (unsigned long long)end);
    return SL_OK;
}

/* For a reader of the head: the ring, and what a future version may put after it, has no records. */
static void skip_ring(sl_log_reader *r, uint32_t i) {
    const sl_fmt_section *s = &r->header.sections[i];
    sl_fmt_watermark *wm = &r->state.marks[i];
    if (s->offset < head_bytes(r))
        return;
    r->is_cut = r->is_cut || (!r->image.at && wm->reserved <= s->cap &&
                              s->offset + wm->reserved * s->record_bytes > r->size);
    wm->reserved = 0;
}

static sl_status check_state(sl_log_reader *r, sl_error *err) {
    uint64_t at = r->header.state_offset;
    if (r->state.closing != SL_CLOSING_RUNNING && r->state.closing != SL_CLOSING_CLOSED)
        return sl_fail_at(err, SL_E_FORMAT, at,
                          "byte %llu: expected closing state 1 or 2, found %llu",
                          (unsigned long long)at, (unsigned long long)r->state.closing);
    for (uint32_t i = 0; i < r->header.section_cnt; i++) {
        if (r->is_head)
            skip_ring(r, i);
        SL_TRY(check_watermark(r, i, err));
    }
    return SL_OK;
}

static sl_status read_size(sl_log_reader *r, sl_error *err) {
    struct stat st;
    if (r->bytes)
        return SL_OK;
    if (sl_sys_fstat(r->fd, &st) < 0)
        return sl_fail_errno(err, SL_E_READ, "cannot examine the file");
    if (!S_ISREG(st.st_mode))
        return sl_fail(err, SL_E_OPEN, "not a regular file");
    r->size = (uint64_t)st.st_size;
    int locked = sl_sys_is_locked(r->fd);
    r->lock_is_known = locked >= 0;
    r->is_locked = locked > 0;
    return SL_OK;
}

sl_status sl_log_refresh(sl_log_reader *r, sl_error *err) {
    /* The lock is asked before the state is read: a writer seen dead has written everything. */
    SL_TRY(read_size(r, err));
    SL_TRY(sl__log_read(r, &r->state, sizeof r->state, r->header.state_offset, err));
    return check_state(r, err);
}

static sl_status try_header(sl_log_reader *r, sl_error *err) {
    SL_TRY(read_size(r, err));
    if (r->size == 0)
        return sl_fail_at(err, SL_E_TRUNCATED, 0,
                          "byte 0: expected a header of 8192 bytes, found an empty file");
    uint64_t len = r->size < sizeof r->header ? r->size : sizeof r->header;
    SL_TRY(sl__log_read(r, &r->header, len, 0, err));
    return sl_header_check(&r->header, r->size, err);
}

/* A writer that has just begun holds the lock, and writes the header last: it is given a moment. */
static sl_status read_header(sl_log_reader *r, sl_error *err) {
    sl_status status = try_header(r, err);
    for (int i = 0; i < BEGIN_TRIES && status < 0 && r->is_locked && r->header.magic[0] == 0; i++) {
        sl_clock_pause_us(BEGIN_PAUSE_US);
        status = try_header(r, err);
    }
    return status;
}

/* ---- a ring in columns ---- */

/* The file into memory, where it can be changed. */
static sl_status take_in(sl_log_reader *r, sl_error *err) {
    if (r->image.at)
        return SL_OK;
    SL_TRY(sl__image_make(&r->image, r->size, err));
    SL_TRY(sl__log_read(r, r->image.at, r->size, 0, err));
    r->bytes = r->image.at;
    return SL_OK;
}

static sl_status unfold_ring(sl_log_reader *r, uint32_t section, sl_error *err) {
    sl_fmt_section *s = &r->header.sections[section];
    SL_TRY(take_in(r, err));
    uint8_t *chunk = malloc(s->record_bytes);
    if (!chunk)
        return sl_fail(err, SL_E_NOMEM, "cannot allocate memory for a chunk");
    for (uint64_t i = 0; i < r->state.marks[section].reserved; i++) {
        uint8_t *at = r->image.at + s->offset + i * s->record_bytes;
        memcpy(chunk, at, s->record_bytes);
        sl__columns_unfold(at, chunk, s->record_bytes);
    }
    free(chunk);
    s->form = SL_FORM_RECORDS;
    return SL_OK;
}

static sl_status unfold(sl_log_reader *r, sl_error *err) {
    if (r->is_head)
        return SL_OK;
    for (uint32_t i = 0; i < r->header.section_cnt; i++)
        if (r->header.sections[i].form == SL_FORM_COLUMNS)
            SL_TRY(unfold_ring(r, i, err));
    return SL_OK;
}

static sl_status open_with(sl_log_reader *r, sl_log_reader **out, sl_error *err) {
    sl_status status = read_header(r, err);
    if (status >= 0)
        status = sl_log_refresh(r, err);
    if (status >= 0)
        status = unfold(r, err);
    if (status < 0)
        sl_log_reader_close(r);
    else
        *out = r;
    return status;
}

static sl_log_reader *new_reader(sl_error *err) {
    sl_log_reader *r = calloc(1, sizeof *r);
    if (!r)
        sl_fail(err, SL_E_NOMEM, "cannot allocate a log reader");
    else
        r->fd = -1;
    return r;
}

/* The header says where the ring begins; whether it can be believed is checked before it is used. */
static sl_status take_head(sl_log_reader *r, sl_byte_stream *in, sl_error *err) {
    SL_TRY(sl__image_take(&r->image, in, SL_FORMAT_HEADER_BYTES + SL_FORMAT_STATE_BYTES, err));
    uint64_t len = r->image.bytes < sizeof r->header ? r->image.bytes : sizeof r->header;
    if (len)
        memcpy(&r->header, r->image.at, len);
    SL_TRY(sl_header_check(&r->header, r->image.bytes, err));
    return sl__image_take(&r->image, in, head_bytes(r), err);
}

static sl_status open_image(sl_byte_stream *in, bool is_head, sl_log_reader **out, sl_error *err) {
    sl_log_reader *r = new_reader(err);
    if (!r)
        return SL_E_NOMEM;
    r->is_head = is_head;
    sl_status status =
        is_head ? take_head(r, in, err) : sl__image_take(&r->image, in, UINT64_MAX, err);
    if (status < 0) {
        sl_log_reader_close(r);
        return status;
    }
    r->bytes = r->image.bytes ? r->image.at : (const void *)"";
    r->size = r->image.bytes;
    r->lock_is_known = true; /* whoever writes a log writes it plain */
    return open_with(r, out, err);
}

sl_status sl_log_open_stream(sl_byte_stream *in, sl_log_reader **out, sl_error *err) {
    return open_image(in, false, out, err);
}

static bool is_packed(int fd) {
    unsigned char magic[SL_UNPACK_MAGIC_LEN];
    ssize_t got = sl_sys_pread(fd, magic, sizeof magic, 0); /* fails on a pipe */
    return got > 0 && sl_unpack_is_packed(magic, (size_t)got);
}

static sl_status open_packed(const char *path, bool is_head, sl_log_reader **out, sl_error *err) {
    sl_byte_stream in;
    /* The image has its own bounds: a sparse file expands a thousandfold and is still harmless. */
    sl_byte_options options = {.max_expansion = UINT32_MAX};
    sl_status status = sl_bytes_open(&in, path, &options, err);
    if (status >= 0)
        status = open_image(&in, is_head, out, err);
    sl_bytes_close(&in);
    return status;
}

static sl_status open_path(const char *path, bool is_head, sl_log_reader **out, sl_error *err) {
    sl_log_reader *r = new_reader(err);
    if (!r)
        return SL_E_NOMEM;
    r->is_head = is_head;
    /* Without waiting: a pipe has no writer perhaps, and is refused below. */
    r->fd = sl_sys_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (r->fd < 0) {
        int saved_errno = errno;
        sl_log_reader_close(r);
        errno = saved_errno;
        return sl_fail_errno(err, SL_E_OPEN, "cannot open");
    }
    if (is_packed(r->fd)) {
        sl_log_reader_close(r);
        return open_packed(path, is_head, out, err);
    }
    return open_with(r, out, err);
}

sl_status sl_log_open(const char *path, sl_log_reader **out, sl_error *err) {
    return open_path(path, false, out, err);
}

sl_status sl_log_open_head(const char *path, sl_log_reader **out, sl_error *err) {
    return open_path(path, true, out, err);
}

bool sl_log_is_cut(const sl_log_reader *r) {
    return r->is_cut;
}

sl_status sl_log_open_bytes(const void *bytes, size_t len, sl_log_reader **out, sl_error *err) {
    sl_log_reader *r = new_reader(err);
    if (!r)
        return SL_E_NOMEM;
    r->bytes = len ? bytes : (const void *)"";
    r->size = len;
    r->lock_is_known = true;
    return open_with(r, out, err);
}

void sl_log_reader_close(sl_log_reader *r) {
    if (!r)
        return;
    if (r->fd >= 0)
        sl_sys_close(r->fd);
    sl__image_free(&r->image);
    free(r->strings);
    free(r->frames);
    free(r->stacks);
    free(r);
}

/* ---- facts ---- */

const sl_fmt_header *sl_log_header(const sl_log_reader *r) {
    return &r->header;
}

const sl_fmt_state *sl_log_state(const sl_log_reader *r) {
    return &r->state;
}

uint64_t sl_log_size(const sl_log_reader *r) {
    return r->size;
}

sl_log_ending sl_log_get_ending(const sl_log_reader *r) {
    if (r->state.closing == SL_CLOSING_CLOSED)
        return SL_LOG_CLOSED;
    if (!r->lock_is_known)
        return SL_LOG_UNCLEAR;
    if (r->is_locked)
        return SL_LOG_LIVE;
    return r->state.left_word & SL_LEFT_AT_ONCE ? SL_LOG_LEFT : SL_LOG_KILLED;
}

const char *sl_log_ending_name(sl_log_ending ending) {
    static const char *const names[] = {
        [SL_LOG_CLOSED] = "closed", [SL_LOG_LIVE] = "live",       [SL_LOG_KILLED] = "killed",
        [SL_LOG_LEFT] = "left",     [SL_LOG_UNCLEAR] = "unclear",
    };
    return names[ending];
}

int32_t sl_log_rank(const sl_log_reader *r) {
    return (int32_t)(uint32_t)r->state.rank_word;
}

int32_t sl_log_local_rank(const sl_log_reader *r) {
    return (int32_t)(uint32_t)(r->state.rank_word >> 32);
}

int sl_log_exit_status(const sl_log_reader *r) {
    bool is_known = r->state.left_word & (SL_LEFT_AT_ONCE | SL_LEFT_BY_EXIT);
    return is_known ? (int)(r->state.left_word >> 8 & 0xff) : -1;
}

int64_t sl_log_world_size(const sl_log_reader *r) {
    return (int64_t)r->state.world_word;
}
