/* SPDX-License-Identifier: MIT */
/* For work that must tidy up before the program goes: SIGINT, SIGTERM, SIGHUP and SIGQUIT set a
 * flag between _hold and _release instead of ending the program. One at a time. */
#ifndef SL_STOP_SIGNALS_H
#define SL_STOP_SIGNALS_H

#include "base/core/progress_fn.h"

/* The flag: the number of the signal, 0 = none. */
const sl_stop_flag *sl_stop_signals_hold(void);

/* Back to what they did before. */
void sl_stop_signals_release(void);

/* Ends the program by the signal that came in between; returns when none did. */
void sl_stop_signals_obey(void);

#endif
