/* SPDX-License-Identifier: MIT */
/* `stormlog whatif --batch`: what another batch size would need. */
#ifndef SL_WHATIF_BATCH_H
#define SL_WHATIF_BATCH_H

#include "base/core/options.h"
#include "whatif/alloc/alloc_settings.h"

bool sl_whatif_batch_is_asked(const sl_opts *opts);

/* The exit code. The settings are those of --set; none: as recorded. */
int sl_whatif_batch_run(const sl_opts *opts, const sl_alloc_settings *settings, size_t setting_cnt,
                        sl_error *err);

#endif
