/* SPDX-License-Identifier: MIT */
/* What a command works on when it is given no PATH: the run that was recorded last from this folder. */
#ifndef SL_LATEST_RUN_H
#define SL_LATEST_RUN_H

#include "base/core/options.h"

typedef struct sl_path_span {
    const char *const *at; /* borrowed */
    size_t cnt;
} sl_path_span;

/* The operands; without any the latest run, named on standard error. SL_E_USAGE when there is none. What it
 * hands out lives as long as the process. */
sl_status sl_latest_or_operands(const sl_opts *opts, sl_path_span *paths, sl_error *err);

#endif
