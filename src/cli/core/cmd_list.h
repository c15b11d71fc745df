/* SPDX-License-Identifier: MIT */
/* The rows that cmd_<name>.c define; only cmd_table.c and tests need them by name. */
#ifndef SL_CMD_LIST_H
#define SL_CMD_LIST_H

#include "cli/core/cmd.h"

extern const sl_cmd sl_cmd_agent;
extern const sl_cmd sl_cmd_analyze;
extern const sl_cmd sl_cmd_cat;
extern const sl_cmd sl_cmd_check;
extern const sl_cmd sl_cmd_compact;
extern const sl_cmd sl_cmd_completion;
extern const sl_cmd sl_cmd_diagnose;
extern const sl_cmd sl_cmd_diff;
extern const sl_cmd sl_cmd_doc;
extern const sl_cmd sl_cmd_export;
extern const sl_cmd sl_cmd_fsck;
extern const sl_cmd sl_cmd_gpumemprof_analyze;
extern const sl_cmd sl_cmd_gpumemprof_diagnose;
extern const sl_cmd sl_cmd_gpumemprof_info;
extern const sl_cmd sl_cmd_gpumemprof_monitor;
extern const sl_cmd sl_cmd_gpumemprof_track;
extern const sl_cmd sl_cmd_help;
extern const sl_cmd sl_cmd_info;
extern const sl_cmd sl_cmd_man;
extern const sl_cmd sl_cmd_plot;
extern const sl_cmd sl_cmd_ranks;
extern const sl_cmd sl_cmd_report;
extern const sl_cmd sl_cmd_run;
extern const sl_cmd sl_cmd_runs;
extern const sl_cmd sl_cmd_settings;
extern const sl_cmd sl_cmd_ship;
extern const sl_cmd sl_cmd_tfmemprof_analyze;
extern const sl_cmd sl_cmd_tfmemprof_diagnose;
extern const sl_cmd sl_cmd_tfmemprof_info;
extern const sl_cmd sl_cmd_tfmemprof_monitor;
extern const sl_cmd sl_cmd_tfmemprof_track;
extern const sl_cmd sl_cmd_top;
extern const sl_cmd sl_cmd_tui;
extern const sl_cmd sl_cmd_whatif;

#endif
