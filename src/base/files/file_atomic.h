/* SPDX-License-Identifier: MIT */
/* Output files that are written atomically: under another name in the same folder, synced, then
 * renamed. NULL or "-" is standard output; a device or a pipe is written in place.
 *
 * A symbolic link to a file is followed and survives, as with a shell's ">". One that another user
 * planted in a folder such as /tmp is refused, whatever the kernel's own setting
 * (fs.protected_symlinks): see sl_place_check. */
#ifndef SL_FILE_ATOMIC_H
#define SL_FILE_ATOMIC_H

#include <stdio.h>

#include "base/core/status.h"

typedef struct sl_file_out {
    FILE *stream;    /* owned unless it is stdout */
    char *path;      /* owned; NULL for stdout */
    char *temp_path; /* owned; NULL when there is nothing to rename */
} sl_file_out;

sl_status sl_file_out_open(sl_file_out *out, const char *path, sl_error *err);

/* Makes the file appear. `out` is empty afterwards, whatever the result; after a failure the old
 * file is unchanged. */
sl_status sl_file_out_commit(sl_file_out *out, sl_error *err);

/* Either of the two, by the result of what wrote to the stream. A writer knows only its stream, so its
 * failure is reported again with the name of the file. */
sl_status sl_file_out_end(sl_file_out *out, sl_status written, sl_error *err);

/* Forgets everything that was written. Fine on an empty `out`. */
void sl_file_out_abandon(sl_file_out *out);

#endif
