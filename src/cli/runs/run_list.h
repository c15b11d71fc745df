/* SPDX-License-Identifier: MIT */
/* The runs of a folder (stormlog-runs), and what is known about each without analyzing it: from the
 * header of each recording. A run is a folder with recordings, or one with the name `stormlog run`
 * gives. */
#ifndef SL_RUN_LIST_H
#define SL_RUN_LIST_H

#include "base/core/status.h"
#include "base/core/vec.h"
#include "cli/run/run_target.h"

/* enumerator, outside name. */
#define SL_RUN_STATE_MAP(X)                                                               \
    X(FINISHED, "finished")                                                               \
    X(RUNNING, "running") /* a process writes it, or `stormlog run` still waits */        \
    X(UNCLEAR, "unclear") /* not closed, and it is unknown whether it is being written */ \
    X(EMPTY, "empty")     /* nothing was recorded, or nothing yet */                      \
    X(BROKEN, "broken")   /* no recording of it can be read */

typedef enum sl_run_state {
#define SL_RUN_STATE_ENUM(name, text) SL_RUN_##name,
    SL_RUN_STATE_MAP(SL_RUN_STATE_ENUM)
#undef SL_RUN_STATE_ENUM
} sl_run_state;

const char *sl_run_state_name(sl_run_state state);

typedef struct sl_run_row {
    char path[SL_RUN_PATH_CAP]; /* as the user would name it */
    const char *name;           /* the last part of path */
    sl_run_state state;
    bool has_our_name; /* <UTC time>-<name>, as `stormlog run` makes it */
    uint64_t bytes;    /* on disk */
    int64_t start_s; /* since 1970: of the first recording; else by the name, else of the folder */
    size_t recording_cnt, unreadable_cnt;
    char command[400];               /* of the first process; "" = not known */
    char problem[SL_ERROR_TEXT_CAP]; /* why the first unreadable recording is so; "" = none is */
    char foreign[80];                /* something in it that stormlog did not make; "" = nothing */
} sl_run_row;

typedef struct sl_run_list {
    SL_VEC(sl_run_row *) rows; /* owned; newest first */
    size_t others_cnt;         /* runs of other users, which are left out */
    uint64_t bytes;
} sl_run_list;

/* All runs in the folder. SL_E_OPEN when it cannot be read; one that cannot be is a row. Links are
 * not followed: `latest` is not a run of its own. */
sl_status sl_run_list_read(sl_run_list *list, const char *folder, sl_error *err);
void sl_run_list_fini(sl_run_list *list);

#endif
