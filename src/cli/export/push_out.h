/* SPDX-License-Identifier: MIT */
/* `stormlog export --to pprof --push URL`: profiles to Pyroscope instead of files. */
#ifndef SL_PUSH_OUT_H
#define SL_PUSH_OUT_H

#include "cli/core/latest_run.h"
#include "export/formats/exporter.h"

/* Prints how many profiles of each recording were sent. A failure ends it: the server would get the
 * others later as well as now. */
sl_status sl_push_out(const sl_opts *opts, const sl_exporter *exporter, sl_path_span paths,
                      sl_error *err);

#endif
