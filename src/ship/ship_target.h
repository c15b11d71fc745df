/* SPDX-License-Identifier: MIT */
/* Where recordings are shipped to and fetched from: a folder, or a bucket of an S3 server. A key is a
 * path below it, "run/name". To add a kind: a file with one sl_ship_target_ops, and a row in
 * ship_target.c. One thread. */
#ifndef SL_SHIP_TARGET_H
#define SL_SHIP_TARGET_H

#include "base/files/sha256.h"
#include "ship/ship_send.h"

#define SL_SHIP_KEY_CAP 512

typedef struct sl_ship_target sl_ship_target;

/* The texts are borrowed until close. */
typedef struct sl_ship_target_options {
    const char
        *endpoint; /* of the S3 server; NULL = AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, Amazon's */
    const char *ca_file;      /* NULL = the system's certificates */
    const char *state_folder; /* where interrupted uploads are noted; exists */
    sl_ship_patience patience;
} sl_ship_target_options;

/* A file to put. The sum is that of all its bytes. */
typedef struct sl_ship_file {
    const char *key;
    int fd;
    uint64_t bytes;
    const char *sha256;
} sl_ship_file;

typedef struct sl_ship_put {
    uint64_t sent_bytes;    /* now */
    uint64_t resumed_bytes; /* were there from an earlier attempt */
} sl_ship_put;

typedef sl_status (*sl_ship_name_fn)(void *self, const char *name, sl_error *err);

typedef struct sl_ship_target_ops {
    const char *scheme; /* "s3://"; NULL = a folder */
    sl_status (*open)(sl_ship_target *target, const char *where, sl_error *err);
    void (*close)(sl_ship_target *target);
    sl_status (*put_file)(sl_ship_target *target, const sl_ship_file *file, sl_ship_put *put,
                          sl_error *err);
    sl_status (*put_text)(sl_ship_target *target, const char *key, sl_str text, sl_error *err);
    sl_status (*get_file)(sl_ship_target *target, const char *key, int fd, uint64_t max,
                          sl_error *err);
    sl_status (*size)(sl_ship_target *target, const char *key, uint64_t *bytes, sl_error *err);
    sl_status (*list)(sl_ship_target *target, const char *folder, sl_ship_name_fn take, void *self,
                      sl_error *err);
} sl_ship_target_ops;

struct sl_ship_target {
    const sl_ship_target_ops *ops;
    sl_ship_target_options options;
    void *own; /* of the kind */
};

extern const sl_ship_target_ops sl_ship_folder_ops;
extern const sl_ship_target_ops sl_ship_s3_ops;

/* Whether a text names a target that is not a folder: "s3://…". */
bool sl_ship_is_remote(const char *where);

/* SL_E_USAGE for a place that cannot be one, SL_E_PERMISSION without keys. */
sl_status sl_ship_target_open(sl_ship_target **target, const char *where,
                              const sl_ship_target_options *options, sl_error *err);
void sl_ship_target_close(sl_ship_target *target); /* NULL is fine */

/* Puts the whole file or nothing; goes on where an interrupted call for the same bytes stopped. The
 * target checks the sum, or it is read back. */
sl_status sl_ship_put_file(sl_ship_target *target, const sl_ship_file *file, sl_ship_put *put,
                           sl_error *err);
sl_status sl_ship_put_text(sl_ship_target *target, const char *key, sl_str text, sl_error *err);

/* SL_E_OPEN when it is not there, SL_E_LIMIT beyond max. *text is the caller's, terminated. */
sl_status sl_ship_get_text(sl_ship_target *target, const char *key, size_t max, char **text,
                           size_t *len, sl_error *err);
/* Into the open file. SL_E_OPEN, SL_E_LIMIT as above. */
sl_status sl_ship_get_file(sl_ship_target *target, const char *key, int fd, uint64_t max,
                           sl_error *err);
/* SL_E_OPEN when it is not there. */
sl_status sl_ship_size(sl_ship_target *target, const char *key, uint64_t *bytes, sl_error *err);
/* The names directly in a folder, in any order; none where it is not there. */
sl_status sl_ship_list(sl_ship_target *target, const char *folder, sl_ship_name_fn take, void *self,
                       sl_error *err);

/* The sum of the bytes [from, from + cnt) of a file. SL_E_READ, also where it is shorter. */
sl_status sl_ship_hash(int fd, uint64_t from, uint64_t cnt, char hex[SL_SHA256_HEX_CAP],
                       sl_error *err);

#endif
