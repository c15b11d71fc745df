/* SPDX-License-Identifier: MIT */
/* The memory of this process from /proc, and a thread that runs without Python and keeps the
 * maximum. */
#ifndef SL_PY_WATCH_H
#define SL_PY_WATCH_H

#include "pyext/py_compat.h"

/* (rss, vms, peak_rss) in bytes; peak_rss is the kernel's own and may be None. */
PyObject *sl_py_process_memory(PyObject *module, PyObject *unused);

/* The type stormlog._record.MemoryWatch; a new reference. */
PyObject *sl_py_watch_type(void);

#endif
