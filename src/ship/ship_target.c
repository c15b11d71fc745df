/* SPDX-License-Identifier: MIT */
#include "ship/ship_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/sys.h"

static const sl_ship_target_ops *const kinds[] = {&sl_ship_s3_ops};

static const sl_ship_target_ops *kind_of(const char *where) {
    for (size_t i = 0; i < SL_COUNT_OF(kinds); i++)
        if (strncmp(where, kinds[i]->scheme, strlen(kinds[i]->scheme)) == 0)
            return kinds[i];
    return &sl_ship_folder_ops;
}

bool sl_ship_is_remote(const char *where) {
    return kind_of(where) != &sl_ship_folder_ops;
}

sl_status sl_ship_target_open(sl_ship_target **target, const char *where,
                              const sl_ship_target_options *options, sl_error *err) {
    sl_ship_target *made = calloc(1, sizeof *made);
    *target = NULL;
    if (!made)
        return sl_fail_no_memory(err, "a target");
    *made = (sl_ship_target){.ops = kind_of(where), .options = *options};
    sl_status status = made->ops->open(made, where, err);
    if (status < 0)
        free(made);
    else
        *target = made;
    return status;
}

void sl_ship_target_close(sl_ship_target *target) {
    if (!target)
        return;
    target->ops->close(target);
    free(target);
}

sl_status sl_ship_put_file(sl_ship_target *target, const sl_ship_file *file, sl_ship_put *put,
                           sl_error *err) {
    *put = (sl_ship_put){0};
    return target->ops->put_file(target, file, put, err);
}

sl_status sl_ship_put_text(sl_ship_target *target, const char *key, sl_str text, sl_error *err) {
    return target->ops->put_text(target, key, text, err);
}

static sl_status read_whole(int fd, const char *key, char **text, size_t *len, sl_error *err) {
    off_t bytes = lseek(fd, 0, SEEK_END);
    if (bytes < 0)
        return sl_fail_errno(err, SL_E_READ, "cannot read '%s'", key);
    if (!(*text = malloc((size_t)bytes + 1)))
        return sl_fail_no_memory(err, "'%s'", key);
    if (bytes && sl_sys_pread(fd, *text, (size_t)bytes, 0) != (ssize_t)bytes) {
        free(*text);
        *text = NULL;
        return sl_fail_errno(err, SL_E_READ, "cannot read '%s'", key);
    }
    (*text)[bytes] = '\0';
    *len = (size_t)bytes;
    return SL_OK;
}

/* Through a file without a name, because an index may be larger than a response is allowed to be. */
sl_status sl_ship_get_text(sl_ship_target *target, const char *key, size_t max, char **text,
                           size_t *len, sl_error *err) {
    *text = NULL;
    *len = 0;
    FILE *file = tmpfile();
    if (!file)
        return sl_fail_errno(err, SL_E_WRITE, "cannot make a temporary file");
    sl_status status = target->ops->get_file(target, key, fileno(file), max, err);
    if (status >= 0)
        status = read_whole(fileno(file), key, text, len, err);
    fclose(file);
    return status;
}

sl_status sl_ship_get_file(sl_ship_target *target, const char *key, int fd, uint64_t max,
                           sl_error *err) {
    return target->ops->get_file(target, key, fd, max, err);
}

sl_status sl_ship_size(sl_ship_target *target, const char *key, uint64_t *bytes, sl_error *err) {
    return target->ops->size(target, key, bytes, err);
}

sl_status sl_ship_list(sl_ship_target *target, const char *folder, sl_ship_name_fn take, void *self,
                       sl_error *err) {
    return target->ops->list(target, folder, take, self, err);
}

sl_status sl_ship_hash(int fd, uint64_t from, uint64_t cnt, char hex[SL_SHA256_HEX_CAP],
                       sl_error *err) {
    enum { PIECE = 1 << 16 };
    sl_sha256 sha;
    uint8_t *piece = malloc(PIECE);
    if (!piece)
        return sl_fail_no_memory(err, "a checksum");
    sl_sha256_init(&sha);
    uint64_t done = 0;
    while (done < cnt) {
        size_t want = cnt - done < PIECE ? (size_t)(cnt - done) : PIECE;
        ssize_t n = sl_sys_pread(fd, piece, want, from + done);
        if (n <= 0)
            break;
        sl_sha256_add(&sha, piece, (size_t)n);
        done += (uint64_t)n;
    }
    free(piece);
    if (done < cnt)
        return sl_fail(err, SL_E_READ, "expected %" PRIu64 " bytes, found %" PRIu64, cnt, done);
    sl_sha256_hex(&sha, hex);
    return SL_OK;
}
