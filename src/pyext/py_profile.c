/* SPDX-License-Identifier: MIT */
/* Patterns, insights and score of measured calls. */
#include <stdlib.h>

#include "memprof/profile_report.h"
#include "pyext/py_convert.h"

/* ---- calls from Python ---- */

/* The texts of the calls are borrowed from these bytes objects. */
typedef struct call_list {
    sl_profile_call *at; /* owned */
    size_t cnt;
    PyObject *names; /* owned; list of bytes */
} call_list;

/* (function, seconds, before_time, after_time, before, after, after_reserved, peak) */
static int take_call(PyObject *row, PyObject *names, sl_profile_call *call) {
    PyObject *function; /* borrowed */
    long long numbers[4];
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "each call must be a tuple of 8 values");
        return -1;
    }
    if (!PyArg_ParseTuple(row, "UdddLLLL", &function, &call->seconds, &call->before_time,
                          &call->after_time, &numbers[0], &numbers[1], &numbers[2], &numbers[3]))
        return -1;
    call->before_allocated = numbers[0];
    call->after_allocated = numbers[1];
    call->after_reserved = numbers[2];
    call->peak_allocated = numbers[3];
    PyObject *bytes = PyUnicode_AsEncodedString(function, "utf-8", "replace");
    int failed = bytes ? PyList_Append(names, bytes) : -1;
    call->function = failed ? NULL : PyBytes_AsString(bytes);
    Py_XDECREF(bytes);
    return failed;
}

static int take_calls(PyObject *rows, call_list *calls) {
    PyObject *items = PySequence_List(rows);
    size_t cnt = items ? (size_t)PyList_Size(items) : 0;
    calls->names = PyList_New(0);
    calls->at = calloc(cnt ? cnt : 1, sizeof *calls->at);
    int failed = items && calls->names && calls->at ? 0 : -1;
    if (!calls->at)
        PyErr_NoMemory();
    for (; !failed && calls->cnt < cnt; calls->cnt++)
        failed = take_call(PyList_GetItem(items, (Py_ssize_t)calls->cnt), /* borrowed */
                           calls->names, &calls->at[calls->cnt]);
    Py_XDECREF(items);
    return failed;
}

/* ---- report to Python ---- */

static PyObject *name_list(const char *const *names, size_t cnt) {
    PyObject *list = PyList_New((Py_ssize_t)cnt);
    for (size_t i = 0; list && i < cnt; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *datum_object(const sl_profile_datum *datum) {
    switch (datum->kind) {
    case SL_PROFILE_INT: return PyLong_FromLongLong((long long)datum->number);
    case SL_PROFILE_REAL: return PyFloat_FromDouble(datum->real);
    case SL_PROFILE_TEXT: return PyUnicode_FromString(datum->text);
    case SL_PROFILE_NAMES: return name_list(datum->names, datum->name_cnt);
    case SL_PROFILE_PAIR: return Py_BuildValue("[sd]", datum->text, datum->real);
    }
    return NULL;
}

static PyObject *data_dict(const sl_profile_datum *data, size_t cnt) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < cnt; i++)
        if (sl_py_set_item(dict, data[i].name, datum_object(&data[i])) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *pattern_dict(const sl_profile_pattern *p) {
    return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N}", "pattern_type", p->type, "description",
                         p->description, "severity", sl_severity_name(p->severity),
                         "affected_functions", name_list(p->functions, p->function_cnt), "metrics",
                         data_dict(p->metrics, p->metric_cnt), "suggestions",
                         name_list(p->suggestions, SL_PROFILE_TIP_CNT));
}

static PyObject *insight_dict(const sl_profile_insight *in) {
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:d,s:N,s:N}", "category", in->category, "title",
                         in->title, "description", in->description, "impact",
                         sl_profile_impact_name(in->impact), "confidence", in->confidence, "data",
                         data_dict(in->data, in->data_cnt), "recommendations",
                         name_list(in->recommendations, SL_PROFILE_TIP_CNT));
}

static PyObject *report_dict(const sl_profile_report *report) {
    PyObject *patterns = PyList_New((Py_ssize_t)report->patterns.cnt);
    for (size_t i = 0; patterns && i < report->patterns.cnt; i++) {
        PyObject *item = pattern_dict(&report->patterns.at[i]);
        if (!item || PyList_SetItem(patterns, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(patterns);
    }
    PyObject *insights = PyList_New((Py_ssize_t)report->insights.cnt);
    for (size_t i = 0; insights && i < report->insights.cnt; i++) {
        PyObject *item = insight_dict(&report->insights.at[i]);
        if (!item || PyList_SetItem(insights, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(insights);
    }
    PyObject *score = Py_BuildValue("{s:i,s:s,s:s,s:n}", "score", report->score.score, "grade",
                                    report->score.grade, "description", report->score.description,
                                    "issues_found", (Py_ssize_t)report->score.issues_found);
    return Py_BuildValue("{s:N,s:N,s:N}", "patterns", patterns, "insights", insights, "score",
                         score);
}

/* ---- the function ---- */

/* Not "< 0 || > 1": a NaN must not pass, because it would become an index. */
static int check_share(const char *name, double share) {
    if (share >= 0 && share <= 1)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s must be 0 to 1", name);
    return -1;
}

static PyObject *profile_report(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"calls",
                            "memory_leak_ratio",
                            "fragmentation_ratio",
                            "inefficient_allocation_ratio",
                            "slow_function_percentile",
                            "high_memory_percentile",
                            "min_calls_for_analysis",
                            NULL};
    sl_py_state *state = sl_py_state_of(module);
    sl_profile_thresholds t = sl_profile_defaults;
    long long min_calls = t.min_calls_for_analysis;
    PyObject *rows; /* borrowed */
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$dddddL", names, &rows,
                                     &t.memory_leak_ratio, &t.fragmentation_ratio,
                                     &t.inefficient_allocation_ratio, &t.slow_function_percentile,
                                     &t.high_memory_percentile, &min_calls))
        return NULL;
    if (check_share(names[4], t.slow_function_percentile) < 0 ||
        check_share(names[5], t.high_memory_percentile) < 0)
        return NULL;
    t.min_calls_for_analysis = min_calls;
    call_list calls = {0};
    sl_profile_report *report = NULL;
    sl_error err = SL_ERROR_INIT;
    PyObject *result = NULL;
    if (take_calls(rows, &calls) == 0) {
        sl_status status;
        Py_BEGIN_ALLOW_THREADS status =
            sl_profile_report_new(calls.at, calls.cnt, &t, &report, &err);
        Py_END_ALLOW_THREADS result =
            status < 0 ? sl_py_raise(&state->errors, &err) : report_dict(report);
    }
    sl_profile_report_free(report);
    free(calls.at);
    Py_XDECREF(calls.names);
    return result;
}

PyMethodDef sl_py_profile_methods[] = {
    {"profile_report", SL_PY_KEYWORDS(profile_report), METH_VARARGS | METH_KEYWORDS,
     "profile_report($module, calls, *, memory_leak_ratio=0.1, fragmentation_ratio=0.3,\n"
     "               inefficient_allocation_ratio=0.5, slow_function_percentile=0.9,\n"
     "               high_memory_percentile=0.9, min_calls_for_analysis=3)\n--\n\n"
     "Patterns, insights and score of measured calls, each a tuple (function, seconds,\n"
     "before_time, after_time, before_allocated, after_allocated, after_reserved, "
     "peak_allocated)."},
    {NULL, NULL, 0, NULL},
};
