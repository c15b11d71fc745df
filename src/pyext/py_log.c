/* SPDX-License-Identifier: MIT */
/* The state of a recording: how it ended and what it could not keep. Also works while the
 * recording is being written. */
#include "log/read/log_reader.h"
#include "pyext/py_convert.h"

typedef struct health_row {
    int number;
    const char *name;
} health_row;

static const health_row rows[] = {
#define HEALTH_ROW(number, name, text, lossy, meaning) {number, text},
    SL_HEALTH_MAP(HEALTH_ROW)
#undef HEALTH_ROW
};

static PyObject *health_dict(const sl_log_reader *reader) {
    const sl_fmt_state *file = sl_log_state(reader);
    PyObject *dict = PyDict_New();
    if (!dict ||
        sl_py_set_item(dict, "ending",
                       PyUnicode_FromString(sl_log_ending_name(sl_log_get_ending(reader)))) < 0 ||
        sl_py_set_item(dict, "file_bytes", PyLong_FromUnsignedLongLong(sl_log_size(reader))) < 0)
        Py_CLEAR(dict);
    for (size_t i = 0; dict && i < SL_COUNT_OF(rows); i++)
        if (sl_py_set_item(dict, rows[i].name,
                           PyLong_FromUnsignedLongLong(file->health[rows[i].number])) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *log_health(PyObject *module, PyObject *path) {
    PyObject *bytes = sl_py_path(path);
    if (!bytes)
        return NULL;
    const char *name = PyBytes_AsString(bytes);
    sl_log_reader *reader = NULL;
    sl_error err = SL_ERROR_INIT;
    sl_status status;
    Py_BEGIN_ALLOW_THREADS status = sl_log_open(name, &reader, &err);
    Py_END_ALLOW_THREADS PyObject *dict = NULL;
    if (status < 0) {
        sl_error_prefix(&err, "cannot read '%s'", name);
        sl_py_raise(&sl_py_state_of(module)->errors, &err);
    } else {
        dict = health_dict(reader);
    }
    sl_log_reader_close(reader);
    Py_DECREF(bytes);
    return dict;
}

PyMethodDef sl_py_log_methods[] = {
    {"log_health", log_health, METH_O,
     "log_health($module, path, /)\n--\n\n"
     "How a recording ended ('closed', 'live', 'killed', ...), its size, and its health counters."},
    {NULL, NULL, 0, NULL},
};
