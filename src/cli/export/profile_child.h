/* SPDX-License-Identifier: MIT */
/* `stormlog agent --profiles`: profiles are made by a process of its own, this program's `export --push`, so
 * that the memory of a whole recording is not the agent's. */
#ifndef SL_PROFILE_CHILD_H
#define SL_PROFILE_CHILD_H

#include "agent/agent.h"
#include "base/core/options.h"
#include "base/core/progress_fn.h"

/* Exit code of an export for a time without events. */
#define SL_PROFILE_CHILD_NOTHING 2

/* Runs it at low priority and waits, with the agent's options profiles, profile-every, label, token-file and
 * ca-file. Its exit code; -1 when it could not be started or was ended because *stop was set. */
int sl_profile_child_run(const sl_opts *opts, const sl_agent_profile_part *part,
                         const sl_stop_flag *stop);

#endif
