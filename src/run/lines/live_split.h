/* SPDX-License-Identifier: MIT */
/* What is live at an instant, by what it is for and by the phase it was made in. */
#ifndef SL_LIVE_SPLIT_H
#define SL_LIVE_SPLIT_H

#include "run/lines/sites.h"
#include "run/lines/split.h"

/* The blocks that are live after the event, of the sites that pass the filter (all when `sites` is
 * NULL). By tag: known where the input has tags. By phase: known where it has stacks; phases are read
 * off them, so snapshots have them too. False when memory ran out. */
bool sl_live_split_by_tag(const sl_replay *replay, const sl_sites *sites, uint32_t event,
                          sl_split *out);
bool sl_live_split_by_phase(const sl_replay *replay, const sl_sites *sites, uint32_t event,
                            sl_split *out);

#endif
