/* SPDX-License-Identifier: MIT */
/* The one door to CPython: the stable ABI of 3.9, so that one binary serves 3.9 and every later
 * version. What that ABI lacks and this project needs is made here from what it has. */
#ifndef SL_PY_COMPAT_H
#define SL_PY_COMPAT_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "base/core/sl_base.h"

/* A method with keywords, as PyMethodDef wants it. */
#define SL_PY_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

/* A row of a slot or type table; ISO C has no direct way from a function to void *. */
#define SL_PY_SLOT(function) ((void *)(uintptr_t)(function))

/* Adds an object that the caller keeps, too. -1 with an exception set. (3.10's
 * PyModule_AddObjectRef.) */
static inline int sl_py_add_ref(PyObject *module, const char *name, PyObject *value) {
    Py_XINCREF(value);
    if (value && PyModule_AddObject(module, name, value) == 0)
        return 0;
    Py_XDECREF(value);
    return -1;
}

/* Stores a new reference under a name and gives it up; -1 when value is NULL or it fails. */
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
