/* SPDX-License-Identifier: MIT */
/* Requests to one bucket of an S3 server, signed by libcurl (AWS Signature Version 4). Addresses are
 * ENDPOINT/BUCKET/KEY, which every server understands. Internal to src/ship. */
#ifndef SL_S3_REQUEST_H
#define SL_S3_REQUEST_H

#include "ship/s3_credentials.h"
#include "ship/ship_target.h"

#define SL_S3_URL_CAP 3072

typedef struct sl_s3 {
    sl_http *http;
    sl_s3_credentials credentials;
    char endpoint[256], bucket[64], prefix[SL_SHIP_KEY_CAP]; /* prefix: "" or ending in '/' */
    char signing[96];                                        /* "aws:amz:REGION:s3" */
    char token_header[SL_S3_TOKEN_CAP + 32];
    sl_ship_patience patience;
    const char *state_folder; /* borrowed */
} sl_s3;

/* One request. `query` is sorted and encoded, or NULL. */
typedef struct sl_s3_call {
    const char *method;
    const char *key; /* below the prefix; NULL = the bucket itself */
    const char *query;
    sl_str body;
    const sl_ship_file *file; /* instead of body: these bytes of it */
    uint64_t offset, bytes;
    bool to_file; /* the answer's body goes to fd, at most max bytes of it */
    int fd;
    uint64_t max;
} sl_s3_call;

/* SL_OK for a 2xx answer; SL_E_OPEN for 404, else as sl_ship_send. The response is the caller's in either
 * case. */
sl_status sl_s3_send(sl_s3 *s3, const sl_s3_call *call, sl_http_response *response, sl_error *err);

/* A large file in parts, noted in the state folder as they arrive (s3_upload.c). */
sl_status sl_s3_upload(sl_s3 *s3, const sl_ship_file *file, sl_ship_put *put, sl_error *err);

/* Files beyond this are sent in parts. */
#define SL_S3_WHOLE_MAX ((uint64_t)16 << 20)

#endif
