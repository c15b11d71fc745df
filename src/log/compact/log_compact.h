/* SPDX-License-Identifier: MIT */
/* Makes a finished recording small: packed (log_pack.h), compressed where this build has zstd, in
 * the place of the old file.
 *
 * (C1) The new file is written beside the old one under a name that is not a recording's
 *      (<name>.tmp-XXXXXX), read back and compared with its source byte by byte, synced, and only
 *      then renamed. Whatever ends that early leaves the old file as it was.
 * (C2) A file that is being written is left alone: its writer's lock is asked for first and kept
 *      away until the end. If that is unknown, only a file that its writer closed is touched.
 * (C3) Permissions, owner and time of the file stay.
 *
 * Not for the target process. One thread per file. */
#ifndef SL_LOG_COMPACT_H
#define SL_LOG_COMPACT_H

#include "base/core/progress_fn.h"
#include "base/core/status.h"

typedef enum sl_compact_outcome {
    SL_COMPACT_DONE,
    SL_COMPACT_ALREADY, /* compressed, or not smaller afterwards */
    SL_COMPACT_LIVE,    /* still being written */
} sl_compact_outcome;

typedef struct sl_compact_options {
    bool is_plain;            /* packs and does not compress */
    const sl_stop_flag *stop; /* set from outside: give up (SL_E_SYSTEM); may be NULL */
} sl_compact_options;

typedef struct sl_compact_result {
    sl_compact_outcome outcome;
    uint64_t bytes_before, bytes_after; /* of the file, as `ls -l` shows them */
} sl_compact_result;

/* The compact form into a new file `to`; the recording stays as it is. Without SL_COMPACT_DONE there is no
 * new file. err does not name the path. */
sl_status sl_log_compact_to(const char *path, const char *to, const sl_compact_options *options,
                            sl_compact_result *result, sl_error *err);

/* err does not name the path. */
sl_status sl_log_compact(const char *path, const sl_compact_options *options,
                         sl_compact_result *result, sl_error *err);

#endif
