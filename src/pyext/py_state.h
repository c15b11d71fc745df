/* SPDX-License-Identifier: MIT */
/* The state of the module stormlog._read and the functions of its method table, one file per
 * subject. Every function parses its arguments, calls plain C and converts the result. */
#ifndef SL_PY_STATE_H
#define SL_PY_STATE_H

#include "pyext/py_error.h"
#include "telemetry/telemetry.h"

typedef struct sl_py_state {
    sl_py_errors errors;
    PyObject *loads;                   /* owned; json.loads */
    PyObject *dumps;                   /* owned; json.dumps */
    PyObject *dumps_keywords;          /* owned; {"default": str, "separators": (",", ":")} */
    PyObject *fields[SL_TM_FIELD_CNT]; /* owned; names of the record's fields, interned */
} sl_py_state;

static inline sl_py_state *sl_py_state_of(PyObject *module) {
    return PyModule_GetState(module);
}

/* One table per file, ended by a row without a name. */
extern PyMethodDef sl_py_stats_methods[];
extern PyMethodDef sl_py_telemetry_methods[];
extern PyMethodDef sl_py_attribution_methods[];
extern PyMethodDef sl_py_counters_methods[];
extern PyMethodDef sl_py_diff_methods[];
extern PyMethodDef sl_py_log_methods[];
extern PyMethodDef sl_py_oom_methods[];
extern PyMethodDef sl_py_profile_methods[];
extern PyMethodDef sl_py_trace_methods[];
extern PyMethodDef sl_py_whatif_methods[];

#endif
