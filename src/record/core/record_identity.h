/* SPDX-License-Identifier: MIT */
/* Who this process is among the others of its job: the variables launchers set. */
#ifndef SL_RECORD_IDENTITY_H
#define SL_RECORD_IDENTITY_H

#include "base/core/sl_base.h"

typedef struct sl_record_identity {
    const char *job;                      /* borrowed from the environment; NULL = not known */
    int32_t rank, local_rank, world_size; /* -1 = not known */
} sl_record_identity;

/* Reads the environment; call it in a thread of the program, not in the recorder's own, because
 * the environment has no lock. */
sl_record_identity sl_record_identity_find(void);

#endif
