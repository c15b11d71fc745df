/* SPDX-License-Identifier: MIT */
/* The memory of another process and of everything it started, from /proc. One thread at a time. */
#ifndef SL_PROC_TREE_H
#define SL_PROC_TREE_H

#include "base/core/sl_base.h"

/* Processes of one tree that are read; more are skipped and counted. */
#define SL_PROC_TREE_MAX 1024

typedef struct sl_proc_tree {
    bool is_alive;      /* the first process exists and is not a zombie */
    uint64_t rss_bytes; /* sum of the resident sets; pages shared between them count each time */
    uint64_t vms_bytes;
    int pids[SL_PROC_TREE_MAX]; /* the first one, then its descendants */
    size_t cnt;
    bool is_cut;
} sl_proc_tree;

void sl_proc_tree_read(int pid, sl_proc_tree *tree);

/* The machine's memory, or the limit of this process's control group where that is lower. */
sl_maybe_u64 sl_host_limit_bytes(void);

/* How often the kernel killed a process of this control group for memory; unknown without cgroup 2. */
sl_maybe_u64 sl_cgroup_oom_kills(void);

#endif
