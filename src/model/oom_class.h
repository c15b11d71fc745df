/* SPDX-License-Identifier: MIT */
/* Whether an exception means that memory ran out. The order of the tests and the reasons are those
 * of the Python tool; what it misses is recognised after them, under reasons of its own. */
#ifndef SL_OOM_CLASS_H
#define SL_OOM_CLASS_H

#include "base/core/sl_base.h"

#define SL_OOM_REASON_CAP 64

/* type: the class name; module: where it was defined; message: its text. Any may be NULL. True and
 * the reason when it is one. `is_strict` keeps to what the Python tool recognises. */
bool sl_oom_classify(const char *type, const char *module, const char *message, bool is_strict,
                     char reason[SL_OOM_REASON_CAP]);

/* The last exception of a program's error output that means that memory ran out: a line
 * "module.Type: message". *line is set to it (borrowed from text). */
bool sl_oom_find_in_output(const char *text, char reason[SL_OOM_REASON_CAP], sl_str *line);

#endif
