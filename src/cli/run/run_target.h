/* SPDX-License-Identifier: MIT */
/* The command `stormlog run` starts: where it is, and whether a library can be preloaded into it. */
#ifndef SL_RUN_TARGET_H
#define SL_RUN_TARGET_H

#include "api/run_folder.h"
#include "base/core/status.h"

typedef enum sl_target_fit {
    SL_TARGET_OK,
    SL_TARGET_SETUID,    /* the loader ignores LD_PRELOAD there */
    SL_TARGET_OTHER_ELF, /* 32 bit, or another processor */
    SL_TARGET_STATIC,    /* no loader at all */
} sl_target_fit;

typedef struct sl_target {
    char path[SL_RUN_PATH_CAP];   /* what would be executed */
    char binary[SL_RUN_PATH_CAP]; /* the same, or the interpreter its first line names */
    sl_target_fit fit;
} sl_target;

/* Looks the command up as execvp would. SL_E_OPEN when there is none, SL_E_PERMISSION when it is
 * not executable. */
sl_status sl_target_find(sl_target *target, const char *command, sl_error *err);

/* Whether programs that it starts can be recorded. Many launchers are linked statically (dumb-init, tini, gosu, py-spy) and hand
 * their environment on; a loader that ignores LD_PRELOAD also removes it, or complains about it. */
bool sl_target_passes_on(sl_target_fit fit);

/* One sentence for a target that cannot be recorded; NULL for SL_TARGET_OK. */
const char *sl_target_fit_text(sl_target_fit fit);

/* libstormlog_record.so beside this program (build folder) or in ../lib (installed). */
sl_status sl_target_find_library(char path[SL_RUN_PATH_CAP], sl_error *err);

#endif
