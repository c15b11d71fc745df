/* SPDX-License-Identifier: MIT */
/* The folder that stormlog.record() records into. Its name and the link `latest` are the same as
 * those of `stormlog run`. */
#include "pyext/py_run.h"

#include <stdlib.h>

#include "api/run_folder.h"

#define FOLDER_NAME "stormlog.run_folder"

static void free_folder(PyObject *capsule) {
    free(PyCapsule_GetPointer(capsule, FOLDER_NAME));
}

/* Returns (folder, its absolute path). */
static PyObject *wrap(sl_run_folder *folder) {
    PyObject *path = PyUnicode_DecodeFSDefault(folder->full_path);
    PyObject *capsule = path ? PyCapsule_New(folder, FOLDER_NAME, free_folder) : NULL;
    if (!capsule)
        free(folder);
    PyObject *pair = capsule ? PyTuple_Pack(2, capsule, path) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(path);
    return pair;
}

PyObject *sl_py_run_folder_open(PyObject *module, PyObject *args) {
    SL_UNUSED(module);
    PyObject *given, *wanted = NULL; /* given: borrowed */
    const char *script;
    char name[64];
    sl_error err = SL_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "Os", &given, &script))
        return NULL;
    if (given != Py_None && !PyUnicode_FSConverter(given, &wanted))
        return NULL;
    sl_run_folder *folder = calloc(1, sizeof *folder);
    const char *argv[] = {"python3", script};
    sl_run_folder_name(name, 2, argv);
    sl_status status = folder ? sl_run_folder_open(folder, wanted ? PyBytes_AsString(wanted) : NULL,
                                                   name, false, &err)
                              : sl_fail_no_memory(&err, "the run folder");
    Py_XDECREF(wanted);
    if (status == SL_OK)
        return wrap(folder);
    free(folder);
    PyErr_SetString(PyExc_OSError, err.text);
    return NULL;
}

PyObject *sl_py_run_folder_discard(PyObject *module, PyObject *capsule) {
    SL_UNUSED(module);
    sl_run_folder *folder = PyCapsule_GetPointer(capsule, FOLDER_NAME);
    if (!folder)
        return NULL;
    sl_run_folder_discard(folder);
    Py_RETURN_NONE;
}
