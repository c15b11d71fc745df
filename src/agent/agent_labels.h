/* SPDX-License-Identifier: MIT */
/* Labels of a series: names and values, sorted by name as Prometheus wants them. Values come from job names,
 * environments and command lines and are hostile until they are in here: what is not UTF-8 or would reorder text is
 * replaced, and long ones are cut. */
#ifndef SL_AGENT_LABELS_H
#define SL_AGENT_LABELS_H

#include <stdio.h>

#include "base/core/vec.h"

#define SL_AGENT_LABEL_MAX 256 /* bytes of a value */

typedef struct sl_agent_label {
    char *name, *value; /* owned */
} sl_agent_label;

typedef struct sl_agent_labels {
    SL_VEC(sl_agent_label) list; /* ascending names, none twice */
} sl_agent_labels;

/* Adds or replaces. An empty value removes the label: to Prometheus it is the same as none. False when memory ran
 * out. */
bool sl_agent_labels_set(sl_agent_labels *labels, const char *name, sl_str value);
bool sl_agent_labels_set_number(sl_agent_labels *labels, const char *name, int64_t value);

/* Adds all of `from`. */
bool sl_agent_labels_join(sl_agent_labels *labels, const sl_agent_labels *from);

/* NULL when there is none. */
const char *sl_agent_labels_get(const sl_agent_labels *labels, const char *name);

void sl_agent_labels_fini(sl_agent_labels *labels);

/* A name that Prometheus takes: [a-zA-Z_][a-zA-Z0-9_]*, not one of its own that begin with "__". */
bool sl_agent_label_is_name(sl_str name);

/* name="value",… with \\, \" and \n escaped; no braces. */
void sl_agent_labels_write(const sl_agent_labels *labels, FILE *to);

#endif
