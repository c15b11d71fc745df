/* SPDX-License-Identifier: MIT */
/* Folders that are written atomically: their files are written and synced in a temporary folder,
 * which is then renamed. Readable by their owner only, unless STORMLOG_SHARE is set
 * (base/files/file_rights.h). */
#ifndef SL_BUNDLE_FOLDER_H
#define SL_BUNDLE_FOLDER_H

#include <stdio.h>

#include "base/core/status.h"

#define SL_BUNDLE_PATH_CAP 1024

/* Suffix of a folder that is being written: the writer's process number, then random characters. */
#define SL_BUNDLE_TEMP ".tmp-%d-"

typedef struct sl_bundle_folder {
    char path[SL_BUNDLE_PATH_CAP]; /* where it will be */
    char temp[SL_BUNDLE_PATH_CAP]; /* where it is written */
    int fd;                        /* of the latter */
    bool is_open;
} sl_bundle_folder;

/* Begins the folder `parent`/`name`; parents are made. SL_E_OPEN when something of this name is
 * there already. */
sl_status sl_bundle_open(sl_bundle_folder *folder, const char *parent, const char *name,
                         sl_error *err);

/* A file of the folder, for writing. NULL with err set. */
FILE *sl_bundle_file(sl_bundle_folder *folder, const char *name, sl_error *err);

/* Syncs and closes it. */
sl_status sl_bundle_close_file(FILE *file, const char *name, sl_error *err);

/* Makes the folder appear. */
sl_status sl_bundle_commit(sl_bundle_folder *folder, sl_error *err);

/* Removes what was written. Fine on a folder that is not open. */
void sl_bundle_abandon(sl_bundle_folder *folder);

/* Makes a folder and those above it. */
sl_status sl_make_folders(const char *path, sl_error *err);

/* Makes the folders above a file. */
sl_status sl_make_parents(const char *path, sl_error *err);

/* Removes a folder and the files in it, but no subfolders. */
void sl_remove_folder(const char *path);

#endif
