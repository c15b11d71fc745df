/* SPDX-License-Identifier: MIT */
/* Whether an exception means that memory ran out. */
#include "model/oom_class.h"
#include "pyext/py_state.h"

static PyObject *classify_oom(PyObject *module, PyObject *args) {
    SL_UNUSED(module);
    const char *type, *origin;
    PyObject *message; /* borrowed */
    if (!PyArg_ParseTuple(args, "ssU", &type, &origin, &message))
        return NULL;
    /* Encoded here: a message may contain NUL and lone surrogates, which the format "s" refuses. */
    PyObject *bytes = PyUnicode_AsEncodedString(message, "utf-8", "replace");
    if (!bytes)
        return NULL;
    char reason[SL_OOM_REASON_CAP];
    bool is_oom = sl_oom_classify(type, origin, PyBytes_AsString(bytes), false, reason);
    Py_DECREF(bytes);
    return is_oom ? PyUnicode_FromString(reason) : sl_py_none();
}

PyMethodDef sl_py_oom_methods[] = {
    {"classify_oom", classify_oom, METH_VARARGS,
     "classify_oom($module, type, origin, message, /)\n--\n\n"
     "Why an exception of this class, module and text means that memory ran out, or None."},
    {NULL, NULL, 0, NULL},
};
