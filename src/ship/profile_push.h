/* SPDX-License-Identifier: MIT */
/* A pprof profile sent to Pyroscope's /ingest. The labels of a series are in the request, so one profile
 * belongs to one process and one device. One thread. */
#ifndef SL_PROFILE_PUSH_H
#define SL_PROFILE_PUSH_H

#include "ship/ship_send.h"

#define SL_PROFILE_NAME_CAP 2048

/* "train{job=7,rank=3}": the name of a series while it is put together. */
typedef struct sl_profile_name {
    char text[SL_PROFILE_NAME_CAP];
    size_t used;
    bool has_labels, is_full;
} sl_profile_name;

/* Characters that the name cannot have become '_'. */
void sl_profile_name_begin(sl_profile_name *name, const char *service);
/* A label without a value is left out. */
void sl_profile_name_label(sl_profile_name *name, const char *key, sl_str value);
void sl_profile_name_end(sl_profile_name *name);

/* Whether a label of the user can be used: letters, digits, '_' and '.'. */
bool sl_profile_key_is_good(sl_str key);

typedef struct sl_profile {
    const sl_profile_name *name;
    int64_t from_us, until_us; /* since 1970 */
    sl_str bytes;              /* profile.proto, compressed or not */
} sl_profile;

/* `url` is that of the server, with or without a path before /ingest. Errors as sl_ship_send. */
sl_status sl_profile_push(sl_http *http, const char *url, const sl_profile *profile,
                          const sl_ship_patience *patience, sl_error *err);

#endif
