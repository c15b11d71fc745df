/* SPDX-License-Identifier: MIT */
/* Who a process is among many: job, rank, local rank, world size; from what the caller says, from a
 * record's metadata, from the launcher's environment, in this order. No I/O of its own. */
#ifndef SL_RANK_IDENTITY_H
#define SL_RANK_IDENTITY_H

#include "base/core/status.h"
#include "model/job/launcher.h"

typedef struct sl_maybe_i32 {
    int32_t value;
    bool known;
} sl_maybe_i32;

/* What one origin says; zero-initialised is nothing. */
typedef struct sl_identity_claim {
    const char *job_id; /* borrowed; NULL = not said */
    sl_maybe_i32 rank, local_rank, world_size;
} sl_identity_claim;

typedef struct sl_identity {
    char job_id[128]; /* "" = none */
    int32_t rank, local_rank, world_size;
} sl_identity;

/* Either claim may be NULL; env may be NULL (no environment). SL_E_USAGE names the rule that is
 * broken: ranks below the world size, no negative numbers, integers in the environment. */
sl_status sl_identity_resolve(const sl_identity_claim *explicit_claim,
                              const sl_identity_claim *metadata, sl_env_fn env, sl_identity *out,
                              sl_error *err);

#endif
