/* SPDX-License-Identifier: MIT */
/* "s3://…" in the place of a PATH: the run is fetched into the cache, and the command gets that folder. */
#ifndef SL_REMOTE_OPERANDS_H
#define SL_REMOTE_OPERANDS_H

#include "base/core/options.h"

/* Replaces such operands; the new texts live as long as the process. */
sl_status sl_remote_operands(sl_opts *opts, sl_error *err);

#endif
