/* SPDX-License-Identifier: MIT */
/* Advice about allocator settings: only what replays of the trace proved
 * (whatif/facts/whatif_fact.h), with its numbers; else that no setting helps, or why that could not
 * be proven. Internal to src/analyze.
 *
 * The replays are of the whole trace, whatever the window. */
#ifndef SL_SETTING_ADVICE_H
#define SL_SETTING_ADVICE_H

#include "analyze/an_context.h"

/* Appends the sentence to `before` ("" or whole sentences) as the finding's advice, and fills its
 * trial. A device without settings of its own gets `before` alone. False when memory ran out. */
bool sl_an_advise_setting(sl_an *an, sl_finding *finding, const char *before);

/* The same about the retries of the trace instead of its reserved peak. */
bool sl_an_advise_retries(sl_an *an, sl_finding *finding, const char *before);

#endif
