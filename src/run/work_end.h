/* SPDX-License-Identifier: MIT */
/* Where the work of a program ends and the teardown of its process begins. Everything a program holds is
 * freed there, so a state after the last event says nothing about what it held. Pure. */
#ifndef SL_WORK_END_H
#define SL_WORK_END_H

#include "model/trace.h"

/* How many of the device's events belong to the work (T5 in model/trace.h). A recording from before the
 * recorder marked the end is judged by its events: a process that ended by itself frees at the end and
 * does not allocate any more, so its work ends with its last allocation, or with the step that ended
 * after it. Every other input is work up to its last event. */
size_t sl_work_count(const sl_trace *trace, const sl_device_trace *device);

#endif
