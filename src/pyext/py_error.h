/* SPDX-License-Identifier: MIT */
/* Converts sl_error to exceptions: one class for each group of status codes, all derived from
 * StormlogError and from the built-in exception that Python programs expect. Instances have
 * .code (the number of the status), .name ("E_FORMAT") and .position (a byte of the input, or
 * None). */
#ifndef SL_PY_ERROR_H
#define SL_PY_ERROR_H

#include "base/core/status.h"
#include "pyext/py_compat.h"

typedef enum sl_py_error_class {
    SL_PY_ERROR,
    SL_PY_USAGE,
    SL_PY_FILE,
    SL_PY_MISSING,
    SL_PY_FORMAT,
    SL_PY_SYSTEM,
    SL_PY_DEVICE,
    SL_PY_LIMIT,
    SL_PY_INTERNAL,
    SL_PY_ERROR_CNT
} sl_py_error_class;

/* Part of a module's state. */
typedef struct sl_py_errors {
    PyObject *classes[SL_PY_ERROR_CNT]; /* owned */
} sl_py_errors;

/* Makes the classes and adds them to the module. -1 with an exception set. */
int sl_py_errors_init(sl_py_errors *errors, PyObject *module);
int sl_py_errors_visit(sl_py_errors *errors, visitproc visit, void *arg);
void sl_py_errors_clear(sl_py_errors *errors);

/* Sets the exception for a failure and returns NULL. */
PyObject *sl_py_raise(const sl_py_errors *errors, const sl_error *err);

#endif
