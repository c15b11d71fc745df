/* SPDX-License-Identifier: MIT */
/* The pictures of gpumemprof and tfmemprof: what --visualization and --visualize draw. */
#ifndef SL_COMPAT_PLOT_H
#define SL_COMPAT_PLOT_H

#include "analyze/samples/an_ranks.h"

/* One line for each rank: used bytes of its device over aligned time, with the onset and the
 * first suspect marked. Creates the folder and writes <folder>/cross_rank_timeline.png. */
sl_status sl_compat_plot_ranks(const sl_ranks *ranks, const char *folder, sl_error *err);

/* Allocated and reserved bytes of every record over time: <folder>/memory_timeline.png. */
sl_status sl_compat_plot_records(const sl_telemetry *set, const char *folder, sl_error *err);

/* Megabytes over seconds, into this file. */
sl_status sl_compat_plot_usage(const double *seconds, const double *mb, size_t cnt,
                               const char *path, sl_error *err);

#endif
