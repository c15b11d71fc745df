/* SPDX-License-Identifier: MIT */
/* The segments and blocks a device ends with: the input's own where it has them, otherwise built
 * from the replay. Without any knowledge of segments every live block is in one of its own,
 * which keeps addresses and bytes right and claims nothing about free memory. */
#ifndef SL_END_STATE_H
#define SL_END_STATE_H

#include "run/run.h"

typedef struct sl_end_state {
    SL_VEC(sl_segment) segments; /* owned; ascending addresses */
    SL_VEC(sl_block) blocks;     /* owned; grouped by segment */
} sl_end_state;

sl_status sl_end_state_load(sl_end_state *state, const sl_run_device *of, sl_error *err);
void sl_end_state_fini(sl_end_state *state);

#endif
