/* SPDX-License-Identifier: MIT */
/* Conversions between Python values and plain C. Functions that return int give -1 with an
 * exception set. */
#ifndef SL_PY_CONVERT_H
#define SL_PY_CONVERT_H

#include "pyext/py_state.h"
#include "telemetry/telemetry_raw.h"

/* A sequence of numbers as doubles; the caller frees *values. */
int sl_py_doubles(PyObject *sequence, double **values, size_t *cnt);

/* The device of an optional argument: None leaves *has_device false. OverflowError beyond 32
 * bits, because a cast would name a different device. */
int sl_py_device(PyObject *object, bool *has_device, int *device);

/* For PyArg_Parse's "O&": an int from 0 to UINT_MAX into an unsigned; the format "I" would drop the
 * high bits. */
int sl_py_unsigned(PyObject *object, void *to);

/* str, bytes or os.PathLike as a file-system path; the caller releases the bytes object. NULL with
 * an exception set. */
PyObject *sl_py_path(PyObject *path);

/* Events (objects with the attributes of TelemetryEventV2) as records. The caller frees the set.
 * NULL with an exception set. */
sl_telemetry *sl_py_events(sl_py_state *state, PyObject *events);

/* A mapping -> *record, its texts in the set. how NULL: it must be a version 2 record. */
int sl_py_record(sl_py_state *state, PyObject *mapping, const sl_tm_convert *how, sl_telemetry *set,
                 sl_tm_record *record);

/* The 22 fields as a new dict, in the order of the files; texts of `set`. */
PyObject *sl_py_record_dict(sl_py_state *state, const sl_telemetry *set,
                            const sl_tm_record *record);

/* An sl_str as str; bytes that are not UTF-8 become U+FFFD. */
PyObject *sl_py_text(sl_str text);

#endif
