/* SPDX-License-Identifier: MIT */
/* Ends a trace at one of its moments, as if the input had been read then: events, marks, readings
 * and alerts after it go, and the blocks that were live become the end state. For the owner of a
 * trace that nobody else reads yet. */
#ifndef SL_TRACE_CUT_H
#define SL_TRACE_CUT_H

#include "model/trace.h"

/* Event number `event` of this device is the last one that stays. Of each device at most
 * `max_events` stay, the newest; those that go are added to its dropped_events. A device whose end
 * state has segments keeps its events after the moment: where its free memory lay before is not
 * known. SL_E_NOMEM leaves the trace fit only for sl_trace_free. */
sl_status sl_trace_cut(sl_trace *trace, int device, size_t event, size_t max_events, sl_error *err);

#endif
