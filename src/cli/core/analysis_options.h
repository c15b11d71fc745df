/* SPDX-License-Identifier: MIT */
/* From the shared options of the command line to the options of the analyses. */
#ifndef SL_ANALYSIS_OPTIONS_H
#define SL_ANALYSIS_OPTIONS_H

#include "analyze/analysis.h"
#include "base/core/options.h"
#include "cli/core/inputs.h"
#include "export/report/report_words.h"

/* Of a command with device, since, until, top, filter, group-by and capacity. */
sl_status sl_cli_analysis_options(const sl_opts *opts, const sl_inputs *inputs,
                                  sl_analysis_options *options, sl_error *err);

/* sl_analyze over all inputs. A device that no input has is a mistake of the command line here. */
sl_status sl_cli_analyze(const sl_run *run, const sl_analysis_options *options, sl_report **out,
                         sl_error *err);

/* The group-by option of a command that has it. */
sl_group_by sl_cli_group_by(const sl_opts *opts);

/* The same for the words of a list. */
sl_words_scope sl_cli_scope(const sl_opts *opts);

/* Both in one: the report of the inputs as the command line wants it. The caller frees it. */
sl_status sl_cli_report(const sl_opts *opts, const sl_inputs *inputs, sl_report **report,
                        sl_error *err);

#endif
