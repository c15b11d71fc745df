/* SPDX-License-Identifier: MIT */
#include "base/files/byte_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fits into the second-level cache, so that what read() copied is still there when it is decoded. */
#define WINDOW_BYTES ((size_t)256 * 1024)

#define PACKED_BYTES ((size_t)64 * 1024)

/* What only compressed streams need. */
struct sl_packed_input {
    size_t len;
    size_t off;
    bool is_between;   /* the end of the file is fine here */
    bool is_file_done; /* nothing more to read */
    uint64_t produced; /* decompressed bytes */
    unsigned char bytes[PACKED_BYTES];
};

void sl_bytes_init(sl_byte_stream *stream, const void *bytes, size_t len) {
    *stream = (sl_byte_stream){.at = bytes, .fd = -1, .is_at_end = true, .total = len};
    stream->end = stream->at + len;
    stream->end_position = len;
}

static bool fail_reading(sl_byte_stream *stream) {
    sl_fail_errno(&stream->failure, SL_E_READ, "reading failed at byte %llu of the file",
                  (unsigned long long)stream->taken);
    return false;
}

/* False when nobody wants the rest. */
static bool count_taken(sl_byte_stream *stream, size_t len) {
    const sl_byte_options *options = &stream->options;
    stream->taken += len;
    if (options->progress)
        options->progress(options->progress_ctx, stream->taken, stream->total);
    if (!options->stop || !*options->stop)
        return true;
    sl_fail(&stream->failure, SL_E_SYSTEM, "reading was stopped at byte %llu of the file",
            (unsigned long long)stream->taken);
    return false;
}

static bool read_some(sl_byte_stream *stream, unsigned char *to, size_t cap, size_t *got) {
    ssize_t n;
    do
        n = read(stream->fd, to, cap);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fail_reading(stream);
    *got = (size_t)n;
    return count_taken(stream, *got);
}

static bool is_bomb(const sl_byte_stream *stream) {
    uint32_t ratio = stream->options.max_expansion;
    uint64_t limit = stream->taken * (ratio ? ratio : SL_EXPANSION_DEFAULT);
    uint64_t produced = stream->packed->produced;
    return produced > SL_EXPANSION_FREE_BYTES && produced > limit;
}

static bool fail_bomb(sl_byte_stream *stream) {
    uint32_t ratio = stream->options.max_expansion;
    sl_fail(&stream->failure, SL_E_LIMIT,
            "the compressed input expands more than %u times (%llu bytes from %llu); if that is "
            "intended, decompress it first",
            ratio ? ratio : SL_EXPANSION_DEFAULT, (unsigned long long)stream->packed->produced,
            (unsigned long long)stream->taken);
    return false;
}

static bool refill_packed(sl_byte_stream *stream) {
    struct sl_packed_input *packed = stream->packed;
    if (packed->off < packed->len || packed->is_file_done)
        return true;
    packed->off = 0;
    if (!read_some(stream, packed->bytes, PACKED_BYTES, &packed->len))
        return false;
    packed->is_file_done = packed->len == 0;
    return true;
}

/* Decompresses until at least one byte came out or the input ended. */
static bool unpack_some(sl_byte_stream *stream, unsigned char *to, size_t cap, size_t *got) {
    struct sl_packed_input *packed = stream->packed;
    for (*got = 0; *got == 0;) {
        if (!refill_packed(stream))
            return false;
        if (packed->is_file_done && packed->is_between)
            return true;
        sl_unpack_buffers b = {packed->bytes + packed->off, packed->len - packed->off, to, cap};
        size_t before = b.in_len;
        if (sl_unpack_step(stream->unpack, &b, &packed->is_between, &stream->failure) < 0)
            return false;
        *got = cap - b.out_len;
        packed->off += before - b.in_len;
        if (packed->is_file_done && *got == 0 && !packed->is_between) {
            sl_fail(&stream->failure, SL_E_TRUNCATED,
                    "the compressed data ends too early, at byte %llu of the file",
                    (unsigned long long)stream->taken);
            return false;
        }
    }
    packed->produced += *got;
    return !is_bomb(stream) || fail_bomb(stream);
}

static bool add_bytes(sl_byte_stream *stream) {
    unsigned char *to = stream->window + (stream->end - stream->window); /* end, writable */
    size_t cap = stream->window_cap - (size_t)(to - stream->window), got = 0;
    bool ok =
        stream->unpack ? unpack_some(stream, to, cap, &got) : read_some(stream, to, cap, &got);
    stream->end += got;
    stream->end_position += got;
    stream->is_at_end = !ok || got == 0;
    return ok;
}

/* Moves the unread bytes to the front of a window of at least `want` bytes. Grows only as far as
 * twice what has really arrived, so that a length in the input cannot make us allocate. */
static bool make_room(sl_byte_stream *stream, size_t want) {
    size_t kept = (size_t)(stream->end - stream->at);
    memmove(stream->window, stream->at, kept);
    if (kept == stream->window_cap) {
        size_t cap = stream->window_cap * 2;
        unsigned char *grown = realloc(stream->window, cap);
        if (!grown) {
            sl_fail_no_memory(&stream->failure, "an item of %zu bytes", want);
            stream->at = stream->window, stream->end = stream->window + kept;
            return false;
        }
        stream->window = grown;
        stream->window_cap = cap;
    }
    stream->at = stream->window;
    stream->end = stream->window + kept;
    return true;
}

/* --- Reading ahead ---------------------------------------------------------------------------- */

/* Below this a thread costs more than it saves. */
#define AHEAD_MIN_BYTES ((uint64_t)4 << 20)

/* What is left of the window and the new chunk, in one piece: in front of the chunk where there is
 * room for it, in our own window for the rare item that is larger. */
static bool join_chunk(sl_byte_stream *stream, const sl_ahead_chunk *chunk) {
    size_t kept = (size_t)(stream->end - stream->at);
    if (kept <= SL_AHEAD_HEADROOM) {
        memcpy(chunk->at - kept, stream->at, kept);
        stream->at = chunk->at - kept;
        stream->end = chunk->at + chunk->len;
        if (stream->is_in_chunk)
            sl_read_ahead_release(stream->ahead);
        stream->is_in_chunk = true;
        return true;
    }
    size_t off = stream->is_in_chunk ? 0 : (size_t)(stream->at - stream->window);
    if (stream->window_cap < off + kept + chunk->len) {
        unsigned char *grown = realloc(stream->window, (off + kept + chunk->len) * 2);
        if (!grown)
            return false;
        stream->window = grown;
        stream->window_cap = (off + kept + chunk->len) * 2;
    }
    if (stream->is_in_chunk) {
        memcpy(stream->window, stream->at, kept);
        sl_read_ahead_release(stream->ahead);
    }
    memcpy(stream->window + off + kept, chunk->at, chunk->len);
    sl_read_ahead_release(stream->ahead);
    stream->is_in_chunk = false;
    stream->at = stream->window + off;
    stream->end = stream->at + kept + chunk->len;
    return true;
}

static bool add_chunk(sl_byte_stream *stream) {
    sl_ahead_chunk chunk = sl_read_ahead_take(stream->ahead);
    stream->is_at_end = chunk.len == 0;
    if (chunk.sys_errno) {
        errno = chunk.sys_errno;
        return fail_reading(stream);
    }
    if (chunk.len == 0)
        return true;
    if (!join_chunk(stream, &chunk)) {
        sl_fail_no_memory(&stream->failure, "an item of more than %zu bytes", SL_AHEAD_HEADROOM);
        stream->is_at_end = true;
        return false;
    }
    stream->end_position += chunk.len;
    return count_taken(stream, chunk.len);
}

/* --- Streams ---------------------------------------------------------------------------------- */

static bool add_to_window(sl_byte_stream *stream, size_t want) {
    bool is_full = stream->end == stream->window + stream->window_cap;
    if ((is_full || stream->at == stream->end) && !make_room(stream, want)) {
        stream->is_at_end = true;
        return false;
    }
    return add_bytes(stream);
}

bool sl_bytes_fill(sl_byte_stream *stream, size_t want) {
    while ((size_t)(stream->end - stream->at) < want) {
        if (stream->is_at_end)
            return false;
        if (!(stream->ahead ? add_chunk(stream) : add_to_window(stream, want)))
            return false;
    }
    return true;
}

static sl_status check_kind(sl_byte_stream *stream, sl_error *err) {
    struct stat info;
    if (fstat(stream->fd, &info) != 0)
        return sl_fail_errno(err, SL_E_OPEN, "it cannot be examined");
    if (S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_OPEN, "it is a folder, expected a file");
    stream->total = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    return SL_OK;
}

/* The bytes read for the magic number become the decompressor's first input. */
static sl_status start_unpacking(sl_byte_stream *stream, sl_error *err) {
    size_t len = (size_t)(stream->end - stream->at);
    SL_TRY(sl_unpack_open(stream->at, len, &stream->unpack, err));
    if (!stream->unpack) {
        if (stream->total >= AHEAD_MIN_BYTES)
            stream->ahead = sl_read_ahead_start(stream->fd);
        return SL_OK;
    }
    stream->packed = calloc(1, sizeof *stream->packed);
    if (!stream->packed)
        return sl_fail_no_memory(err, "the decompression");
    memcpy(stream->packed->bytes, stream->at, len);
    stream->packed->len = len;
    stream->at = stream->end = stream->window;
    stream->end_position = 0;
    stream->is_at_end = false;
    return SL_OK;
}

sl_status sl_bytes_open(sl_byte_stream *stream, const char *path, const sl_byte_options *options,
                        sl_error *err) {
    *stream = (sl_byte_stream){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (stream->fd < 0)
        return sl_fail_errno(err, SL_E_OPEN, "it cannot be opened");
    if (options)
        stream->options = *options;
    SL_TRY(check_kind(stream, err));
    stream->window = malloc(WINDOW_BYTES);
    if (!stream->window)
        return sl_fail_no_memory(err, "a read window");
    stream->at = stream->end = stream->window;
    /* Small on purpose: these bytes must fit into the decompressor's input buffer. */
    stream->window_cap = PACKED_BYTES;
    (void)sl_bytes_fill(stream, SL_UNPACK_MAGIC_LEN);
    stream->window_cap = WINDOW_BYTES;
    if (stream->failure.code < 0)
        return sl_bytes_failure(stream, "the file", err);
    return start_unpacking(stream, err);
}

void sl_bytes_close(sl_byte_stream *stream) {
    sl_read_ahead_stop(stream->ahead);
    sl_unpack_close(stream->unpack);
    free(stream->packed);
    free(stream->window);
    if (stream->fd >= 0)
        close(stream->fd);
    *stream = (sl_byte_stream){.fd = -1, .is_at_end = true};
}

sl_status sl_bytes_failure(const sl_byte_stream *stream, const char *inside, sl_error *err) {
    if (stream->failure.code < 0) {
        if (err)
            *err = stream->failure;
        return stream->failure.code;
    }
    return sl_fail_at(err, SL_E_TRUNCATED, stream->end_position,
                      "the input ends at byte %llu, inside %s",
                      (unsigned long long)stream->end_position, inside);
}
