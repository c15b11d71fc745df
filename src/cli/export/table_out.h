/* SPDX-License-Identifier: MIT */
/* `stormlog export --to jsonl|csv`: one table of all recordings of one or more runs. One recording is in
 * memory at a time, so the number of ranks does not matter. */
#ifndef SL_TABLE_OUT_H
#define SL_TABLE_OUT_H

#include "cli/core/latest_run.h"
#include "export/formats/exporter.h"

/* A recording of a folder that cannot be read is reported and skipped; if none can, its error is
 * returned. The output appears when it is complete. */
sl_status sl_table_out_write(const sl_opts *opts, const sl_exporter *exporter, sl_path_span paths,
                             sl_error *err);

#endif
