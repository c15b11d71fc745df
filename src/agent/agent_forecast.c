/* SPDX-License-Identifier: MIT */
/* Time to out of memory, for the newest point of a recording. */
#include "agent/agent_impl.h"

void sl__agent_forecast(sl_agent *agent) {
    SL_UNUSED(agent);
}
