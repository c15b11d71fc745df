/* SPDX-License-Identifier: MIT */
/* The module stormlog._read: readers and analyses for Python. Recording does not load it. */
#include "pyext/py_chart.h"
#include "pyext/py_state.h"
#include "stormlog/version.h"

static PyMethodDef *const method_tables[] = {
    sl_py_attribution_methods, sl_py_counters_methods, sl_py_diff_methods,  sl_py_log_methods,
    sl_py_oom_methods,         sl_py_profile_methods,  sl_py_stats_methods, sl_py_telemetry_methods,
    sl_py_trace_methods,       sl_py_whatif_methods,
};

static int add_methods(PyObject *module) {
    for (size_t i = 0; i < SL_COUNT_OF(method_tables); i++)
        if (PyModule_AddFunctions(module, method_tables[i]) < 0)
            return -1;
    return 0;
}

static int import_json(sl_py_state *state) {
    PyObject *json = PyImport_ImportModule("json");
    if (!json)
        return -1;
    state->loads = PyObject_GetAttrString(json, "loads");
    state->dumps = PyObject_GetAttrString(json, "dumps");
    state->dumps_keywords = Py_BuildValue("{s:O,s:(ss)}", "default", (PyObject *)&PyUnicode_Type,
                                          "separators", ",", ":");
    Py_DECREF(json);
    return state->loads && state->dumps && state->dumps_keywords ? 0 : -1;
}

static int intern_fields(sl_py_state *state) {
    for (size_t i = 0; i < SL_TM_FIELD_CNT; i++) {
        state->fields[i] = PyUnicode_InternFromString(sl_tm_fields[i].name);
        if (!state->fields[i])
            return -1;
    }
    return 0;
}

static int read_exec(PyObject *module) {
    sl_py_state *state = sl_py_state_of(module);
    if (sl_py_errors_init(&state->errors, module) < 0 || import_json(state) < 0 ||
        intern_fields(state) < 0 || add_methods(module) < 0)
        return -1;
    PyObject *chart = sl_py_chart_type();
    int failed = sl_py_add_ref(module, "Chart", chart);
    Py_XDECREF(chart);
    if (failed)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", SL_VERSION_STRING);
}

static int read_traverse(PyObject *module, visitproc visit, void *arg) {
    sl_py_state *state = sl_py_state_of(module);
    if (!state)
        return 0;
    Py_VISIT(state->loads);
    Py_VISIT(state->dumps);
    Py_VISIT(state->dumps_keywords);
    for (size_t i = 0; i < SL_TM_FIELD_CNT; i++)
        Py_VISIT(state->fields[i]);
    return sl_py_errors_visit(&state->errors, visit, arg);
}

static int read_clear(PyObject *module) {
    sl_py_state *state = sl_py_state_of(module);
    if (!state)
        return 0;
    Py_CLEAR(state->loads);
    Py_CLEAR(state->dumps);
    Py_CLEAR(state->dumps_keywords);
    for (size_t i = 0; i < SL_TM_FIELD_CNT; i++)
        Py_CLEAR(state->fields[i]);
    sl_py_errors_clear(&state->errors);
    return 0;
}

static void read_free(void *module) {
    read_clear(module);
}

static PyModuleDef_Slot read_slots[] = {
    {Py_mod_exec, SL_PY_SLOT(read_exec)},
    {0, NULL},
};

static PyModuleDef read_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stormlog._read",
    .m_doc = "Readers and analyses of stormlog, in C. Use the names of the package stormlog.",
    .m_size = sizeof(sl_py_state),
    .m_slots = read_slots,
    .m_traverse = read_traverse,
    .m_clear = read_clear,
    .m_free = read_free,
};

PyMODINIT_FUNC PyInit__read(void);

PyMODINIT_FUNC PyInit__read(void) {
    return PyModuleDef_Init(&read_module);
}
