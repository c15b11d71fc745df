/* SPDX-License-Identifier: MIT */
/* Compares two files at their ends, by site. */
#include <stdio.h>

#include "analyze/analysis.h"
#include "export/report/diff_format.h"
#include "pyext/py_paths.h"

typedef struct diff_wish {
    bool has_device;
    int device;
    size_t top;
    const sl_diff_format *format;
} diff_wish;

typedef SL_VEC(sl_diff *) diff_vec;

static sl_status add_diff(sl_diff_pair pair, diff_vec *diffs, sl_error *err) {
    const sl_instant sides[] = {{.device = pair.before}, {.device = pair.after}};
    sl_diff *diff;
    SL_TRY(sl_diff_new(&sides[0], &sides[1], NULL, &diff, err));
    if (sl_vec_push(diffs, diff))
        return SL_OK;
    sl_diff_free(diff);
    return sl_fail_no_memory(err, "the comparison");
}

static sl_status compare(const sl_py_paths *paths, const diff_wish *wish, diff_vec *diffs,
                         sl_error *err) {
    sl_diff_pairs pairs = {0};
    sl_status status = SL_OK;
    if (!sl_diff_pair_devices(&paths->run->inputs[0], &paths->run->inputs[1],
                              wish->has_device ? &wish->device : NULL, &pairs))
        status = sl_fail_no_memory(err, "the comparison");
    for (size_t i = 0; i < pairs.cnt && status == SL_OK; i++)
        status = add_diff(pairs.at[i], diffs, err);
    sl_vec_free(&pairs);
    if (status == SL_OK && diffs->cnt == 0)
        status = sl_fail(err, SL_E_DEVICE, "the inputs have no such device in common");
    return status;
}

static sl_status print(const diff_vec *diffs, const diff_wish *wish, char **text, sl_error *err) {
    const sl_diff_list list = {(const sl_diff *const *)diffs->at, diffs->cnt, NULL};
    const sl_diff_wishes wishes = {.top = wish->top};
    size_t len;
    FILE *to = open_memstream(text, &len);
    if (!to)
        return sl_fail_no_memory(err, "the comparison");
    sl_status status = wish->format->write(&list, &wishes, to, err);
    if (fclose(to) != 0 && status == SL_OK)
        status = sl_fail_no_memory(err, "the comparison");
    return status;
}

static sl_status make_diff(sl_py_paths *paths, const diff_wish *wish, char **text, sl_error *err) {
    diff_vec diffs = {0};
    SL_TRY(sl_py_paths_load_each(paths, err));
    sl_status status = compare(paths, wish, &diffs, err);
    if (status == SL_OK)
        status = print(&diffs, wish, text, err);
    for (size_t i = 0; i < diffs.cnt; i++)
        sl_diff_free(diffs.at[i]);
    sl_vec_free(&diffs);
    return status;
}

static PyObject *trace_diff(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"before", "after", "format", "device", "top", NULL};
    sl_py_state *state = sl_py_state_of(module);
    PyObject *before, *after, *device = Py_None; /* borrowed */
    const char *name = "json";
    unsigned int top = 15;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|s$OO&", names, &before, &after, &name,
                                     &device, sl_py_unsigned, &top))
        return NULL;
    diff_wish wish = {.top = top};
    if (sl_py_device(device, &wish.has_device, &wish.device) < 0)
        return NULL;
    wish.format = sl_diff_format_find(name);
    if (!wish.format)
        return PyErr_Format(state->errors.classes[SL_PY_USAGE],
                            "there is no format '%s' for comparisons", name);
    PyObject *pair = PyTuple_Pack(2, before, after);
    sl_py_paths paths = {0};
    PyObject *result = NULL;
    if (pair && sl_py_paths_init(&paths, pair) == 0) {
        char *text = NULL;
        sl_error err = SL_ERROR_INIT;
        sl_status status;
        Py_BEGIN_ALLOW_THREADS status = make_diff(&paths, &wish, &text, &err);
        Py_END_ALLOW_THREADS result = sl_py_take_text(state, status, text, &err);
    }
    sl_py_paths_fini(&paths);
    Py_XDECREF(pair);
    return result;
}

PyMethodDef sl_py_diff_methods[] = {
    {"diff", SL_PY_KEYWORDS(trace_diff), METH_VARARGS | METH_KEYWORDS,
     "diff($module, before, after, format='json', *, device=None, top=15)\n--\n\n"
     "What grew and shrank from one file's end to the other's, as a text."},
    {NULL, NULL, 0, NULL},
};
