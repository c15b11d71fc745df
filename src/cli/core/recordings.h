/* SPDX-License-Identifier: MIT */
/* What a path of the command line stands for: a file or a bundle by itself, a run folder with one
 * recording for each process, or a folder of other inputs. */
#ifndef SL_RECORDINGS_H
#define SL_RECORDINGS_H

#include "base/core/status.h"
#include "base/core/vec.h"

/* Files of a folder that are no input, for one line: "a.txt, b.txt and 3 more". */
typedef struct sl_left_out {
    char text[200];
    size_t used, more_cnt;
} sl_left_out;

void sl_left_out_add(sl_left_out *names, const char *name);
/* On standard error; nothing where nothing was left out. */
void sl_left_out_say(const sl_left_out *names, const char *folder);

typedef struct sl_recordings {
    SL_VEC(char *) paths; /* owned texts, by name */
    sl_left_out left_out; /* the caller's to say */
    bool is_folder;       /* the path was a folder that holds them */
} sl_recordings;

typedef enum sl_find_what {
    SL_FIND_RECORDINGS, /* of a folder its *.slog alone, also compressed (*.slog.zst, .xz, .gz, unless the
                           plain file is there, too) */
    SL_FIND_INPUTS, /* where it has none, every bundle and every file that a reader knows */
} sl_find_what;

/* The path itself, or the inputs of a folder by name. Files of a folder without recordings are known by
 * their first bytes; those that are not are in left_out. SL_E_OPEN for a folder
 * without any input. */
sl_status sl_recordings_find(sl_recordings *list, const char *path, sl_find_what what,
                             sl_error *err);
void sl_recordings_fini(sl_recordings *list);

/* For what takes one: SL_E_USAGE with their names when there are several. */
sl_status sl_recordings_one(const sl_recordings *list, const char *path, const char **one,
                            sl_error *err);

/* True for "python3-4711.slog" and "python3-4711.slog.zst". */
bool sl_recordings_is_name(const char *name);

/* The same, and it is a regular file (or a link to one). A scan of a folder asks this. */
bool sl_recordings_is_file(int folder_fd, const char *name);

#endif
