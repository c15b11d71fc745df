/* SPDX-License-Identifier: MIT */
#include "pyext/py_convert.h"

#include <limits.h>
#include <stdlib.h>

#include "base/core/str.h"

int sl_py_doubles(PyObject *sequence, double **values, size_t *cnt) {
    PyObject *items = PySequence_List(sequence);
    if (!items)
        return -1;
    size_t n = (size_t)PyList_Size(items);
    double *made = calloc(n ? n : 1, sizeof *made);
    if (!made)
        PyErr_NoMemory();
    for (size_t i = 0; made && i < n; i++) {
        made[i] = PyFloat_AsDouble(PyList_GetItem(items, (Py_ssize_t)i)); /* borrowed */
        if (PyErr_Occurred()) {
            free(made);
            made = NULL;
        }
    }
    Py_DECREF(items);
    *values = made;
    *cnt = n;
    return made ? 0 : -1;
}

int sl_py_device(PyObject *object, bool *has_device, int *device) {
    int overflow = 0;
    *has_device = object != Py_None;
    long value = *has_device ? PyLong_AsLongAndOverflow(object, &overflow) : 0;
    if (value == -1 && PyErr_Occurred())
        return -1;
    if (overflow || value > INT_MAX || value < INT_MIN) {
        PyErr_SetString(PyExc_OverflowError, "a device's number has at most 32 bits");
        return -1;
    }
    *device = (int)value;
    return 0;
}

int sl_py_unsigned(PyObject *object, void *to) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (value == -1 && PyErr_Occurred())
        return 0;
    if (overflow || value < 0 || value > (long long)UINT_MAX) {
        PyErr_Format(PyExc_OverflowError, "expected a number from 0 to %u", UINT_MAX);
        return 0;
    }
    *(unsigned *)to = (unsigned)value;
    return 1;
}

PyObject *sl_py_path(PyObject *path) {
    PyObject *bytes = NULL;
    return PyUnicode_FSConverter(path, &bytes) ? bytes : NULL;
}

PyObject *sl_py_text(sl_str text) {
    return PyUnicode_DecodeUTF8(text.ptr, (Py_ssize_t)text.len, "replace");
}

/* ---- Python to record ---- */

static int intern_str(PyObject *text, sl_telemetry *set, uint32_t *id) {
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    if (!bytes)
        return -1;
    *id = sl_strtab_intern(&set->strings, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_DECREF(bytes);
    if (*id == SL_STR_NONE)
        PyErr_NoMemory();
    return *id == SL_STR_NONE ? -1 : 0;
}

/* A value as JSON text; values that JSON does not have become their str(). */
static int intern_json(const sl_py_state *state, PyObject *value, sl_telemetry *set, uint32_t *id) {
    PyObject *pack = PyTuple_Pack(1, value);
    PyObject *text = pack ? PyObject_Call(state->dumps, pack, state->dumps_keywords) : NULL;
    int failed = text ? intern_str(text, set, id) : -1;
    Py_XDECREF(text);
    Py_XDECREF(pack);
    return failed;
}

static int take_long(PyObject *object, sl_tm_value *value) {
    int overflow = 0;
    value->number = PyLong_AsLongLongAndOverflow(object, &overflow);
    value->kind = overflow ? SL_TM_IS_BIG : SL_TM_IS_INT;
    value->real = overflow ? (overflow > 0 ? 1e19 : -1e19) : (double)value->number;
    return PyErr_Occurred() ? -1 : 0;
}

static int take_value(const sl_py_state *state, PyObject *object, sl_telemetry *set,
                      sl_tm_value *value) {
    *value = (sl_tm_value){.kind = SL_TM_IS_OTHER};
    if (object == Py_None) {
        value->kind = SL_TM_IS_NULL;
    } else if (PyBool_Check(object)) {
        value->kind = SL_TM_IS_BOOL;
    } else if (PyLong_Check(object)) {
        return take_long(object, value);
    } else if (PyFloat_Check(object)) {
        value->kind = SL_TM_IS_REAL;
        value->real = PyFloat_AsDouble(object);
    } else if (PyUnicode_Check(object)) {
        value->kind = SL_TM_IS_TEXT;
        return intern_str(object, set, &value->text);
    } else if (PyDict_Check(object)) {
        value->kind = SL_TM_IS_OBJECT;
        return intern_json(state, object, set, &value->text);
    } else if (PyList_Check(object) || PyTuple_Check(object)) {
        value->kind = SL_TM_IS_LIST;
    }
    return 0;
}

#define EXTRA_PREFIX "metadata_"

/* A key that is not a field: metadata of an older record, or an unknown name to report. */
static int take_other(const sl_py_state *state, sl_str name, PyObject *object, sl_telemetry *set,
                      sl_tm_raw *raw) {
    size_t prefix = sizeof EXTRA_PREFIX - 1;
    bool is_extra = name.len > prefix && sl_str_starts_with(name, SL_STR(EXTRA_PREFIX));
    sl_str kept = is_extra ? (sl_str){name.ptr + prefix, name.len - prefix} : name;
    uint32_t id = sl_strtab_intern(&set->strings, kept.ptr, kept.len);
    sl_tm_extra extra = {.name = id};
    if (is_extra && (take_value(state, object, set, &extra.value) < 0 ||
                     intern_json(state, object, set, &extra.json) < 0))
        return -1;
    if (is_extra && id != SL_STR_NONE && sl_vec_push(&raw->extras, extra))
        return 0;
    if (is_extra || id == SL_STR_NONE) {
        PyErr_NoMemory();
        return -1;
    }
    if (raw->unknown_cnt < SL_TM_UNKNOWN_MAX)
        raw->unknown[raw->unknown_cnt++] = id;
    return 0;
}

static int take_item(const sl_py_state *state, PyObject *key, PyObject *object, sl_telemetry *set,
                     sl_tm_raw *raw) {
    PyObject *text = PyObject_Str(key);
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
    int failed = -1;
    if (bytes) {
        sl_str name = {PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes)};
        int found = PyUnicode_Check(key) ? sl_tm_key_find(name, -1) : -1;
        failed = found >= 0 ? take_value(state, object, set, &raw->at[found])
                            : take_other(state, name, object, set, raw);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    return failed;
}

/* A new dict, so that any mapping can be iterated in the same way. */
static PyObject *copy_mapping(const sl_py_state *state, PyObject *mapping) {
    if (!PyMapping_Check(mapping) || PySequence_Check(mapping)) {
        PyErr_Format(state->errors.classes[SL_PY_FORMAT],
                     "a telemetry record must be a mapping, found %.80R", mapping);
        return NULL;
    }
    PyObject *dict = PyDict_New();
    if (dict && PyDict_Update(dict, mapping) < 0)
        Py_CLEAR(dict);
    return dict;
}

static int take_mapping(const sl_py_state *state, PyObject *mapping, sl_telemetry *set,
                        sl_tm_raw *raw) {
    PyObject *key, *object; /* borrowed */
    Py_ssize_t position = 0;
    PyObject *dict = copy_mapping(state, mapping);
    int failed = dict ? 0 : -1;
    while (!failed && PyDict_Next(dict, &position, &key, &object))
        failed = take_item(state, key, object, set, raw);
    Py_XDECREF(dict);
    return failed;
}

int sl_py_record(sl_py_state *state, PyObject *mapping, const sl_tm_convert *how, sl_telemetry *set,
                 sl_tm_record *record) {
    sl_tm_raw raw = {0};
    sl_error err = SL_ERROR_INIT;
    int failed = take_mapping(state, mapping, set, &raw);
    if (!failed) {
        sl_status status = how ? sl_tm_from_raw(set, &raw, how, record, &err)
                               : sl_tm_from_raw_strict(set, &raw, record, &err);
        if (status < 0) {
            sl_py_raise(&state->errors, &err);
            failed = -1;
        }
    }
    sl_tm_raw_fini(&raw);
    return failed;
}

/* ---- events to records ---- */

static int add_event(sl_py_state *state, PyObject *event, sl_telemetry *set, sl_tm_raw *raw) {
    sl_tm_record record;
    sl_error err = SL_ERROR_INIT;
    sl_tm_raw_clear(raw);
    for (sl_tm_field field = 0; field < SL_TM_FIELD_CNT; field++) {
        PyObject *object = PyObject_GetAttr(event, state->fields[field]);
        int failed = object ? take_value(state, object, set, &raw->at[field]) : -1;
        Py_XDECREF(object);
        if (failed)
            return -1;
    }
    if (sl_tm_from_raw_strict(set, raw, &record, &err) < 0) {
        sl_py_raise(&state->errors, &err);
        return -1;
    }
    if (sl_vec_push(&set->records, record))
        return 0;
    PyErr_NoMemory();
    return -1;
}

sl_telemetry *sl_py_events(sl_py_state *state, PyObject *events) {
    PyObject *items = PySequence_List(events);
    sl_telemetry *set = items ? sl_telemetry_new() : NULL;
    sl_tm_raw raw = {0};
    if (items && !set)
        PyErr_NoMemory();
    Py_ssize_t cnt = items ? PyList_Size(items) : 0;
    for (Py_ssize_t i = 0; set && i < cnt; i++)
        if (add_event(state, PyList_GetItem(items, i), set, &raw) < 0) { /* borrowed */
            sl_telemetry_free(set);
            set = NULL;
        }
    sl_tm_raw_fini(&raw);
    Py_XDECREF(items);
    return set;
}

/* ---- record to Python ---- */

/* A new dict for every record, because callers change them. */
static PyObject *metadata_dict(const sl_py_state *state, const sl_telemetry *set,
                               const sl_tm_record *record) {
    if (!record->metadata)
        return PyDict_New();
    PyObject *text = sl_py_text(sl_tm_metadata(set, record));
    PyObject *dict = text ? PyObject_CallFunctionObjArgs(state->loads, text, NULL) : NULL;
    Py_XDECREF(text);
    return dict;
}

static PyObject *value_object(const sl_py_state *state, const sl_telemetry *set,
                              const sl_tm_record *record, sl_tm_field field) {
    switch (sl_tm_fields[field].type) {
    case SL_TM_INT64:
    case SL_TM_INT32: return PyLong_FromLongLong((long long)sl_tm_get_int(record, field));
    case SL_TM_INT64_OR_NULL: {
        int64_t number = sl_tm_get_int(record, field);
        return number == SL_TM_NULL ? sl_py_none() : PyLong_FromLongLong((long long)number);
    }
    case SL_TM_TEXT:
    case SL_TM_TEXT_OR_NULL:
    case SL_TM_ANY_TEXT: {
        uint32_t id = sl_tm_get_text(record, field);
        return id == SL_TM_NO_TEXT ? sl_py_none() : sl_py_text(sl_tm_text(set, id));
    }
    case SL_TM_OBJECT: return metadata_dict(state, set, record);
    case SL_TM_VERSION_FIELD: return PyLong_FromLong(SL_TM_VERSION);
    }
    return NULL;
}

PyObject *sl_py_record_dict(sl_py_state *state, const sl_telemetry *set,
                            const sl_tm_record *record) {
    PyObject *dict = PyDict_New();
    for (sl_tm_field field = 0; dict && field < SL_TM_FIELD_CNT; field++) {
        PyObject *value = value_object(state, set, record, field);
        if (!value || PyDict_SetItem(dict, state->fields[field], value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}
