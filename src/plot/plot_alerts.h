/* SPDX-License-Identifier: MIT */
/* Alerts on the time axis of a picture. */
#ifndef SL_PLOT_ALERTS_H
#define SL_PLOT_ALERTS_H

#include "plot/canvas/plot_axis.h"

/* Draws a mark at every alert of the input's device or of the host, and the text of the last
 * one. */
void sl_plot_alerts_draw(sl_plot *plot, const sl_time_axis *axis, const sl_plot_input *input);

#endif
