/* SPDX-License-Identifier: MIT */
/* The question of `stormlog whatif` about loaded inputs, for the command and for Python alike. */
#ifndef SL_WHATIF_ANSWERS_H
#define SL_WHATIF_ANSWERS_H

#include "base/core/str.h"
#include "whatif/whatif.h"

typedef SL_VEC(sl_whatif *) sl_whatif_answers; /* owned */

/* One text of settings to try. SL_E_USAGE also for an allocator that cannot be replayed. */
sl_status sl_whatif_read_set(sl_str text, sl_alloc_settings *settings, sl_error *err);

/* SL_E_USAGE when a filter of the options matches no line of the run. */
sl_status sl_whatif_check_filters(const sl_run *run, const sl_whatif_options *options,
                                  sl_error *err);

/* Appends an answer for each card whose history the input has, or for this device only (NULL = all). */
sl_status sl_whatif_answer_input(const sl_run_input *input, const int *only,
                                 const sl_whatif_options *options, sl_whatif_answers *answers,
                                 sl_error *err);
/* The error of a caller that got none. */
sl_status sl_whatif_no_history(const sl_run_input *input, sl_error *err);

void sl_whatif_answers_fini(sl_whatif_answers *answers);

#endif
