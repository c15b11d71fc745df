/* SPDX-License-Identifier: MIT */
/* Gap, collective and cross-rank analyses of telemetry events. The events are copied out of
 * Python first, so that the analyses run without the GIL. */
#include "analyze/samples/an_collective.h"
#include "analyze/samples/an_gap.h"
#include "analyze/samples/an_ranks.h"
#include "pyext/py_convert.h"
#include "ranks/rank_summary.h"

/* Appends a new reference and releases it. */
static int append_new(PyObject *list, PyObject *item) {
    int failed = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return failed;
}

/* ---- gap ---- */

static PyObject *evidence_dict(const sl_gap_finding *finding) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < finding->evidence_cnt; i++) {
        const sl_gap_number *number = &finding->evidence[i];
        PyObject *value = number->is_integer ? PyLong_FromDouble(number->value)
                                             : PyFloat_FromDouble(number->value);
        if (sl_py_set_item(dict, number->name, value) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *advice_list(sl_gap_class class_id, bool is_tensorflow) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < SL_GAP_ADVICE_CNT; i++)
        if (append_new(list, PyUnicode_FromString(sl_gap_advice(class_id, is_tensorflow, i))) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *gap_dict(const sl_gap_finding *finding, bool is_tensorflow) {
    return Py_BuildValue("{s:s,s:s,s:d,s:N,s:s,s:N}", "classification",
                         sl_gap_class_name(finding->class_id), "severity",
                         sl_severity_name(finding->severity), "confidence", finding->confidence,
                         "evidence", evidence_dict(finding), "description", finding->description,
                         "remediation", advice_list(finding->class_id, is_tensorflow));
}

static PyObject *gap_list(const sl_gap_result *result, bool is_tensorflow) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < result->cnt; i++)
        if (append_new(list, gap_dict(&result->at[i], is_tensorflow)) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *analyze_gaps(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"events",
                            "ratio_threshold",
                            "spike_zscore",
                            "drift_r_squared",
                            "fragmentation_ratio",
                            "tensorflow",
                            NULL};
    sl_py_state *state = sl_py_state_of(module);
    sl_gap_options options = sl_gap_defaults;
    PyObject *events; /* borrowed */
    int is_tensorflow = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$ddddp", names, &events,
                                     &options.ratio_threshold, &options.spike_zscore,
                                     &options.drift_r_squared, &options.fragmentation_ratio,
                                     &is_tensorflow))
        return NULL;
    sl_telemetry *set = sl_py_events(state, events);
    if (!set)
        return NULL;
    sl_gap_result result = {0};
    sl_error err = SL_ERROR_INIT;
    sl_status status;
    Py_BEGIN_ALLOW_THREADS status =
        sl_gap_analyze(set->records.at, set->records.cnt, &options, &result, &err);
    sl_telemetry_free(set);
    Py_END_ALLOW_THREADS return status < 0 ? sl_py_raise(&state->errors, &err)
                                           : gap_list(&result, is_tensorflow);
}

/* ---- collective ---- */

static int override_one(sl_py_state *state, sl_collective_config *config, PyObject *key,
                        PyObject *value) {
    sl_error err = SL_ERROR_INIT;
    PyObject *text = PyObject_Str(key);
    PyObject *name = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
    double number = name ? PyFloat_AsDouble(value) : 0;
    int failed = PyErr_Occurred() ? -1 : 0;
    if (!failed && sl_collective_override(config, PyBytes_AsString(name), number, &err) < 0) {
        sl_py_raise(&state->errors, &err);
        failed = -1;
    }
    Py_XDECREF(name);
    Py_XDECREF(text);
    return failed;
}

/* From a copy: a value's __float__ may change the dict during the iteration. */
static int override_all(sl_py_state *state, sl_collective_config *config, PyObject *overrides) {
    PyObject *key, *value; /* borrowed */
    Py_ssize_t position = 0;
    PyObject *copy = PyDict_Copy(overrides);
    int failed = copy ? 0 : -1;
    while (!failed && PyDict_Next(copy, &position, &key, &value))
        failed = override_one(state, config, key, value);
    Py_XDECREF(copy);
    return failed;
}

static int apply_overrides(sl_py_state *state, sl_collective_config *config, PyObject *overrides) {
    sl_error err = SL_ERROR_INIT;
    if (overrides != Py_None && override_all(state, config, overrides) < 0)
        return -1;
    if (sl_collective_validate(config, &err) == SL_OK)
        return 0;
    sl_py_raise(&state->errors, &err);
    return -1;
}

static int take_config(sl_py_state *state, const char *preset, PyObject *overrides,
                       sl_collective_config *config) {
    sl_error err = SL_ERROR_INIT;
    if (overrides != Py_None && !PyDict_Check(overrides)) {
        PyErr_SetString(PyExc_TypeError, "overrides must be a dict or None");
        return -1;
    }
    if (sl_collective_preset(preset, config, &err) < 0) {
        sl_py_raise(&state->errors, &err);
        return -1;
    }
    return apply_overrides(state, config, overrides);
}

static PyObject *collective_config(PyObject *module, PyObject *args) {
    const char *preset;
    PyObject *overrides = Py_None; /* borrowed */
    sl_collective_config config;
    if (!PyArg_ParseTuple(args, "s|O", &preset, &overrides) ||
        take_config(sl_py_state_of(module), preset, overrides, &config) < 0)
        return NULL;
    PyObject *dict = PyDict_New();
    const char *name;
    double value;
    bool is_integer;
    for (size_t i = 0; dict && sl_collective_field(&config, i, &name, &value, &is_integer); i++)
        if (sl_py_set_item(dict, name,
                           is_integer ? PyLong_FromDouble(value) : PyFloat_FromDouble(value)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *reason_list(uint32_t reasons) {
    PyObject *list = PyList_New(0);
    for (sl_collective_reason r = 0; list && r < SL_COLLECTIVE_REASON_CNT; r++)
        if (reasons & 1u << r &&
            append_new(list, PyUnicode_FromString(sl_collective_reason_name(r))) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *collective_dict(const sl_collective_result *r) {
    PyObject *ratio =
        r->peak_gap_ratio.known ? PyFloat_FromDouble(r->peak_gap_ratio.value) : sl_py_none();
    PyObject *evidence = Py_BuildValue(
        "{s:K,s:K,s:K,s:d,s:L,s:N,s:d}", "marker_hits", (unsigned long long)r->marker_hits,
        "synchronized_ranks", (unsigned long long)r->synchronized_ranks, "expected_world_size",
        (unsigned long long)r->expected_world_size, "synchrony_ratio", r->synchrony_ratio,
        "peak_gap_bytes", (long long)r->peak_gap_bytes, "peak_gap_ratio", ratio, "robust_zscore",
        r->robust_zscore);
    return Py_BuildValue("{s:i,s:L,s:L,s:s,s:d,s:N,s:N}", "rank", r->rank, "interval_start_ns",
                         (long long)r->interval_start_ns, "interval_end_ns",
                         (long long)r->interval_end_ns, "classification",
                         sl_collective_class_name(r->class_id), "confidence", r->confidence,
                         "reason_codes", reason_list(r->reasons), "evidence", evidence);
}

static PyObject *attribute_collective(PyObject *module, PyObject *args) {
    sl_py_state *state = sl_py_state_of(module);
    PyObject *events, *overrides = Py_None; /* borrowed */
    const char *preset = "medium";
    sl_collective_config config;
    if (!PyArg_ParseTuple(args, "O|sO", &events, &preset, &overrides) ||
        take_config(state, preset, overrides, &config) < 0)
        return NULL;
    sl_telemetry *set = sl_py_events(state, events);
    if (!set)
        return NULL;
    sl_collective_results results = {0};
    sl_error err = SL_ERROR_INIT;
    sl_status status;
    Py_BEGIN_ALLOW_THREADS status = sl_collective_attribute(set, &config, &results, &err);
    sl_telemetry_free(set);
    Py_END_ALLOW_THREADS PyObject *list =
        status < 0 ? sl_py_raise(&state->errors, &err) : PyList_New(0);
    for (size_t i = 0; list && i < results.cnt; i++)
        if (append_new(list, collective_dict(&results.at[i])) < 0)
            Py_CLEAR(list);
    sl_vec_free(&results);
    return list;
}

/* ---- ranks ---- */

static PyObject *row_tuple(const sl_rank_row *row) {
    return Py_BuildValue("(inL)", row->rank, (Py_ssize_t)row->sample_cnt,
                         (long long)row->offset_ns);
}

static PyObject *point_tuple(const sl_rank_point *p) {
    return Py_BuildValue("(iLLLLLL)", p->rank, (long long)p->timestamp_ns, (long long)p->aligned_ns,
                         (long long)p->used_bytes, (long long)p->reserved_bytes,
                         (long long)p->allocated_bytes, (long long)p->change_bytes);
}

static PyObject *suspect_tuple(const sl_rank_suspect *s) {
    return Py_BuildValue("(iLLLnLsn)", s->rank, (long long)s->first_spike_ns,
                         (long long)s->aligned_first_spike_ns, (long long)s->peak_delta_bytes,
                         (Py_ssize_t)s->spike_window_samples, (long long)s->lead_ns,
                         sl_rank_confidence_name(s->confidence), (Py_ssize_t)s->supporting_ranks);
}

/* A new list with one item for each element of a vector of the result; NULL with an exception. */
#define VECTOR_LIST(vec, convert, list)                  \
    do {                                                 \
        (list) = PyList_New(0);                          \
        for (size_t i = 0; (list) && i < (vec).cnt; i++) \
            if (append_new((list), convert) < 0)         \
                Py_CLEAR(list);                          \
    } while (0)

static PyObject *ranks_dict(const sl_ranks *ranks) {
    PyObject *rows, *missing, *points, *notes, *suspects;
    VECTOR_LIST(ranks->rows, row_tuple(&ranks->rows.at[i]), rows);
    VECTOR_LIST(ranks->missing, PyLong_FromLong(ranks->missing.at[i]), missing);
    VECTOR_LIST(ranks->points, point_tuple(&ranks->points.at[i]), points);
    VECTOR_LIST(ranks->notes, PyUnicode_FromString(ranks->notes.at[i]), notes);
    VECTOR_LIST(ranks->suspects, suspect_tuple(&ranks->suspects.at[i]), suspects);
    PyObject *onset =
        ranks->has_onset ? PyLong_FromLongLong((long long)ranks->onset_ns) : sl_py_none();
    /* N steals each reference, even when one is NULL and the call fails. */
    return Py_BuildValue(
        "{s:z,s:i,s:N,s:N,s:N,s:N,s:n,s:N,s:N}", "job_id", ranks->job_id, "world_size",
        ranks->world_size, "rows", rows, "missing", missing, "points", points, "notes", notes,
        "merge_notes", (Py_ssize_t)ranks->merge_note_cnt, "suspects", suspects, "onset_ns", onset);
}

static PyObject *merge_ranks(PyObject *module, PyObject *events) {
    sl_py_state *state = sl_py_state_of(module);
    sl_telemetry *set = sl_py_events(state, events);
    if (!set)
        return NULL;
    sl_ranks *ranks = NULL;
    sl_error err = SL_ERROR_INIT;
    sl_status status;
    Py_BEGIN_ALLOW_THREADS status = sl_ranks_new(set, &ranks, &err);
    sl_telemetry_free(set);
    Py_END_ALLOW_THREADS PyObject *dict =
        status < 0 ? sl_py_raise(&state->errors, &err) : ranks_dict(ranks);
    sl_ranks_free(ranks);
    return dict;
}

static PyObject *rank_of_path(PyObject *module, PyObject *path) {
    SL_UNUSED(module);
    PyObject *bytes = sl_py_path(path);
    if (!bytes)
        return NULL;
    int32_t rank;
    bool is_found = sl_rank_of_path(PyBytes_AsString(bytes), &rank);
    Py_DECREF(bytes);
    return is_found ? PyLong_FromLong(rank) : sl_py_none();
}

PyMethodDef sl_py_attribution_methods[] = {
    {"analyze_gaps", SL_PY_KEYWORDS(analyze_gaps), METH_VARARGS | METH_KEYWORDS,
     "analyze_gaps($module, events, *, ratio_threshold=0.05, spike_zscore=2.0,\n"
     "             drift_r_squared=0.6, fragmentation_ratio=0.3, tensorflow=False)\n--\n\n"
     "Hidden memory in a series of events; a list of dicts, most severe first."},
    {"attribute_collective", attribute_collective, METH_VARARGS,
     "attribute_collective($module, events, preset='medium', overrides=None, /)\n--\n\n"
     "Spikes of hidden memory near collective operations; a list of dicts."},
    {"collective_config", collective_config, METH_VARARGS,
     "collective_config($module, preset, overrides=None, /)\n--\n\n"
     "The thresholds of a preset after overrides, checked."},
    {"merge_ranks", merge_ranks, METH_O,
     "merge_ranks($module, events, /)\n--\n\n"
     "Several ranks on one time axis and who grew first; a dict."},
    {"rank_of_path", rank_of_path, METH_O,
     "rank_of_path($module, path, /)\n--\n\n"
     "The rank that a file's name or one of its folders has (rank3, rank_3); None without one."},
    {NULL, NULL, 0, NULL},
};
