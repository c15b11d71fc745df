/* SPDX-License-Identifier: MIT */
/* The keys for an S3 endpoint, from where the other tools take them: AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile AWS_PROFILE ("default") of the file
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). They are in no message and are wiped by fini. */
#ifndef SL_S3_CREDENTIALS_H
#define SL_S3_CREDENTIALS_H

#include "base/core/status.h"

#define SL_S3_KEY_CAP   512
#define SL_S3_TOKEN_CAP 4096

typedef struct sl_s3_credentials {
    char keys[SL_S3_KEY_CAP];    /* "access:secret" */
    char token[SL_S3_TOKEN_CAP]; /* "" = none */
} sl_s3_credentials;

/* SL_E_PERMISSION when there are none, with where they were looked for. */
sl_status sl_s3_credentials_find(sl_s3_credentials *out, sl_error *err);
void sl_s3_credentials_fini(sl_s3_credentials *credentials);

/* AWS_REGION, AWS_DEFAULT_REGION, else "us-east-1". */
const char *sl_s3_region(void);

#endif
