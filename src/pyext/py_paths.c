/* SPDX-License-Identifier: MIT */
#include "pyext/py_paths.h"

#include <stdlib.h>
#include <string.h>

#include "read/core/source.h"

void sl_py_paths_fini(sl_py_paths *paths) {
    sl_run_free(paths->run);
    for (size_t i = 0; paths->traces && i < paths->cnt; i++)
        sl_trace_free(paths->traces[i]);
    free(paths->traces);
    free(paths->at);
    Py_XDECREF(paths->bytes);
}

static int add_path(sl_py_paths *paths, PyObject *path) {
    PyObject *bytes = sl_py_path(path);
    int failed = bytes ? PyList_Append(paths->bytes, bytes) : -1;
    if (!failed)
        paths->at[paths->cnt++] = PyBytes_AsString(bytes);
    Py_XDECREF(bytes);
    return failed;
}

int sl_py_paths_init(sl_py_paths *paths, PyObject *given) {
    PyObject *items = PySequence_List(given);
    if (!items)
        return -1;
    Py_ssize_t cnt = PyList_Size(items);
    paths->bytes = PyList_New(0);
    paths->at = calloc((size_t)cnt + 1, sizeof *paths->at);
    paths->traces = calloc((size_t)cnt + 1, sizeof *paths->traces);
    int failed = paths->bytes && paths->at && paths->traces ? 0 : -1;
    if (failed)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < cnt; i++)
        failed = add_path(paths, PyList_GetItem(items, i)); /* borrowed */
    Py_DECREF(items);
    return failed;
}

sl_status sl_py_paths_load(sl_py_paths *paths, sl_error *err) {
    for (size_t i = 0; i < paths->cnt; i++)
        SL_TRY(sl_trace_load(paths->at[i], NULL, &paths->traces[i], err));
    return sl_run_new((const sl_trace *const *)paths->traces, paths->cnt, &paths->run, err);
}

PyObject *sl_py_take_text(const sl_py_state *state, sl_status status, char *text,
                          const sl_error *err) {
    PyObject *result =
        status < 0 ? sl_py_raise(&state->errors, err) : sl_py_text((sl_str){text, strlen(text)});
    free(text);
    return result;
}
