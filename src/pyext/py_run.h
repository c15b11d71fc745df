/* SPDX-License-Identifier: MIT */
/* The run folder of stormlog.record(), for the module stormlog._record. */
#ifndef SL_PY_RUN_H
#define SL_PY_RUN_H

#include "pyext/py_compat.h"

/* (wanted or None, script): the folder and its absolute path; OSError when it cannot be made. */
PyObject *sl_py_run_folder_open(PyObject *module, PyObject *args);
PyObject *sl_py_run_folder_discard(PyObject *module, PyObject *capsule);

#endif
