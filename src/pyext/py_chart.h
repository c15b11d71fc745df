/* SPDX-License-Identifier: MIT */
/* The type stormlog._read.Chart: a chart built up in Python and drawn in C. */
#ifndef SL_PY_CHART_H
#define SL_PY_CHART_H

#include "pyext/py_compat.h"

/* A new reference. */
PyObject *sl_py_chart_type(void);

#endif
