/* SPDX-License-Identifier: MIT */
#include "base/files/packer.h"

#include <errno.h>
#include <stdlib.h>

#include "sl_config.h"

#if HAVE_ZSTD
#include <zstd.h>
#endif

/* A training step repeats the one before. At level 3 the matcher finds it; levels above 6 take
 * four times as long for a tenth less. The window must hold more than one step: 8 MiB are a
 * quarter of a million events. */
#define LEVEL      3
#define WINDOW_LOG 23

#define OUT_BYTES ((size_t)128 << 10)

struct sl_packer {
    FILE *to; /* borrowed */
#if HAVE_ZSTD
    ZSTD_CCtx *zstd; /* owned; NULL when the bytes are written as they are */
#endif
    unsigned char out[OUT_BYTES];
};

bool sl_packer_is_built_in(void) {
    return HAVE_ZSTD;
}

static sl_status put(sl_packer *packer, const void *bytes, size_t len, sl_error *err) {
    errno = 0;
    if (fwrite(bytes, 1, len, packer->to) == len)
        return SL_OK;
    errno = errno ? errno : EIO;
    return sl_fail_errno(err, SL_E_WRITE, "writing failed");
}

#if HAVE_ZSTD
static sl_status fail_zstd(size_t rc, sl_error *err) {
    return sl_fail(err, SL_E_NOMEM, "zstd cannot compress: %s", ZSTD_getErrorName(rc));
}

static sl_status start(sl_packer *packer, sl_error *err) {
    packer->zstd = ZSTD_createCCtx();
    if (!packer->zstd)
        return sl_fail_no_memory(err, "zstd");
    const struct {
        ZSTD_cParameter parameter;
        int value;
    } settings[] = {
        {ZSTD_c_compressionLevel, LEVEL},
        {ZSTD_c_windowLog, WINDOW_LOG},
        {ZSTD_c_checksumFlag, 1},
    };
    for (size_t i = 0; i < SL_COUNT_OF(settings); i++) {
        size_t rc = ZSTD_CCtx_setParameter(packer->zstd, settings[i].parameter, settings[i].value);
        if (ZSTD_isError(rc))
            return fail_zstd(rc, err);
    }
    return SL_OK;
}

/* Until the input is taken; at the end of the data until everything is out. */
static sl_status compress(sl_packer *packer, const void *bytes, size_t len, ZSTD_EndDirective mode,
                          sl_error *err) {
    ZSTD_inBuffer in = {bytes, len, 0};
    for (bool is_done = false; !is_done;) {
        ZSTD_outBuffer out = {packer->out, sizeof packer->out, 0};
        size_t rc = ZSTD_compressStream2(packer->zstd, &out, &in, mode);
        if (ZSTD_isError(rc))
            return fail_zstd(rc, err);
        SL_TRY(put(packer, packer->out, out.pos, err));
        is_done = mode == ZSTD_e_end ? rc == 0 : in.pos == in.size;
    }
    return SL_OK;
}
#endif

sl_status sl_packer_new(FILE *to, bool compresses, sl_packer **out, sl_error *err) {
    sl_packer *packer = calloc(1, sizeof *packer);
    if (!packer)
        return sl_fail_no_memory(err, "the compression");
    packer->to = to;
    *out = packer;
#if HAVE_ZSTD
    if (compresses) {
        sl_status status = start(packer, err);
        if (status < 0)
            sl_packer_free(packer);
        return status;
    }
#else
    SL_UNUSED(compresses);
#endif
    return SL_OK;
}

sl_status sl_packer_write(sl_packer *packer, const void *bytes, size_t len, sl_error *err) {
#if HAVE_ZSTD
    if (packer->zstd)
        return compress(packer, bytes, len, ZSTD_e_continue, err);
#endif
    return put(packer, bytes, len, err);
}

sl_status sl_packer_finish(sl_packer *packer, sl_error *err) {
#if HAVE_ZSTD
    if (packer->zstd)
        return compress(packer, NULL, 0, ZSTD_e_end, err);
#endif
    SL_UNUSED(packer);
    SL_UNUSED(err);
    return SL_OK;
}

void sl_packer_free(sl_packer *packer) {
    if (!packer)
        return;
#if HAVE_ZSTD
    ZSTD_freeCCtx(packer->zstd);
#endif
    free(packer);
}
