/* SPDX-License-Identifier: MIT */
/* The repr of a Python dict as JSON: quotes, True, False, None. The Python tool writes metadata into
 * CSV cells that way and cannot read it back. */
#ifndef SL_PY_REPR_H
#define SL_PY_REPR_H

#include "base/text/json_text.h"

/* True and the text as JSON appended to `to`, which the caller frees; false when the text holds
 * nothing of Python's and can be read as it is. The result need not be valid JSON. */
bool sl_py_repr_to_json(sl_str text, sl_json_text *to, sl_error *err);

#endif
