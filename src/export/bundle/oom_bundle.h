/* SPDX-License-Identifier: MIT */
/* The OOM bundle: what was known when memory ran out, in the layout of the Python tool (events,
 * metadata, environment, manifest). The folder appears complete or not at all. Old bundles are
 * removed afterwards; the newest one never is. */
#ifndef SL_OOM_BUNDLE_H
#define SL_OOM_BUNDLE_H

#include "export/bundle/bundle_folder.h"
#include "telemetry/telemetry.h"

/* A file beside the four that every bundle has; written before the manifest, which lists it. */
typedef struct sl_bundle_part {
    const char *name; /* of the file */
    sl_status (*write)(const void *self, FILE *to, sl_error *err);
    const void *self; /* borrowed */
} sl_bundle_part;

#define SL_BUNDLE_NAME_CAP 256 /* a file name's own limit */

typedef struct sl_oom_bundle {
    const char *dump_dir;
    const char
        *name; /* of the folder; NULL = by time, process and backend, the first that is free */
    const char *backend;
    const char *reason;
    const char *exception_type, *exception_module, *exception_message; /* NULL = null */
    const char *context;                                               /* NULL = null */
    const char *custom_metadata_json;                                  /* an object; NULL = {} */
    const char *system_json;                                           /* an object; NULL = {} */
    const char *cwd;             /* of the process; NULL = that of this one */
    const sl_bundle_part *parts; /* borrowed */
    size_t part_cnt;
    int64_t time_s; /* epoch; for the name and the manifest */
    int pid;
    int64_t max_dumps;    /* <= 0: no limit */
    int64_t max_total_mb; /* <= 0: no limit */
} sl_oom_bundle;

/* Writes the bundle; its path goes into path. `records` oldest first. SL_E_OPEN when a bundle of the
 * given name is there already. */
sl_status sl_oom_bundle_write(const sl_oom_bundle *bundle, const sl_telemetry *set,
                              const sl_tm_record *const *records, size_t cnt,
                              char path[SL_BUNDLE_PATH_CAP], sl_error *err);

/* Applies the limits to a folder of bundles; `newest` (a name) is kept in any case. Returns how
 * many were removed. */
size_t sl_oom_bundle_retain(const char *dump_dir, int64_t max_dumps, int64_t max_total_mb,
                            const char *newest);

#endif
