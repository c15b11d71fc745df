/* SPDX-License-Identifier: MIT */
#include "pyext/py_chart.h"

#include <stdlib.h>

#include "base/files/file_atomic.h"
#include "plot/canvas/chart.h"
#include "pyext/py_convert.h"

typedef struct chart_object {
    PyObject ob_base; /* as PyObject_HEAD, which is a macro without a semicolon */
    sl_chart *chart;  /* owned */
} chart_object;

static sl_chart *chart_of(PyObject *self) {
    return ((chart_object *)self)->chart;
}

/* Failures here are the caller's mistakes or lack of memory, so plain Python exceptions are
 * enough. */
static PyObject *finish(sl_status status, const sl_error *err) {
    if (status >= 0)
        return sl_py_none();
    if (status == SL_E_NOMEM)
        return PyErr_NoMemory();
    PyObject *kind = status == SL_E_USAGE         ? PyExc_ValueError
                     : status == SL_E_UNSUPPORTED ? PyExc_RuntimeError
                                                  : PyExc_OSError;
    PyErr_SetString(kind, err->text);
    return NULL;
}

static PyObject *chart_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"title", "width", "height", "columns", NULL};
    const char *title;
    int width = 1200, height = 800, columns = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|iii", names, &title, &width, &height,
                                     &columns))
        return NULL;
    if (width < 200 || height < 200 || width > 20000 || height > 20000) {
        PyErr_SetString(PyExc_ValueError, "width and height must be 200 to 20000");
        return NULL;
    }
    chart_object *made = (chart_object *)PyType_GenericNew(type, NULL, NULL);
    if (made && !(made->chart = sl_chart_new(title, width, height, columns))) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    return (PyObject *)made;
}

static void chart_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    sl_chart_free(chart_of(self));
    release(self);
    Py_DECREF(type);
}

static PyObject *chart_panel(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"kind", "title", "x_label", "y_label", NULL};
    const char *kind_name, *title, *x_label = "", *y_label = "";
    sl_chart_kind kind;
    sl_error err = SL_ERROR_INIT;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ss|ss", names, &kind_name, &title, &x_label,
                                     &y_label))
        return NULL;
    if (!sl_chart_kind_find(kind_name, &kind))
        return PyErr_Format(PyExc_ValueError, "there is no kind of panel '%s'", kind_name);
    sl_status status = sl_chart_panel_begin(chart_of(self), kind, title, &err);
    if (status >= 0)
        status = sl_chart_set_axes(chart_of(self), x_label, y_label, &err);
    return finish(status, &err);
}

static PyObject *chart_series(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *xs, *ys; /* borrowed */
    double *x = NULL, *y = NULL;
    size_t x_cnt = 0, y_cnt = 0;
    sl_error err = SL_ERROR_INIT;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "sOO", &name, &xs, &ys))
        return NULL;
    if (sl_py_doubles(ys, &y, &y_cnt) == 0 &&
        (xs == Py_None || sl_py_doubles(xs, &x, &x_cnt) == 0)) {
        if (x && x_cnt != y_cnt)
            PyErr_Format(PyExc_ValueError, "expected as many x as y, found %zu and %zu", x_cnt,
                         y_cnt);
        else
            result = finish(sl_chart_add_series(chart_of(self), name, x, y, y_cnt, &err), &err);
    }
    free(x);
    free(y);
    return result;
}

static PyObject *chart_label(PyObject *self, PyObject *args) {
    const char *text;
    sl_error err = SL_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "s", &text))
        return NULL;
    return finish(sl_chart_add_label(chart_of(self), text, &err), &err);
}

static PyObject *chart_note(PyObject *self, PyObject *args) {
    sl_chart_note note = {0};
    PyObject *y = Py_None; /* borrowed */
    sl_error err = SL_ERROR_INIT;
    if (!PyArg_ParseTuple(args, "sd|O", &note.text, &note.x, &y))
        return NULL;
    note.is_point = y != Py_None;
    note.y = note.is_point ? PyFloat_AsDouble(y) : 0;
    if (PyErr_Occurred())
        return NULL;
    return finish(sl_chart_add_note(chart_of(self), &note, &err), &err);
}

static sl_status write_file(const sl_chart *chart, const char *path, sl_error *err) {
    sl_file_out out;
    sl_chart_form form;
    if (!sl_chart_form_find(path, &form))
        return sl_fail(err, SL_E_USAGE, "cannot draw '%s': expected .svg, .html or .png", path);
    SL_TRY(sl_file_out_open(&out, path, err));
    sl_status status = sl_chart_write(chart, form, out.stream, err);
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

static PyObject *chart_write(PyObject *self, PyObject *path) {
    PyObject *bytes = sl_py_path(path);
    if (!bytes)
        return NULL;
    sl_error err = SL_ERROR_INIT;
    /* The GIL is kept: nothing else stops another thread from adding to this chart meanwhile. */
    sl_status status = write_file(chart_of(self), PyBytes_AsString(bytes), &err);
    Py_DECREF(bytes);
    return finish(status, &err);
}

static PyObject *chart_svg(PyObject *self, PyObject *unused) {
    SL_UNUSED(unused);
    char *text = NULL;
    size_t len = 0;
    sl_error err = SL_ERROR_INIT;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        return PyErr_NoMemory();
    sl_status status = sl_chart_write(chart_of(self), SL_CHART_SVG, to, &err);
    bool is_closed = fclose(to) == 0;
    PyObject *result = NULL;
    if (status < 0)
        finish(status, &err);
    else
        result = is_closed ? sl_py_text((sl_str){text, len}) : PyErr_NoMemory();
    free(text);
    return result;
}

static PyMethodDef chart_methods[] = {
    {"label", chart_label, METH_VARARGS,
     "label($self, text, /)\n--\n\nThe name of the next bar or row."},
    {"note", chart_note, METH_VARARGS,
     "note($self, text, x, y=None, /)\n--\n\nA vertical line at x, or with y a marked point."},
    {"panel", SL_PY_KEYWORDS(chart_panel), METH_VARARGS | METH_KEYWORDS,
     "panel($self, kind, title, x_label='', y_label='')\n--\n\n"
     "Begins a panel of 'lines', 'points', 'bars' or 'cells'; what follows goes into it."},
    {"series", chart_series, METH_VARARGS,
     "series($self, name, x, y, /)\n--\n\nData; x may be None."},
    {"svg", chart_svg, METH_NOARGS, "svg($self, /)\n--\n\nThe picture as SVG text."},
    {"write", chart_write, METH_O,
     "write($self, path, /)\n--\n\nWrites .svg, .html or .png, by the end of the name."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot chart_slots[] = {
    {Py_tp_doc, "Chart(title, width=1200, height=800, columns=1)\n--\n\n"
                "A small chart: panels side by side, drawn as SVG."},
    {Py_tp_new, SL_PY_SLOT(chart_new)},
    {Py_tp_dealloc, SL_PY_SLOT(chart_dealloc)},
    {Py_tp_methods, chart_methods},
    {0, NULL},
};

static PyType_Spec chart_spec = {
    .name = "stormlog._read.Chart",
    .basicsize = sizeof(chart_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = chart_slots,
};

PyObject *sl_py_chart_type(void) {
    return PyType_FromSpec(&chart_spec);
}
