/* SPDX-License-Identifier: MIT */
#include "export/formats/gzip_out.h"

#include <stdlib.h>
#include <string.h>

#include "sl_config.h"

#if HAVE_ZLIB
#include <zlib.h>

typedef struct gzip_out {
    z_stream zip;
    FILE *to; /* borrowed */
    unsigned char packed[1 << 16];
} gzip_out;

static bool drain(gzip_out *out, int flush) {
    int code;
    do {
        out->zip.next_out = out->packed;
        out->zip.avail_out = sizeof out->packed;
        code = deflate(&out->zip, flush);
        size_t cnt = sizeof out->packed - out->zip.avail_out;
        if (code == Z_STREAM_ERROR || fwrite(out->packed, 1, cnt, out->to) != cnt)
            return false;
    } while (out->zip.avail_out == 0);
    return true;
}

static ssize_t write_bytes(void *cookie, const char *bytes, size_t cnt) {
    gzip_out *out = cookie;
    out->zip.next_in = (unsigned char *)(uintptr_t)bytes; /* zlib does not write there */
    out->zip.avail_in = (uInt)cnt;
    return drain(out, Z_NO_FLUSH) ? (ssize_t)cnt : 0;
}

static int finish(void *cookie) {
    gzip_out *out = cookie;
    out->zip.avail_in = 0;
    bool is_good = drain(out, Z_FINISH);
    deflateEnd(&out->zip);
    free(out);
    return is_good ? 0 : EOF;
}

bool sl_gzip_is_built(void) {
    return true;
}

FILE *sl_gzip_open(FILE *to) {
    gzip_out *out = calloc(1, sizeof *out);
    if (!out)
        return NULL;
    out->to = to;
    /* 16: a gzip header around it. */
    if (deflateInit2(&out->zip, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(out);
        return NULL;
    }
    cookie_io_functions_t calls = {.write = write_bytes, .close = finish};
    FILE *stream = fopencookie(out, "w", calls);
    if (!stream) {
        deflateEnd(&out->zip);
        free(out);
    }
    return stream;
}
#else
bool sl_gzip_is_built(void) {
    return false;
}

FILE *sl_gzip_open(FILE *to) {
    SL_UNUSED(to);
    return NULL;
}
#endif
