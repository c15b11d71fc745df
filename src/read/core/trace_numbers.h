/* SPDX-License-Identifier: MIT */
/* The numbers by which a trace written as JSON names strings, frames and stacks. They are kept in the
 * places of the ids while the file is read, because its keys may come in any order; in the end they are
 * checked and replaced (T4). Owns its lists; one thread. */
#ifndef SL_TRACE_NUMBERS_H
#define SL_TRACE_NUMBERS_H

#include "model/trace.h"

typedef SL_VEC(uint32_t) sl_number_ids;

/* Zero-initialised is empty. */
typedef struct sl_trace_numbers {
    sl_number_ids strings;        /* number in the file -> id of the trace */
    SL_VEC(sl_frame) raw_frames;  /* of numbers of strings */
    sl_number_ids raw_stacks;     /* numbers of frames, one stack after the other */
    SL_VEC(size_t) raw_ends;      /* where each stack ends in raw_stacks */
    sl_number_ids frames, stacks; /* number -> id; made by resolve */
} sl_trace_numbers;

/* Replaces every number in the trace. SL_E_FORMAT when one names what the file does not hold. */
sl_status sl_trace_numbers_resolve(sl_trace_numbers *numbers, sl_trace *trace, sl_error *err);

void sl_trace_numbers_fini(sl_trace_numbers *numbers);

#endif
