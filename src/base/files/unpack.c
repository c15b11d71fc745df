/* SPDX-License-Identifier: MIT */
#include "base/files/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "sl_config.h"

#if HAVE_LZMA
#include <lzma.h>
#endif
#if HAVE_ZLIB
#include <zlib.h>
#endif
#if HAVE_ZSTD
#include <zstd.h>
#endif

typedef sl_status (*open_fn)(sl_unpacker *unpack, sl_error *err);
typedef sl_status (*step_fn)(sl_unpacker *unpack, sl_unpack_buffers *buffers, bool *is_between,
                             sl_error *err);
typedef void (*close_fn)(sl_unpacker *unpack);

typedef struct codec {
    const char *name;
    unsigned char magic[SL_UNPACK_MAGIC_LEN];
    size_t magic_len;
    open_fn open; /* NULL when this build lacks the library */
    step_fn step;
    close_fn close;
} codec;

struct sl_unpacker {
    const codec *codec;
#if HAVE_ZLIB
    z_stream zlib;
    bool is_member_done; /* another gzip member may follow */
#endif
#if HAVE_ZSTD
    ZSTD_DStream *zstd; /* owned */
#endif
#if HAVE_LZMA
    lzma_stream lzma;
    bool is_stream_done; /* padding or another xz stream may follow */
#endif
};

#if HAVE_ZLIB
static sl_status gzip_open(sl_unpacker *unpack, sl_error *err) {
    return inflateInit2(&unpack->zlib, 16 + MAX_WBITS) == Z_OK ? SL_OK
                                                               : sl_fail_no_memory(err, "zlib");
}

static sl_status gzip_step(sl_unpacker *unpack, sl_unpack_buffers *buffers, bool *is_between,
                           sl_error *err) {
    z_stream *z = &unpack->zlib;
    if (unpack->is_member_done && buffers->in_len > 0) {
        inflateReset(z);
        unpack->is_member_done = false;
    }
    z->next_in = (unsigned char *)(uintptr_t)buffers->in;
    z->avail_in = (uInt)(buffers->in_len < UINT32_MAX ? buffers->in_len : UINT32_MAX);
    z->next_out = buffers->out;
    z->avail_out = (uInt)(buffers->out_len < UINT32_MAX ? buffers->out_len : UINT32_MAX);
    int rc = inflate(z, Z_NO_FLUSH);
    buffers->in_len -= (size_t)(z->next_in - buffers->in);
    buffers->in = z->next_in;
    buffers->out_len -= (size_t)(z->next_out - buffers->out);
    buffers->out = z->next_out;
    if (rc == Z_STREAM_END)
        unpack->is_member_done = true;
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
        return sl_fail(err, rc == Z_MEM_ERROR ? SL_E_NOMEM : SL_E_FORMAT,
                       "the gzip data is damaged: %s", z->msg ? z->msg : "unknown reason");
    *is_between = unpack->is_member_done;
    return SL_OK;
}

static void gzip_close(sl_unpacker *unpack) {
    inflateEnd(&unpack->zlib);
}
#else
#define gzip_open  NULL
#define gzip_step  NULL
#define gzip_close NULL
#endif

#if HAVE_ZSTD
static sl_status zstd_open(sl_unpacker *unpack, sl_error *err) {
    unpack->zstd = ZSTD_createDStream();
    return unpack->zstd ? SL_OK : sl_fail_no_memory(err, "zstd");
}

static sl_status zstd_step(sl_unpacker *unpack, sl_unpack_buffers *buffers, bool *is_between,
                           sl_error *err) {
    ZSTD_inBuffer in = {buffers->in, buffers->in_len, 0};
    ZSTD_outBuffer out = {buffers->out, buffers->out_len, 0};
    size_t rc = ZSTD_decompressStream(unpack->zstd, &out, &in);
    if (ZSTD_isError(rc))
        return sl_fail(err, SL_E_FORMAT, "the zstd data is damaged: %s", ZSTD_getErrorName(rc));
    buffers->in += in.pos;
    buffers->in_len -= in.pos;
    buffers->out += out.pos;
    buffers->out_len -= out.pos;
    *is_between = rc == 0;
    return SL_OK;
}

static void zstd_close(sl_unpacker *unpack) {
    ZSTD_freeDStream(unpack->zstd);
}
#else
#define zstd_open  NULL
#define zstd_step  NULL
#define zstd_close NULL
#endif

#if HAVE_LZMA
/* `xz -9` needs 65 MiB; a file that wants more than this was not made to be read. */
#define LZMA_MEMORY_MAX (UINT64_C(256) << 20)

static sl_status xz_open(sl_unpacker *unpack, sl_error *err) {
    unpack->lzma = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&unpack->lzma, LZMA_MEMORY_MAX, 0) == LZMA_OK
               ? SL_OK
               : sl_fail_no_memory(err, "liblzma");
}

static sl_status fail_xz(lzma_ret rc, sl_error *err) {
    switch (rc) {
    case LZMA_MEM_ERROR: return sl_fail_no_memory(err, "liblzma");
    case LZMA_MEMLIMIT_ERROR:
        return sl_fail(err, SL_E_LIMIT,
                       "the xz data needs more than 256 MiB to decompress; decompress it first");
    case LZMA_FORMAT_ERROR:
        return sl_fail(err, SL_E_FORMAT, "the xz data is damaged: not the beginning of a stream");
    case LZMA_OPTIONS_ERROR:
        return sl_fail(err, SL_E_UNSUPPORTED, "the xz data uses a filter that liblzma lacks");
    default: return sl_fail(err, SL_E_FORMAT, "the xz data is damaged: checksum or structure");
    }
}

/* Streams may be padded with zeros and follow each other. */
static sl_status next_xz_stream(sl_unpacker *unpack, sl_unpack_buffers *buffers, sl_error *err) {
    while (buffers->in_len > 0 && buffers->in[0] == 0) {
        buffers->in++;
        buffers->in_len--;
    }
    if (buffers->in_len == 0)
        return SL_OK;
    unpack->is_stream_done = false;
    lzma_ret rc = lzma_stream_decoder(&unpack->lzma, LZMA_MEMORY_MAX, 0);
    return rc == LZMA_OK ? SL_OK : fail_xz(rc, err);
}

static sl_status xz_step(sl_unpacker *unpack, sl_unpack_buffers *buffers, bool *is_between,
                         sl_error *err) {
    lzma_stream *z = &unpack->lzma;
    if (unpack->is_stream_done)
        SL_TRY(next_xz_stream(unpack, buffers, err));
    *is_between = unpack->is_stream_done;
    if (unpack->is_stream_done)
        return SL_OK;
    z->next_in = buffers->in;
    z->avail_in = buffers->in_len;
    z->next_out = buffers->out;
    z->avail_out = buffers->out_len;
    lzma_ret rc = lzma_code(z, LZMA_RUN);
    buffers->in = z->next_in;
    buffers->in_len = z->avail_in;
    buffers->out = z->next_out;
    buffers->out_len = z->avail_out;
    if (rc == LZMA_STREAM_END)
        unpack->is_stream_done = true;
    else if (rc != LZMA_OK && rc != LZMA_BUF_ERROR)
        return fail_xz(rc, err);
    *is_between = unpack->is_stream_done;
    return SL_OK;
}

static void xz_close(sl_unpacker *unpack) {
    lzma_end(&unpack->lzma);
}
#else
#define xz_open  NULL
#define xz_step  NULL
#define xz_close NULL
#endif

static const codec codecs[] = {
    {"gzip", {0x1f, 0x8b}, 2, gzip_open, gzip_step, gzip_close},
    {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_open, zstd_step, zstd_close},
    {"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_open, xz_step, xz_close},
};

static const codec *find_codec(const unsigned char *magic, size_t len) {
    for (size_t i = 0; i < SL_COUNT_OF(codecs); i++)
        if (len >= codecs[i].magic_len && memcmp(magic, codecs[i].magic, codecs[i].magic_len) == 0)
            return &codecs[i];
    return NULL;
}

bool sl_unpack_is_packed(const unsigned char *magic, size_t len) {
    return find_codec(magic, len) != NULL;
}

sl_status sl_unpack_open(const unsigned char *magic, size_t len, sl_unpacker **out, sl_error *err) {
    *out = NULL;
    const codec *found = find_codec(magic, len);
    if (!found)
        return SL_OK;
    if (!found->open)
        return sl_fail(err, SL_E_UNSUPPORTED,
                       "the file is compressed with %s, and this build has no %s library; "
                       "decompress it first",
                       found->name, found->name);
    sl_unpacker *unpack = calloc(1, sizeof *unpack);
    if (!unpack)
        return sl_fail_no_memory(err, "the decompression");
    unpack->codec = found;
    sl_status status = found->open(unpack, err);
    if (status < 0) {
        free(unpack);
        return status;
    }
    *out = unpack;
    return SL_OK;
}

sl_status sl_unpack_step(sl_unpacker *unpack, sl_unpack_buffers *buffers, bool *is_between,
                         sl_error *err) {
    return unpack->codec->step(unpack, buffers, is_between, err);
}

void sl_unpack_close(sl_unpacker *unpack) {
    if (!unpack)
        return;
    unpack->codec->close(unpack);
    free(unpack);
}
