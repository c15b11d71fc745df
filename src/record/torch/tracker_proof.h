/* SPDX-License-Identifier: MIT */
/* Whether it is safe to ask the allocator of this process's PyTorch for its own trace
 * (attachAllocatorTraceTracker); no C interface offers that. Nothing is guessed; all of these must
 * hold:
 *
 * (Q1) torch/version.py beside the library names a release of the table in tracker_proof.c. Its headers were read,
 *      and its library was run with the tracker.
 * (Q2) The symbol table of libc10_cuda's file, which is the file that was loaded, has the function that attaches
 *      and the one that makes the entries, with the argument types of that release: they are part of the names.
 * (Q3) The allocator in use is PyTorch's native one: its virtual table is the one of that class, by name.
 *
 * The function is then called by its address, never through an assumed position in a
 * virtual table. */
#ifndef SL_TRACKER_PROOF_H
#define SL_TRACKER_PROOF_H

#include "base/core/sl_base.h"

#define SL_TRACKER_TEXT_CAP 160

typedef struct sl_tracker_target {
    void *allocator; /* the C++ object */
    void (*attach)(void *allocator, void *std_function);
    bool has_pool;                  /* entries have the pool's id */
    char text[SL_TRACKER_TEXT_CAP]; /* "torch 2.11.0+cu130", or why not */
} sl_tracker_target;

/* Opens files: once per process, never while events are written. False with the reason in text. */
bool sl_tracker_prove(sl_tracker_target *out);

#endif
