/* SPDX-License-Identifier: MIT */
/* Telemetry records: checked and converted one by one, loaded from files. */
#include <string.h>

#include "pyext/py_convert.h"
#include "telemetry/telemetry_read.h"

static PyObject *validate_record(PyObject *module, PyObject *mapping) {
    sl_telemetry *set = sl_telemetry_new();
    if (!set)
        return PyErr_NoMemory();
    sl_tm_record record;
    int failed = sl_py_record(sl_py_state_of(module), mapping, NULL, set, &record);
    sl_telemetry_free(set);
    return failed ? NULL : sl_py_none();
}

static PyObject *convert_record(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"record", "permissive_legacy", "default_collector",
                            "default_sampling_interval_ms", NULL};
    sl_py_state *state = sl_py_state_of(module);
    PyObject *mapping; /* borrowed */
    int is_permissive = 1;
    long long interval_ms = 0;
    sl_tm_convert how = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|psL", names, &mapping, &is_permissive,
                                     &how.default_collector, &interval_ms))
        return NULL;
    how.refuses_legacy = !is_permissive;
    how.default_interval_ms = interval_ms;
    sl_telemetry *set = sl_telemetry_new();
    if (!set)
        return PyErr_NoMemory();
    sl_tm_record record;
    PyObject *dict = NULL;
    if (sl_py_record(state, mapping, &how, set, &record) == 0)
        dict = sl_py_record_dict(state, set, &record);
    sl_telemetry_free(set);
    return dict;
}

/* ---- files ---- */

/* The loader's messages about records that it skipped. */
typedef struct bad_list {
    PyObject *texts; /* owned; list of str */
    PyThreadState *thread;
} bad_list;

/* Called without the GIL, so it takes the GIL for the list. A message that cannot be stored is
 * dropped; its record is still counted. */
static void note_bad(void *ctx, const sl_error *err) {
    bad_list *bad = ctx;
    PyEval_RestoreThread(bad->thread);
    PyObject *text = sl_py_text((sl_str){err->text, strlen(err->text)});
    if (!text || PyList_Append(bad->texts, text) < 0)
        PyErr_Clear();
    Py_XDECREF(text);
    bad->thread = PyEval_SaveThread();
}

static sl_status load_unlocked(const char *path, sl_tm_load_options *options, sl_telemetry *set,
                               sl_error *err) {
    bad_list *bad = options->ctx;
    bad->thread = PyEval_SaveThread();
    sl_status status = sl_telemetry_load(path, options, set, err);
    PyEval_RestoreThread(bad->thread);
    return status;
}

static PyObject *records_list(sl_py_state *state, const sl_telemetry *set) {
    PyObject *list = PyList_New((Py_ssize_t)set->records.cnt);
    for (size_t i = 0; list && i < set->records.cnt; i++) {
        PyObject *dict = sl_py_record_dict(state, set, &set->records.at[i]);
        if (!dict || PyList_SetItem(list, (Py_ssize_t)i, dict) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *load_set(sl_py_state *state, const char *path, sl_tm_load_options *options) {
    bad_list *bad = options->ctx;
    sl_telemetry *set = sl_telemetry_new();
    sl_error err = SL_ERROR_INIT;
    PyObject *result = NULL;
    if (!set)
        return PyErr_NoMemory();
    if (load_unlocked(path, options, set, &err) < 0)
        sl_py_raise(&state->errors, &err);
    else
        result = Py_BuildValue("(NOKN)", records_list(state, set), bad->texts,
                               (unsigned long long)set->legacy_cnt,
                               PyBool_FromLong(set->unranked_cnt == 0));
    sl_telemetry_free(set);
    return result;
}

static PyObject *load_records(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"path",      "permissive_legacy",  "events_key",
                            "skips_bad", "reads_bundle_names", NULL};
    PyObject *path; /* borrowed */
    int is_permissive = 1, skips_bad = 0, reads_bundle = 0;
    bad_list bad = {0};
    sl_tm_load_options options = {.on_bad = note_bad, .ctx = &bad};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|pzpp", names, &path, &is_permissive,
                                     &options.events_key, &skips_bad, &reads_bundle))
        return NULL;
    options.convert.refuses_legacy = !is_permissive;
    options.convert.reads_bundle_names = reads_bundle;
    options.skips_bad = skips_bad;
    PyObject *bytes = sl_py_path(path);
    bad.texts = bytes ? PyList_New(0) : NULL;
    PyObject *result = NULL;
    if (bad.texts)
        result = load_set(sl_py_state_of(module), PyBytes_AsString(bytes), &options);
    Py_XDECREF(bad.texts);
    Py_XDECREF(bytes);
    return result;
}

static PyObject *field_names(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    sl_py_state *state = sl_py_state_of(module);
    PyObject *names = PyTuple_New(SL_TM_FIELD_CNT);
    for (Py_ssize_t i = 0; names && i < SL_TM_FIELD_CNT; i++) {
        Py_INCREF(state->fields[i]);
        PyTuple_SetItem(names, i, state->fields[i]);
    }
    return names;
}

PyMethodDef sl_py_telemetry_methods[] = {
    {"convert_record", SL_PY_KEYWORDS(convert_record), METH_VARARGS | METH_KEYWORDS,
     "convert_record($module, record, permissive_legacy=True, default_collector='legacy.unknown',\n"
     "               default_sampling_interval_ms=0)\n--\n\n"
     "A mapping as a version 2 record: a dict of the 22 fields. Raises FormatError."},
    {"field_names", field_names, METH_NOARGS,
     "field_names($module, /)\n--\n\nThe 22 fields of a record, in the order of the files."},
    {"load_records", SL_PY_KEYWORDS(load_records), METH_VARARGS | METH_KEYWORDS,
     "load_records($module, path, permissive_legacy=True, events_key=None, skips_bad=False,\n"
     "             reads_bundle_names=False)\n--\n\n"
     "(records, texts about records left out, number of converted ones, whether every record has a "
     "rank of its own) of a telemetry file."},
    {"validate_record", validate_record, METH_O,
     "validate_record($module, record, /)\n--\n\n"
     "Raises FormatError (a ValueError) naming the first thing that is wrong with a version 2 "
     "record."},
    {NULL, NULL, 0, NULL},
};
