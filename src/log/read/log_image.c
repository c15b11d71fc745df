/* SPDX-License-Identifier: MIT */
#include "log/read/log_image.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES  ((size_t)4096)
#define FIRST_BYTES ((size_t)1 << 20)
#define BYTES_FREE  (UINT64_C(2) << 30)

/* A fresh mapping is all zeros and costs nothing until it is written. */
static bool grow(sl_log_image *image, size_t wanted) {
    size_t bytes = image->mapped_bytes ? image->mapped_bytes : FIRST_BYTES;
    while (bytes < wanted)
        bytes *= 2;
    if (bytes == image->mapped_bytes)
        return true;
    void *at = image->at ? mremap(image->at, image->mapped_bytes, bytes, MREMAP_MAYMOVE)
                         : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    image->at = at;
    image->mapped_bytes = bytes;
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t len) {
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static sl_status no_memory(sl_error *err) {
    return sl_fail(err, SL_E_NOMEM, "cannot allocate memory for an unpacked recording");
}

sl_status sl__image_make(sl_log_image *image, uint64_t bytes, sl_error *err) {
    if (bytes > SIZE_MAX / 4 || !grow(image, bytes))
        return no_memory(err);
    image->bytes = bytes;
    return SL_OK;
}

/* Appends bytes; those of them that are not zero, page by page, are counted. */
static size_t put(sl_log_image *image, const uint8_t *bytes, size_t len) {
    size_t written = 0;
    while (len > 0) {
        size_t room = PAGE_BYTES - image->bytes % PAGE_BYTES;
        size_t piece = len < room ? len : room;
        if (!is_zero(bytes, piece)) {
            memcpy(image->at + image->bytes, bytes, piece);
            written += piece;
        }
        image->bytes += piece;
        bytes += piece;
        len -= piece;
    }
    return written;
}

static bool goes_too_far(const sl_log_image *image, const sl_byte_stream *in, uint64_t written) {
    uint64_t limit = in->taken * SL_EXPANSION_DEFAULT;
    return (written > SL_EXPANSION_FREE_BYTES && written > limit) ||
           (image->bytes > BYTES_FREE && image->bytes > limit);
}

static sl_status fail_bounds(const sl_log_image *image, const sl_byte_stream *in, sl_error *err) {
    return sl_fail(err, SL_E_LIMIT,
                   "the compressed recording expands too much (%zu bytes from %llu); if that is "
                   "intended, decompress it first",
                   image->bytes, (unsigned long long)in->taken);
}

sl_status sl__image_take(sl_log_image *image, sl_byte_stream *in, uint64_t most, sl_error *err) {
    uint64_t written = 0;
    while (image->bytes < most && sl_bytes_need(in, 1)) {
        size_t len = (size_t)(in->end - in->at);
        if (len > most - image->bytes)
            len = (size_t)(most - image->bytes);
        if (!grow(image, image->bytes + len))
            return no_memory(err);
        written += put(image, in->at, len);
        in->at += len;
        if (in->unpack && goes_too_far(image, in, written))
            return fail_bounds(image, in, err);
    }
    return in->failure.code < 0 ? sl_bytes_failure(in, "the recording", err) : SL_OK;
}

void sl__image_free(sl_log_image *image) {
    if (image->at)
        munmap(image->at, image->mapped_bytes);
    *image = (sl_log_image){0};
}
