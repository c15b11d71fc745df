/* SPDX-License-Identifier: MIT */
#include "pyext/py_error.h"

#include <errno.h>
#include <string.h>

typedef struct class_row {
    const char *name; /* in the module */
    const char *full_name;
    sl_py_error_class parent;
    const char *doc;
} class_row;

/* The base class besides StormlogError; NULL = none. Not a table, because the addresses of
 * built-in exceptions are not constants in C. */
static PyObject *builtin_base(sl_py_error_class id) {
    switch (id) {
    case SL_PY_USAGE:
    case SL_PY_FORMAT:
    case SL_PY_LIMIT: return PyExc_ValueError;
    case SL_PY_FILE: return PyExc_OSError;
    case SL_PY_MISSING: return PyExc_FileNotFoundError;
    case SL_PY_SYSTEM:
    case SL_PY_DEVICE:
    case SL_PY_INTERNAL: return PyExc_RuntimeError;
    default: return NULL;
    }
}

static const class_row rows[SL_PY_ERROR_CNT] = {
    [SL_PY_ERROR] = {"StormlogError", "stormlog.StormlogError", SL_PY_ERROR,
                     "Base of every error that comes from stormlog's C side."},
    [SL_PY_USAGE] = {"UsageError", "stormlog.UsageError", SL_PY_ERROR,
                     "An argument makes no sense."},
    [SL_PY_FILE] = {"FileError", "stormlog.FileError", SL_PY_ERROR,
                    "A file cannot be opened, read or written."},
    [SL_PY_MISSING] = {"MissingFileError", "stormlog.MissingFileError", SL_PY_FILE,
                       "A file does not exist."},
    [SL_PY_FORMAT] = {"FormatError", "stormlog.FormatError", SL_PY_ERROR,
                      "The input is malformed, cut off, refused or of an unknown kind."},
    [SL_PY_SYSTEM] = {"SystemCallError", "stormlog.SystemCallError", SL_PY_ERROR,
                      "The operating system refused something."},
    [SL_PY_DEVICE] = {"DeviceError", "stormlog.DeviceError", SL_PY_ERROR,
                      "No such device, or this build lacks a library."},
    [SL_PY_LIMIT] = {"LimitError", "stormlog.LimitError", SL_PY_ERROR,
                     "A built-in limit was reached."},
    [SL_PY_INTERNAL] = {"InternalError", "stormlog.InternalError", SL_PY_ERROR,
                        "A bug in stormlog."},
};

static PyObject *make_class(const sl_py_errors *errors, sl_py_error_class id) {
    PyObject *bases = id == SL_PY_ERROR
                          ? PyTuple_Pack(1, PyExc_Exception)
                          : PyTuple_Pack(2, errors->classes[rows[id].parent], builtin_base(id));
    PyObject *made = NULL;
    if (bases)
        made = PyErr_NewExceptionWithDoc(rows[id].full_name, rows[id].doc, bases, NULL);
    Py_XDECREF(bases);
    return made;
}

int sl_py_errors_init(sl_py_errors *errors, PyObject *module) {
    for (sl_py_error_class id = 0; id < SL_PY_ERROR_CNT; id++) {
        errors->classes[id] = make_class(errors, id);
        if (!errors->classes[id] || sl_py_add_ref(module, rows[id].name, errors->classes[id]) < 0)
            return -1;
    }
    return 0;
}

int sl_py_errors_visit(sl_py_errors *errors, visitproc visit, void *arg) {
    for (size_t id = 0; id < SL_PY_ERROR_CNT; id++)
        Py_VISIT(errors->classes[id]);
    return 0;
}

void sl_py_errors_clear(sl_py_errors *errors) {
    for (size_t id = 0; id < SL_PY_ERROR_CNT; id++)
        Py_CLEAR(errors->classes[id]);
}

/* The tens of a status code are its group. */
static sl_py_error_class class_of(const sl_error *err) {
    switch (err->code / 10) {
    case SL_E_USAGE / 10: return SL_PY_USAGE;
    case SL_E_OPEN / 10: return err->sys_errno == ENOENT ? SL_PY_MISSING : SL_PY_FILE;
    case SL_E_FORMAT / 10: return SL_PY_FORMAT;
    case SL_E_SYSTEM / 10: return SL_PY_SYSTEM;
    case SL_E_DEVICE / 10: return SL_PY_DEVICE;
    case SL_E_LIMIT / 10: return SL_PY_LIMIT;
    default: return SL_PY_INTERNAL;
    }
}

static int set_details(PyObject *error, const sl_error *err) {
    int failed = 0;
    PyObject *code = PyLong_FromLong(err->code);
    PyObject *name = PyUnicode_FromString(sl_status_name(err->code));
    PyObject *position =
        err->position < 0 ? sl_py_none() : PyLong_FromLongLong((long long)err->position);
    if (!code || !name || !position || PyObject_SetAttrString(error, "code", code) < 0 ||
        PyObject_SetAttrString(error, "name", name) < 0 ||
        PyObject_SetAttrString(error, "position", position) < 0)
        failed = -1;
    Py_XDECREF(code);
    Py_XDECREF(name);
    Py_XDECREF(position);
    return failed;
}

/* Set after construction: with two arguments OSError would interpret them differently. */
static int set_errno(PyObject *error, const sl_error *err) {
    if (!err->sys_errno || !PyObject_IsInstance(error, PyExc_OSError))
        return 0;
    PyObject *number = PyLong_FromLong(err->sys_errno);
    int failed = number ? PyObject_SetAttrString(error, "errno", number) : -1;
    Py_XDECREF(number);
    return failed;
}

PyObject *sl_py_raise(const sl_py_errors *errors, const sl_error *err) {
    if (err->code == SL_E_NOMEM)
        return PyErr_NoMemory();
    PyObject *type = errors->classes[class_of(err)]; /* borrowed */
    PyObject *text = PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "replace");
    PyObject *error = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    if (error && set_details(error, err) == 0 && set_errno(error, err) == 0)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    return NULL;
}
