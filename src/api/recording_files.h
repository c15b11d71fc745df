/* SPDX-License-Identifier: MIT */
/* What a path means: a single file or bundle, a run folder with one recording per process, or a
 * folder of other inputs. Used by the command line and by Python. */
#ifndef SL_RECORDING_FILES_H
#define SL_RECORDING_FILES_H

#include "api/recording_names.h"
#include "base/core/status.h"
#include "base/core/vec.h"

/* Files of a folder that are not inputs, for one line: "a.txt, b.txt and 3 more". */
typedef struct sl_left_out {
    char text[200];
    size_t used, more_cnt;
} sl_left_out;

void sl_left_out_add(sl_left_out *names, const char *name);

typedef struct sl_recordings {
    SL_VEC(char *) paths;     /* owned texts, by name */
    SL_VEC(char *) irregular; /* owned; pipes, devices and folders that are named like one */
    sl_left_out left_out;     /* the caller's to say, like these */
    bool is_folder;           /* the path was a folder that holds them */
} sl_recordings;

typedef enum sl_find_what {
    SL_FIND_RECORDINGS, /* of a folder its *.slog alone, also compressed (*.slog.zst, .xz, .gz, unless the
                           plain file is there, too) */
    SL_FIND_INPUTS, /* where it has none, every bundle and every file that a reader knows */
} sl_find_what;

/* The path itself, or the inputs of a folder by name. Files of a folder without recordings are known by
 * their first bytes; those that are not are in left_out. SL_E_OPEN for a folder
 * without any input; fini also after a failure. */
sl_status sl_recordings_list(sl_recordings *list, const char *path, sl_find_what what,
                             sl_error *err);
void sl_recordings_fini(sl_recordings *list);

/* For what takes one: SL_E_USAGE with their names when there are several. */
sl_status sl_recordings_one(const sl_recordings *list, const char *path, const char **one,
                            sl_error *err);

#endif
