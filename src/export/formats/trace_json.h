/* SPDX-License-Identifier: MIT */
/* A whole trace as JSON that read/core/source_trace.c reads back without loss: rows of numbers, and
 * tables of the names that a row refers to. */
#ifndef SL_TRACE_JSON_H
#define SL_TRACE_JSON_H

#include <stdio.h>

#include "model/trace.h"

sl_status sl_trace_write_json(const sl_trace *trace, FILE *to, sl_error *err);

#endif
