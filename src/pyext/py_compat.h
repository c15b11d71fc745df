/* SPDX-License-Identifier: MIT */
/* The only header that includes CPython's: the stable ABI of 3.9, so that one binary works with
 * 3.9 and every later version. What this project needs and that ABI lacks is implemented here. */
#ifndef SL_PY_COMPAT_H
#define SL_PY_COMPAT_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "base/core/sl_base.h"

/* Casts a method with keywords to the type that PyMethodDef has. */
#define SL_PY_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

/* A function as the void * of a slot or type table; ISO C has no direct conversion. */
#define SL_PY_SLOT(function) ((void *)(uintptr_t)(function))

/* Adds an object; the caller keeps its reference. -1 with an exception set.
 * (PyModule_AddObjectRef of 3.10.) */
static inline int sl_py_add_ref(PyObject *module, const char *name, PyObject *value) {
    Py_XINCREF(value);
    if (value && PyModule_AddObject(module, name, value) == 0)
        return 0;
    Py_XDECREF(value);
    return -1;
}

/* Stores a new reference under a name and releases it; -1 when value is NULL or the call fails. */
static inline int sl_py_set_item(PyObject *dict, const char *name, PyObject *value) {
    int failed = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return failed;
}

static inline PyObject *sl_py_none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

#endif
