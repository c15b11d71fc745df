/* SPDX-License-Identifier: MIT */
/* The statistics of the analyses as functions on sequences of numbers. */
#include <math.h>
#include <stdlib.h>

#include "base/stats/sample_stats.h"
#include "pyext/py_convert.h"

typedef struct series {
    double *values; /* owned */
    size_t cnt;
} series;

/* Two sequences of the same length; the caller releases both, even after a failure. */
static int take_pair(PyObject *args, series *x, series *y) {
    PyObject *first, *second; /* borrowed */
    if (!PyArg_ParseTuple(args, "OO", &first, &second) ||
        sl_py_doubles(first, &x->values, &x->cnt) < 0 ||
        sl_py_doubles(second, &y->values, &y->cnt) < 0)
        return -1;
    if (x->cnt == y->cnt)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected as many x as y, found %zu and %zu", x->cnt, y->cnt);
    return -1;
}

static PyObject *stats_fit(PyObject *module, PyObject *args) {
    SL_UNUSED(module);
    series x = {0}, y = {0};
    PyObject *result = NULL;
    sl_fit fit;
    if (take_pair(args, &x, &y) == 0)
        result = sl_stat_fit(x.values, y.values, x.cnt, &fit)
                     ? Py_BuildValue("(dddd)", fit.slope, fit.intercept, fit.r, fit.p_value)
                     : sl_py_none();
    free(x.values);
    free(y.values);
    return result;
}

static PyObject *stats_pearson(PyObject *module, PyObject *args) {
    SL_UNUSED(module);
    series x = {0}, y = {0};
    PyObject *result = NULL;
    if (take_pair(args, &x, &y) == 0)
        result = PyFloat_FromDouble(sl_stat_pearson(x.values, y.values, x.cnt));
    free(x.values);
    free(y.values);
    return result;
}

static PyObject *stats_mean_stdev(PyObject *module, PyObject *values) {
    SL_UNUSED(module);
    series x = {0};
    if (sl_py_doubles(values, &x.values, &x.cnt) < 0)
        return NULL;
    PyObject *result =
        Py_BuildValue("(dd)", sl_stat_mean(x.values, x.cnt), sl_stat_stdev(x.values, x.cnt));
    free(x.values);
    return result;
}

static PyObject *stats_quantile(PyObject *module, PyObject *args) {
    SL_UNUSED(module);
    PyObject *values; /* borrowed */
    double share;
    series x = {0};
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "Od", &values, &share) ||
        sl_py_doubles(values, &x.values, &x.cnt) < 0)
        return NULL;
    if (x.cnt == 0 || !(share >= 0 && share <= 1)) {
        PyErr_SetString(PyExc_ValueError, "expected at least one value and a share from 0 to 1");
    } else {
        sl_stat_sort(x.values, x.cnt);
        result = PyFloat_FromDouble(sl_stat_quantile(x.values, x.cnt, share));
    }
    free(x.values);
    return result;
}

PyMethodDef sl_py_stats_methods[] = {
    {"fit", stats_fit, METH_VARARGS,
     "fit($module, x, y, /)\n--\n\nLeast squares of y on x: (slope, intercept, r, p_value), or "
     "None "
     "when x does not vary\nor there are fewer than three points."},
    {"mean_stdev", stats_mean_stdev, METH_O,
     "mean_stdev($module, values, /)\n--\n\nMean, and standard deviation with n - 1."},
    {"pearson", stats_pearson, METH_VARARGS,
     "pearson($module, x, y, /)\n--\n\nPearson's r; nan when one side does not vary."},
    {"quantile", stats_quantile, METH_VARARGS,
     "quantile($module, values, share, /)\n--\n\nQuantile with linear interpolation between the "
     "closest ranks; share is 0 to 1."},
    {NULL, NULL, 0, NULL},
};
