/* SPDX-License-Identifier: MIT */
/* Which input of one run is which of another, for comparisons. Pure; keys are copies. */
#ifndef SL_INPUT_PAIRS_H
#define SL_INPUT_PAIRS_H

#include "run/run.h"

#define SL_INPUT_KEY_CAP 100

/* By what an input of one run is found in another: its rank, its script, the name of its file.
 * Returns key. */
const char *sl_input_key(char key[SL_INPUT_KEY_CAP], const sl_run_input *input);

/* The input with this key, NULL when there is none; of a rank that was started again the newest.
 * SL_E_USAGE when several match; `name` is what the user calls these inputs. */
sl_status sl_input_find(const sl_run_input *inputs, size_t cnt, const char *name, const char *key,
                        const sl_run_input **found, sl_error *err);

#endif
