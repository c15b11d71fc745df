/* SPDX-License-Identifier: MIT */
/* What other allocator settings would have done; the replay runs without the GIL. */
#include <stdio.h>
#include <stdlib.h>

#include "api/cpus.h"
#include "api/whatif_answers.h"
#include "base/text/human.h"
#include "export/whatif/whatif_format.h"
#include "pyext/py_paths.h"

typedef struct whatif_wish {
    sl_whatif_options options;
    SL_VEC(sl_alloc_settings) settings;
    const sl_whatif_format *format;
    bool has_device;
    int device;
} whatif_wish;

/* ---- arguments ---- */

static int take_card_text(const sl_py_state *state, PyObject *text, uint64_t *bytes) {
    sl_error err = SL_ERROR_INIT;
    PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    if (!encoded)
        return -1;
    sl_status status = sl_human_parse_bytes(PyBytes_AsString(encoded), bytes, &err);
    Py_DECREF(encoded);
    if (status < 0)
        sl_py_raise(&state->errors, &err);
    return status < 0 ? -1 : 0;
}

/* A number of bytes, a text such as "24GiB", or None. */
static int take_card(const sl_py_state *state, PyObject *given, sl_maybe_u64 *card) {
    uint64_t bytes = 0;
    if (given == Py_None)
        return 0;
    if (PyUnicode_Check(given)) {
        if (take_card_text(state, given, &bytes) < 0)
            return -1;
    } else {
        bytes = PyLong_AsUnsignedLongLong(given);
        if (PyErr_Occurred())
            return -1;
    }
    *card = sl_known_u64(bytes);
    return 0;
}

static int take_set(const sl_py_state *state, PyObject *item, whatif_wish *wish) {
    sl_error err = SL_ERROR_INIT;
    sl_alloc_settings settings;
    if (!PyUnicode_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "each of the settings must be a str");
        return -1;
    }
    PyObject *encoded = PyUnicode_AsEncodedString(item, "utf-8", "replace");
    if (!encoded)
        return -1;
    sl_str text = {PyBytes_AsString(encoded), (size_t)PyBytes_Size(encoded)};
    sl_status status = sl_whatif_read_set(text, &settings, &err);
    Py_DECREF(encoded);
    if (status < 0) {
        sl_py_raise(&state->errors, &err);
        return -1;
    }
    if (sl_vec_push(&wish->settings, settings))
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* A sequence of texts. A single text is refused, because it would be read as a sequence of
 * letters. */
static int take_sets(const sl_py_state *state, PyObject *given, whatif_wish *wish) {
    if (!given)
        return 0;
    if (PyUnicode_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "settings must be a sequence of str, not str");
        return -1;
    }
    PyObject *items = PySequence_List(given);
    int failed = items ? 0 : -1;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(items); i++)
        failed = take_set(state, PyList_GetItem(items, i), wish); /* borrowed */
    Py_XDECREF(items);
    wish->options.settings = wish->settings.at;
    wish->options.setting_cnt = wish->settings.cnt;
    return failed;
}

/* ---- the answer ---- */

static sl_status answer(const sl_py_paths *paths, const whatif_wish *wish,
                        sl_whatif_answers *answers, sl_error *err) {
    const int *only = wish->has_device ? &wish->device : NULL;
    if (paths->run->input_cnt == 0)
        return sl_fail(err, SL_E_USAGE, "no input was given");
    SL_TRY(sl_whatif_check_filters(paths->run, &wish->options, err));
    for (size_t i = 0; i < paths->run->input_cnt; i++)
        SL_TRY(sl_whatif_answer_input(&paths->run->inputs[i], only, &wish->options, answers, err));
    if (answers->cnt == 0 && only)
        return sl_fail(err, SL_E_DEVICE, "the inputs have no device %d", *only);
    return answers->cnt ? SL_OK : sl_whatif_no_history(&paths->run->inputs[0], err);
}

static sl_status print(const sl_whatif_answers *answers, const whatif_wish *wish, char **text,
                       sl_error *err) {
    const sl_whatif_list list = {(const sl_whatif *const *)answers->at, answers->cnt, false};
    size_t len;
    FILE *to = open_memstream(text, &len);
    if (!to)
        return sl_fail_no_memory(err, "the answer");
    sl_status status = wish->format->write(&list, to, err);
    if (fclose(to) != 0 && status == SL_OK)
        status = sl_fail_no_memory(err, "the answer");
    return status;
}

/* The caller frees *text. */
static sl_status make_answer(sl_py_paths *paths, const whatif_wish *wish, char **text,
                             sl_error *err) {
    sl_whatif_answers answers = {0};
    SL_TRY(sl_py_paths_load(paths, err));
    sl_status status = answer(paths, wish, &answers, err);
    if (status == SL_OK)
        status = print(&answers, wish, text, err);
    sl_whatif_answers_fini(&answers);
    return status;
}

static PyObject *run_wish(const sl_py_state *state, PyObject *given, const whatif_wish *wish) {
    sl_py_paths paths = {0};
    sl_error err = SL_ERROR_INIT;
    PyObject *result = NULL;
    if (sl_py_paths_init(&paths, given) == 0) {
        char *text = NULL;
        sl_status status;
        Py_BEGIN_ALLOW_THREADS status = make_answer(&paths, wish, &text, &err);
        Py_END_ALLOW_THREADS result = sl_py_take_text(state, status, text, &err);
    }
    sl_py_paths_fini(&paths);
    return result;
}

static PyObject *trace_whatif(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"paths",      "format",  "settings",   "card",
                            "free",       "without", "early",      "no_record_stream",
                            "one_stream", "quick",   "placements", "device",
                            NULL};
    sl_py_state *state = sl_py_state_of(module);
    PyObject *given, *sets = NULL, *card = Py_None, *device = Py_None; /* borrowed */
    const char *name = "json";
    int early = 0, no_record_stream = 0, one_stream = 0, quick = 0;
    unsigned int placements = 0;
    whatif_wish wish = {.options.thread_cnt = sl_usable_cpus()};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|s$OOzzppppO&O", names, &given, &name, &sets,
                                     &card, &wish.options.freed, &wish.options.without, &early,
                                     &no_record_stream, &one_stream, &quick, sl_py_unsigned,
                                     &placements, &device))
        return NULL;
    wish.format = sl_whatif_format_find(name);
    if (!wish.format)
        return PyErr_Format(state->errors.classes[SL_PY_USAGE],
                            "there is no format '%s' for whatif", name);
    wish.options.frees_late = early;
    wish.options.no_record_stream = no_record_stream;
    wish.options.is_one_stream = one_stream;
    wish.options.placement_cnt = placements;
    PyObject *result = NULL;
    if (sl_py_device(device, &wish.has_device, &wish.device) == 0 &&
        take_card(state, card, &wish.options.card_bytes) == 0 &&
        take_sets(state, sets, &wish) == 0) {
        wish.options.wants_cards = !wish.options.card_bytes.known && !quick;
        wish.options.wants_lines = !quick;
        result = run_wish(state, given, &wish);
    }
    sl_vec_free(&wish.settings);
    return result;
}

PyMethodDef sl_py_whatif_methods[] = {
    {"whatif", SL_PY_KEYWORDS(trace_whatif), METH_VARARGS | METH_KEYWORDS,
     "whatif($module, paths, format='json', *, settings=(), card=None, free=None, without=None, "
     "early=False, no_record_stream=False, one_stream=False, quick=False, placements=0, "
     "device=None)\n--\n\n"
     "The answers of `stormlog whatif` about these files, as a text."},
    {NULL, NULL, 0, NULL},
};
