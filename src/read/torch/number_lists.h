/* SPDX-License-Identifier: MIT */
/* Lists of numbers and single numbers by name, out of a JSON object: the files of the Python tool's
 * TensorFlow commands and its timelines. */
#ifndef SL_NUMBER_LISTS_H
#define SL_NUMBER_LISTS_H

#include "base/core/status.h"
#include "base/core/vec.h"

typedef struct sl_number_list {
    const char *name;
    SL_VEC(double) values;
    bool is_found;
    bool is_list; /* false: one number */
} sl_number_list;

/* Fills the lists whose names the object has. Items that are not numbers are SL_E_FORMAT. */
sl_status sl_number_lists_read(const char *path, sl_number_list *lists, size_t cnt, sl_error *err);
void sl_number_lists_fini(sl_number_list *lists, size_t cnt);

#endif
