/* SPDX-License-Identifier: MIT */
/* Who may read what we write, and who may redirect it. Recordings and bundles hold command lines
 * and source paths, so they are private unless their owner says otherwise. Nothing here touches
 * the umask: it belongs to the whole process, and these functions run inside the user's. */
#ifndef SL_FILE_RIGHTS_H
#define SL_FILE_RIGHTS_H

#include <sys/types.h>

#include "base/core/status.h"

/* The setting behind `stormlog run --share`: set and neither empty nor "0" = other users may read
 * recordings and bundles. */
#define SL_SHARE_ENV "STORMLOG_SHARE"

bool sl_share_is_on(void);
mode_t sl_share_file_mode(void);   /* 0600, shared 0644; the kernel applies the umask */
mode_t sl_share_folder_mode(void); /* 0700, shared 0755 */

/* Fails with SL_E_PERMISSION when a part of the path is in a folder that everybody may write
 * (such as /tmp) and belongs to somebody else: that user could point it anywhere. root and the
 * owner of the folder are trusted. Parts that do not exist are fine. */
sl_status sl_place_check(const char *path, sl_error *err);

/* Creates a file whose name ends with six characters that are replaced by random ones, so that
 * nobody can plant a link there. Never opens what exists; never returns descriptors 0 to 2. -1
 * with errno. */
int sl_temp_create(char *path, mode_t mode);

/* The same for a folder. */
int sl_temp_mkdir(char *path, mode_t mode);

/* Creates a file in a folder of ours: fails when anything of this name is there. */
int sl_file_create(int folder_fd, const char *name, mode_t mode);

#endif
