/* SPDX-License-Identifier: MIT */
/* The options of `stormlog export` for one input: its device, window and moment. */
#ifndef SL_EXPORT_INPUT_H
#define SL_EXPORT_INPUT_H

#include "base/core/options.h"
#include "export/formats/exporter.h"

/* SL_E_USAGE for a device or a moment that the input does not have. */
sl_status sl_export_prepare(const sl_opts *opts, const sl_run_input *input,
                            sl_export_options *options, sl_error *err);

#endif
