/* SPDX-License-Identifier: MIT */
/* The folder of a run: its name, the `latest` shortcut next to it, and its removal when nothing was
 * recorded. */
#ifndef SL_RUN_FOLDER_H
#define SL_RUN_FOLDER_H

#include <time.h>

#include "base/core/status.h"

#define SL_RUNS_FOLDER  "stormlog-runs"
#define SL_RUNS_ENV     "STORMLOG_RUNS" /* another one, as a scheduler sets it for its jobs */
#define SL_LATEST_NAME  "latest"        /* the newest run of such a folder */
/* Longer paths are refused; the recorder keeps as much. */
#define SL_RUN_PATH_CAP 3072

typedef struct sl_run_folder {
    char path[SL_RUN_PATH_CAP];          /* as shown to the user */
    char full_path[SL_RUN_PATH_CAP];     /* absolute, for processes that change their folder */
    char latest_before[SL_RUN_PATH_CAP]; /* what `latest` pointed to; "" = it was not there */
    bool is_default;                     /* directly in SL_RUNS_FOLDER; has a `latest` */
    bool is_made;                        /* did not exist before */
    size_t recording_cnt_before;
    time_t started;
    char own_start[24]; /* how names of own recordings begin: "rank3-" under a launcher; "" = any */
    char claim[48];     /* file that says that this rank is here; "" = none */
    int lock_fd; /* of the folder, locked while the command runs; -1 = the disk has no locks */
} sl_run_folder;

/* Makes the folder and locks it (shared), so that `stormlog runs` knows it is in use before the first
 * recording is. For its owner only unless STORMLOG_SHARE is set. `wanted` is the user's choice
 * or NULL for stormlog-runs/<UTC time>-<name>; STORMLOG_RUNS names another folder than stormlog-runs,
 * without a `latest`, because many users and jobs share it. Under a launcher all ranks of one start share
 * stormlog-runs/<key of the start>-<name>; a second start with the same key gets ".1" after it.
 * `is_launcher`: the command starts the ranks (sl_launcher_is_command), and all recordings are own.
 * SL_E_PERMISSION for a place that another user prepared in a folder such as /tmp. */
sl_status sl_run_folder_open(sl_run_folder *folder, const char *wanted, const char *name,
                             bool is_launcher, sl_error *err);

/* What a user means by `path`: "latest" is stormlog-runs/latest, unless something here is called so. */
const char *sl_latest_path(const char *path);

/* Recordings that this run added: under a launcher, those of this rank. */
size_t sl_run_folder_count_new(const sl_run_folder *folder);

/* Whether this file is a recording of this run, by its name and time. */
bool sl_run_folder_is_new(const sl_run_folder *folder, const char *path);

/* Whether a recording could begin in the folder now; the reason when not: it was removed, the disk
 * is full, it may not be written. Not under a limit for files: going beyond it is a signal. */
sl_status sl_run_folder_try(const sl_run_folder *folder, sl_error *err);

/* Removes what open made, if nothing was recorded there. */
void sl_run_folder_discard(const sl_run_folder *folder);

/* "train" for `python train.py`, else the command's own name; into buf. */
void sl_run_folder_name(char buf[64], int argc, const char *const *argv);

#endif
