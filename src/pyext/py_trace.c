/* SPDX-License-Identifier: MIT */
/* Files of every readable kind: their report, and exports to other formats. Everything slow runs
 * without the GIL. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "api/oom_bundles.h"
#include "base/files/file_atomic.h"
#include "export/formats/exporter.h"
#include "export/report/report_format.h"
#include "pyext/py_paths.h"

/* ---- report ---- */

static sl_status print_report(const sl_py_paths *paths, const sl_analysis_options *options,
                              const sl_report_format *format, FILE *to, sl_error *err) {
    sl_report *report = NULL;
    const sl_report_wishes wishes = {.top = options->top};
    SL_TRY(sl_analyze(paths->run, options, &report, err));
    sl_status status = format->write(report, &wishes, to, err);
    sl_report_free(report);
    return status;
}

/* The caller frees *text. */
static sl_status make_report(sl_py_paths *paths, const sl_analysis_options *options,
                             const sl_report_format *format, char **text, sl_error *err) {
    size_t len;
    SL_TRY(sl_py_paths_load(paths, err));
    FILE *to = open_memstream(text, &len);
    if (!to)
        return sl_fail_no_memory(err, "the report");
    sl_status status = print_report(paths, options, format, to, err);
    if (fclose(to) != 0 && status == SL_OK)
        status = sl_fail_no_memory(err, "the report");
    return status;
}

static PyObject *trace_report(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"paths", "format", "device", "top", "filter", "whatif", NULL};
    sl_py_state *state = sl_py_state_of(module);
    PyObject *given, *device = Py_None; /* borrowed */
    const char *name = "json";
    unsigned int top = 10;
    int whatif = 1;
    sl_analysis_options options = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|s$OO&zp", names, &given, &name, &device,
                                     sl_py_unsigned, &top, &options.filter, &whatif))
        return NULL;
    const sl_report_format *format = sl_report_format_find(name);
    if (!format)
        return PyErr_Format(state->errors.classes[SL_PY_USAGE], "there is no report format '%s'",
                            name);
    options.top = top;
    if (sl_py_device(device, &options.has_device, &options.device) < 0)
        return NULL;
    sl_py_paths paths = {.no_whatif = !whatif};
    char *text = NULL;
    sl_error err = SL_ERROR_INIT;
    PyObject *result = NULL;
    if (sl_py_paths_init(&paths, given) == 0) {
        sl_status status;
        Py_BEGIN_ALLOW_THREADS status = make_report(&paths, &options, format, &text, &err);
        Py_END_ALLOW_THREADS result = status < 0 ? sl_py_raise(&state->errors, &err)
                                                 : sl_py_text((sl_str){text, strlen(text)});
    }
    free(text);
    sl_py_paths_fini(&paths);
    return result;
}

/* ---- export ---- */

static sl_status write_export(sl_py_paths *paths, const sl_exporter *exporter,
                              const sl_export_options *options, const char *output, sl_error *err) {
    if (exporter->wants & SL_EXPORT_FOLDER) {
        sl_oom_bundles_result result = {0}; /* of the first path, which must be a file */
        return sl_oom_bundles_write_all(paths->at[0], output, NULL, NULL, &result, err);
    }
    SL_TRY(sl_py_paths_load_each(paths, err));
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, output, err));
    sl_status status = exporter->write(&paths->run->inputs[0], options, out.stream, err);
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

static PyObject *trace_export(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"path", "kind", "output", "device", NULL};
    sl_py_state *state = sl_py_state_of(module);
    PyObject *path, *output, *device = Py_None; /* borrowed */
    const char *kind;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OsO|$O", names, &path, &kind, &output,
                                     &device))
        return NULL;
    const sl_exporter *exporter = sl_exporter_find(kind);
    if (!exporter)
        return PyErr_Format(state->errors.classes[SL_PY_USAGE], "there is no export format '%s'",
                            kind);
    sl_export_options options = {0};
    if (sl_py_device(device, &options.has_device, &options.device) < 0)
        return NULL;
    PyObject *one = PyTuple_Pack(1, path);
    PyObject *target = one ? sl_py_path(output) : NULL;
    sl_py_paths paths = {0};
    sl_error err = SL_ERROR_INIT;
    PyObject *result = NULL;
    if (target && sl_py_paths_init(&paths, one) == 0) {
        const char *to = PyBytes_AsString(target);
        sl_status status;
        Py_BEGIN_ALLOW_THREADS status = write_export(&paths, exporter, &options, to, &err);
        Py_END_ALLOW_THREADS result = status < 0 ? sl_py_raise(&state->errors, &err) : sl_py_none();
    }
    sl_py_paths_fini(&paths);
    Py_XDECREF(target);
    Py_XDECREF(one);
    return result;
}

static PyObject *export_kinds(PyObject *module, PyObject *unused) {
    SL_UNUSED(module);
    SL_UNUSED(unused);
    PyObject *kinds = PyTuple_New((Py_ssize_t)sl_exporter_cnt);
    for (size_t i = 0; kinds && i < sl_exporter_cnt; i++) {
        PyObject *name = PyUnicode_FromString(sl_exporters[i].name);
        if (!name || PyTuple_SetItem(kinds, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(kinds);
    }
    return kinds;
}

PyMethodDef sl_py_trace_methods[] = {
    {"export", SL_PY_KEYWORDS(trace_export), METH_VARARGS | METH_KEYWORDS,
     "export($module, path, kind, output, *, device=None)\n--\n\n"
     "Writes a readable file in another format; see export_kinds()."},
    {"export_kinds", export_kinds, METH_NOARGS,
     "export_kinds($module, /)\n--\n\nThe formats of export()."},
    {"report", SL_PY_KEYWORDS(trace_report), METH_VARARGS | METH_KEYWORDS,
     "report($module, paths, format='json', *, device=None, top=10, filter=None, "
     "whatif=True)\n--\n\n"
     "The report of `stormlog analyze` about these files, as a text."},
    {NULL, NULL, 0, NULL},
};
