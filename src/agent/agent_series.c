/* SPDX-License-Identifier: MIT */
#include "agent/agent_series.h"

const sl_agent_series_row sl_agent_series_rows[SL_AGENT_SERIES_CNT] = {
#define ROW(id, name, kind, whose, type, help) {name, kind, SL_AGENT_OF_##whose, type, help},
    SL_AGENT_SERIES_MAP(ROW)
#undef ROW
};
