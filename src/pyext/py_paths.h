/* SPDX-License-Identifier: MIT */
/* The paths of one call and what was loaded from them. */
#ifndef SL_PY_PATHS_H
#define SL_PY_PATHS_H

#include "pyext/py_convert.h"
#include "run/run.h"

typedef struct sl_py_paths {
    PyObject *bytes; /* owned; list of bytes objects, which own the texts */
    const char **at; /* owned array of borrowed texts */
    size_t cnt;
    SL_VEC(sl_trace *) traces; /* owned; for a folder one per readable file */
    sl_run *run;               /* owned; made from all traces */
    bool no_whatif;            /* no advice about allocator settings */
} sl_py_paths;

/* A sequence of paths; -1 with an exception set. Zero-initialise first; call fini in any case. */
int sl_py_paths_init(sl_py_paths *paths, PyObject *given);
void sl_py_paths_fini(sl_py_paths *paths);

/* Loads all paths; of a folder every file that can be read. Needs no GIL. */
sl_status sl_py_paths_load(sl_py_paths *paths, sl_error *err);
/* The same for callers that need one file per path: SL_E_USAGE for a folder that holds several. */
sl_status sl_py_paths_load_each(sl_py_paths *paths, sl_error *err);

/* A text that was written to a stream, as str; raises for a failure. Takes ownership of the
 * text. */
PyObject *sl_py_take_text(const sl_py_state *state, sl_status status, char *text,
                          const sl_error *err);

#endif
