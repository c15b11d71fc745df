/* SPDX-License-Identifier: MIT */
/* The processes of a run as a tree, with the role of each. Pure: follows from the facts in the recordings
 * (model/process.h) and from the folder they are in.
 *
 * (P1) Recordings of one folder are one run. A parent and its child have the same host; of several recordings
 *      with the parent's number the newest that began before the child is meant.
 * (P2) A worker of torch's DataLoader is a worker, also where it has its parent's rank in its environment.
 * (P3) A process is a rank if it has one and no recorded process above it has the same one.
 * (P4) A process without a recorded parent is a main process, unless it went on as another program.
 * (P5) What is left is a child where it runs its parent's program (fork, multiprocessing), else a helper. */
#ifndef SL_PROCESS_TREE_H
#define SL_PROCESS_TREE_H

#include "model/trace.h"

/* enumerator, outside name, in words for one and for several. */
#define SL_PROCESS_ROLE_MAP(X)                                     \
    X(NONE, "none", "input", "inputs")                             \
    X(MAIN, "main", "main process", "main processes")              \
    X(RANK, "rank", "rank", "ranks")                               \
    X(WORKER, "worker", "DataLoader worker", "DataLoader workers") \
    X(CHILD, "child", "child process", "child processes")          \
    X(HELPER, "helper", "helper process", "helper processes")

typedef enum sl_process_role {
#define SL_PROCESS_ROLE_ENUM(name, text, one, many) SL_PROCESS_##name,
    SL_PROCESS_ROLE_MAP(SL_PROCESS_ROLE_ENUM)
#undef SL_PROCESS_ROLE_ENUM
        SL_PROCESS_ROLE_LIMIT
} sl_process_role;

/* Where a process is in the tree. */
typedef struct sl_process_place {
    sl_process_role role;
    uint32_t parent; /* number of the input that is its parent; SL_IDX_NONE = not recorded */
    uint32_t depth;  /* 0 = no recorded parent */
    sl_process_end end;
} sl_process_place;

/* Fills places[cnt], in the order of the traces. */
void sl_process_tree_find(const sl_trace *const *traces, size_t cnt, sl_process_place *places);

const char *sl_process_role_name(sl_process_role role);
const char *sl_process_role_words(sl_process_role role, size_t cnt);

const char *sl_process_end_name(sl_process_end end);
const char *sl_process_end_words(sl_process_end end);

/* "train.py" for `python3 -u train.py`, else the name of the program; "" without a command line. */
sl_str sl_process_name(const sl_process *process);

#define SL_PROCESS_LABEL_CAP 120
/* "rank 1", "DataLoader worker 4711", "main process 4710 (train.py)". Returns buf. */
const char *sl_process_label(char buf[SL_PROCESS_LABEL_CAP], const sl_trace *trace,
                             const sl_process_place *place);

/* Whether both are recordings of one folder (P1): then they share a clock. */
bool sl_process_is_same_run(const sl_trace *a, const sl_trace *b);

#endif
