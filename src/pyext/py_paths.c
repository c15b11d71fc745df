/* SPDX-License-Identifier: MIT */
#include "pyext/py_paths.h"

#include <stdlib.h>
#include <string.h>

#include "api/cpus.h"
#include "api/recording_files.h"
#include "read/core/source.h"

void sl_py_paths_fini(sl_py_paths *paths) {
    sl_run_free(paths->run);
    for (size_t i = 0; i < paths->traces.cnt; i++)
        sl_trace_free(paths->traces.at[i]);
    sl_vec_free(&paths->traces);
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
    int failed = paths->bytes && paths->at ? 0 : -1;
    if (failed)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; !failed && i < cnt; i++)
        failed = add_path(paths, PyList_GetItem(items, i)); /* borrowed */
    Py_DECREF(items);
    return failed;
}

static sl_status load_file(sl_py_paths *paths, const char *path, sl_error *err) {
    sl_trace *trace;
    SL_TRY(sl_trace_load(path, NULL, &trace, err));
    if (sl_vec_push(&paths->traces, trace))
        return SL_OK;
    sl_trace_free(trace);
    return sl_fail_no_memory(err, "the list of inputs");
}

/* A damaged file in a folder is skipped, as on the command line; if all are damaged, the failure
 * of the first one is reported for the folder. */
static sl_status load_files(sl_py_paths *paths, const sl_recordings *list, sl_error *err) {
    size_t before = paths->traces.cnt;
    sl_error first = SL_ERROR_INIT;
    for (size_t i = 0; i < list->paths.cnt; i++) {
        sl_error here = SL_ERROR_INIT;
        if (load_file(paths, list->paths.at[i], &here) < 0 && first.code == 0)
            first = here;
    }
    if (paths->traces.cnt > before)
        return SL_OK;
    *err = first;
    return first.code;
}

static sl_status load_path(sl_py_paths *paths, const char *path, bool takes_one, sl_error *err) {
    sl_recordings list;
    const char *one;
    sl_status status = sl_recordings_list(&list, path, SL_FIND_INPUTS, err);
    if (status == SL_OK && takes_one)
        status = sl_recordings_one(&list, path, &one, err);
    if (status == SL_OK)
        status = load_files(paths, &list, err);
    sl_recordings_fini(&list);
    return status;
}

static sl_status load_all(sl_py_paths *paths, bool takes_one, sl_error *err) {
    for (size_t i = 0; i < paths->cnt; i++)
        SL_TRY(load_path(paths, paths->at[i], takes_one, err));
    SL_TRY(
        sl_run_new((const sl_trace *const *)paths->traces.at, paths->traces.cnt, &paths->run, err));
    paths->run->effort.thread_cnt = sl_usable_cpus();
    paths->run->effort.no_whatif = paths->no_whatif;
    return SL_OK;
}

sl_status sl_py_paths_load(sl_py_paths *paths, sl_error *err) {
    return load_all(paths, false, err);
}

sl_status sl_py_paths_load_each(sl_py_paths *paths, sl_error *err) {
    return load_all(paths, true, err);
}

PyObject *sl_py_take_text(const sl_py_state *state, sl_status status, char *text,
                          const sl_error *err) {
    PyObject *result =
        status < 0 ? sl_py_raise(&state->errors, err) : sl_py_text((sl_str){text, strlen(text)});
    free(text);
    return result;
}
