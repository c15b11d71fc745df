/* SPDX-License-Identifier: MIT */
/* The process that a recording is of: plain facts, as the recording has them. What it is to the other
 * processes of its run follows from several of them: run/process_tree.h. */
#ifndef SL_PROCESS_H
#define SL_PROCESS_H

#include "model/rank_identity.h"

/* enumerator, outside name, words. */
#define SL_PROCESS_END_MAP(X)                                     \
    X(UNKNOWN, "unknown", "may still be running")                 \
    X(RUNNING, "running", "still running")                        \
    X(EXITED, "exited", "exited")                                 \
    X(LEFT, "left", "exited by _exit")                            \
    X(REPLACED, "replaced", "replaced by another program (exec)") \
    X(KILLED, "killed", "ended without closing its recording")

typedef enum sl_process_end {
#define SL_PROCESS_END_ENUM(name, text, words) SL_PROCESS_END_##name,
    SL_PROCESS_END_MAP(SL_PROCESS_END_ENUM)
#undef SL_PROCESS_END_ENUM
        SL_PROCESS_END_LIMIT
} sl_process_end;

/* The note of a reader about such a recording. */
#define SL_NOTE_KILLED "the recorded process ended without closing its recording"

typedef struct sl_process {
    bool is_known; /* false: the input is not a recording, and the other members are meaningless */
    uint32_t pid;
    uint32_t parent_pid; /* 0 = not known */
    const char *host;    /* texts: in the arena of the trace, never NULL */
    const char *command; /* the command line */
    const char *job;     /* "" = none */
    sl_maybe_i32 rank, local_rank, world_size;
    int64_t start_us;         /* of the recording, since 1970 */
    sl_process_end end;       /* never REPLACED: that takes a second recording */
    sl_maybe_i32 exit_status; /* of LEFT and EXITED */
    bool is_loader_worker;    /* its stacks are those of a worker of torch's DataLoader */
} sl_process;

#endif
