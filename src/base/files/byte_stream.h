/* SPDX-License-Identifier: MIT */
/* Bytes in order from memory or from a file, compressed or not, behind one window. The window
 * slides: what was consumed is overwritten, so memory does not grow with the input. Files are read,
 * not mapped: if one is truncated meanwhile, that is an error and not a SIGBUS.
 *
 * gzip, zstd and xz are recognised by their first bytes. Positions count decompressed bytes. A
 * large plain file is read by a second thread, ahead of the caller. One thread uses a stream. */
#ifndef SL_BYTE_STREAM_H
#define SL_BYTE_STREAM_H

#include "base/core/progress_fn.h"
#include "base/core/status.h"
#include "base/files/read_ahead.h"
#include "base/files/unpack.h"

/* How far a compressed input may expand. Real snapshots reach 10 to 30; gzip cannot exceed 1,032,
 * zstd and xz can. Below SL_EXPANSION_FREE_BYTES the ratio is not checked. */
#define SL_EXPANSION_DEFAULT    200u
#define SL_EXPANSION_FREE_BYTES ((uint64_t)256 << 20)

typedef struct sl_byte_options {
    sl_progress_fn progress; /* in bytes of the file as it is on disk; may be NULL */
    void *progress_ctx;
    uint32_t max_expansion;   /* decompressed : compressed; 0 = SL_EXPANSION_DEFAULT */
    const sl_stop_flag *stop; /* set by another thread: reading fails soon; may be NULL */
} sl_byte_options;

typedef struct sl_byte_stream {
    const unsigned char *at;  /* the next byte */
    const unsigned char *end; /* of the window */
    uint64_t end_position;    /* of `end` in the stream */
    unsigned char *window;    /* owned; NULL for a stream over memory */
    size_t window_cap;
    int fd;                         /* owned; -1 for a stream over memory */
    bool is_at_end;                 /* nothing follows `end` */
    uint64_t total;                 /* bytes of the file, 0 = unknown */
    uint64_t taken;                 /* bytes read from the file */
    sl_unpacker *unpack;            /* owned; NULL when the input is not compressed */
    sl_read_ahead *ahead;           /* owned; large plain files only, else NULL */
    bool is_in_chunk;               /* the window is a chunk of `ahead`, not ours */
    struct sl_packed_input *packed; /* owned; the compressed bytes; NULL when the input is not
                                     * compressed */
    sl_byte_options options;
    sl_error failure; /* why reading stopped, when it was not the end */
} sl_byte_stream;

/* Over bytes that the caller keeps alive. Never fails; compressed bytes stay compressed. */
void sl_bytes_init(sl_byte_stream *stream, const void *bytes, size_t len);

/* options may be NULL. A folder is SL_E_OPEN. Release with sl_bytes_close also after a failure. */
sl_status sl_bytes_open(sl_byte_stream *stream, const char *path, const sl_byte_options *options,
                        sl_error *err);

void sl_bytes_close(sl_byte_stream *stream);

/* The slow half of sl_bytes_need. */
bool sl_bytes_fill(sl_byte_stream *stream, size_t want);

/* True when `want` bytes are at `at`. The window may move: pointers into it are void. */
static inline bool sl_bytes_need(sl_byte_stream *stream, size_t want) {
    return SL_LIKELY((size_t)(stream->end - stream->at) >= want) || sl_bytes_fill(stream, want);
}

static inline uint64_t sl_bytes_position(const sl_byte_stream *stream) {
    return stream->end_position - (uint64_t)(stream->end - stream->at);
}

/* The failure behind a false sl_bytes_need: the read error, or SL_E_TRUNCATED with the position
 * and `inside`, the thing that was being read ("a string"). */
sl_status sl_bytes_failure(const sl_byte_stream *stream, const char *inside, sl_error *err);

#endif
