/* SPDX-License-Identifier: MIT */
/* Finding recordings: in folders, or by asking /proc which processes of this user have one mapped. Only names are
 * looked at here; the caller opens them. One thread. */
#ifndef SL_AGENT_SCAN_H
#define SL_AGENT_SCAN_H

#include "base/core/status.h"
#include "base/core/vec.h"

typedef void (*sl_agent_found_fn)(void *self, const char *path);

/* Every recording in a folder and in the folders below it, three deep: a run folder, stormlog-runs, or a folder of
 * such. Links to folders ("latest") are not followed. A path that is a file is that file. SL_E_OPEN when the path is
 * not there. */
sl_status sl_agent_scan_folder(const char *path, sl_agent_found_fn found, void *self,
                               sl_error *err);

/* A process that had no recording when it was looked at. */
typedef struct sl_agent_idle {
    uint32_t pid;
    uint64_t start;  /* time of its start, so that a number used again is a new process */
    int64_t next_ms; /* it is looked at again then … */
    int64_t
        wait_ms; /* … and after twice this time: reading the mappings of a large process costs a millisecond */
    bool is_there;
} sl_agent_idle;

typedef struct sl_agent_scan {
    SL_VEC(sl_agent_idle) idle;
} sl_agent_scan;

/* Every recording that a process of this user has mapped. now_ms is of a clock that does not jump. Paths of another
 * mount namespace are given through /proc/PID/root. */
void sl_agent_scan_processes(sl_agent_scan *scan, const char *proc, int64_t now_ms,
                             sl_agent_found_fn found, void *self);
void sl_agent_scan_fini(sl_agent_scan *scan);

#endif
