/* SPDX-License-Identifier: MIT */
/* The module stormlog._record: all that a training process needs. It finds the recorder's
 * library and calls it; it contains no analysis code. */
#include <dlfcn.h>
#include <string.h>

#include "pyext/py_compat.h"
#include "pyext/py_run.h"
#include "pyext/py_watch.h"
#include "record/core/record_setting.h"

/* The recorder's functions, once they are found. The library is never closed, because its hooks
 * may be installed in other libraries. */
typedef struct recorder {
    int (*start)(const sl_record_options *options);
    void (*stop)(void);
    void (*enter_python)(void);
    int (*is_on)(void);
    const char *(*path)(void);
    uint64_t (*oom_count)(void);
    void (*step)(uint64_t number);
    void (*own_steps)(void);
    void (*mark_begin)(const char *name);
    void (*mark_end)(const char *name);
    void (*mark)(const char *name);
} recorder;

typedef struct symbol_row {
    const char *name;
    size_t offset; /* of the pointer in recorder */
} symbol_row;

static const symbol_row symbols[] = {
    {"sl_record_start", offsetof(recorder, start)},
    {"sl_record_stop", offsetof(recorder, stop)},
    {"sl_record_enter_python", offsetof(recorder, enter_python)},
    {"sl_record_is_on", offsetof(recorder, is_on)},
    {"sl_record_path", offsetof(recorder, path)},
    {"sl_record_oom_count", offsetof(recorder, oom_count)},
    {"sl_record_step", offsetof(recorder, step)},
    {"sl_record_own_steps", offsetof(recorder, own_steps)},
    {"sl_record_mark_begin", offsetof(recorder, mark_begin)},
    {"sl_record_mark_end", offsetof(recorder, mark_end)},
    {"sl_record_mark", offsetof(recorder, mark)},
};

static recorder *recorder_of(PyObject *module) {
    return PyModule_GetState(module);
}

/* Finds all symbols, or returns -1 with an ImportError that names the missing one. */
static int find_symbols(recorder *rec, void *library) {
    recorder found = {0};
    for (size_t i = 0; i < SL_COUNT_OF(symbols); i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) {
            PyErr_Format(PyExc_ImportError, "the recorder's library lacks %s: %s", symbols[i].name,
                         dlerror());
            return -1;
        }
        *(void **)(void *)((char *)&found + symbols[i].offset) = address;
    }
    *rec = found;
    return 0;
}

/* Under `stormlog run` the library is in the process already, and a second copy would record
 * nothing: a loaded one is tried first. */
static PyObject *record_load(PyObject *module, PyObject *path) {
    recorder *rec = recorder_of(module);
    if (rec->start)
        return sl_py_none();
    if (dlsym(RTLD_DEFAULT, "sl_record_start"))
        return find_symbols(rec, RTLD_DEFAULT) < 0 ? NULL : sl_py_none();
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    const char *name = PyBytes_AsString(bytes);
    void *library;
    Py_BEGIN_ALLOW_THREADS library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    if (!library) {
        PyErr_Format(PyExc_ImportError, "cannot load the recorder: %s", dlerror());
        return NULL;
    }
    return find_symbols(rec, library) < 0 ? NULL : sl_py_none();
}

static PyObject *record_is_loaded(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    recorder *rec = recorder_of(module);
    return PyBool_FromLong(rec->start != NULL || dlsym(RTLD_DEFAULT, "sl_record_start") != NULL);
}

/* NULL with an exception when load() was not called. */
static recorder *need_recorder(PyObject *module) {
    recorder *rec = recorder_of(module);
    if (rec->start)
        return rec;
    PyErr_SetString(PyExc_RuntimeError, "the recorder is not loaded; call load() first");
    return NULL;
}

/* Stores one argument in its member; 0, or -1 with an exception. *path owns the bytes of a
 * folder's name. */
static int take_argument(sl_record_options *options, const sl_setting *setting, PyObject *value,
                         PyObject **path) {
    void *member = (char *)options + setting->api_offset;
    if (setting->type == SL_SETTING_PATH) {
        if (value == Py_None)
            return 0;
        if (!PyUnicode_FSConverter(value, path))
            return -1;
        *(const char **)member = PyBytes_AsString(*path);
        return 0;
    }
    unsigned long long number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred())
        return -1;
    if (setting->api_bytes < sizeof number && number >> (8 * setting->api_bytes)) {
        PyErr_Format(PyExc_OverflowError, "%s does not fit in %zu bytes", setting->name,
                     setting->api_bytes);
        return -1;
    }
    memcpy(member, &number, setting->api_bytes);
    return 0;
}

/* The setting with this name in sl_record_options; NULL with an exception. */
static const sl_setting *find_argument(PyObject *name) {
    for (size_t i = 0; i < SL_SETTING_CNT; i++)
        if (sl_settings[i].api_bytes &&
            PyUnicode_CompareWithASCIIString(name, sl_settings[i].name) == 0)
            return &sl_settings[i];
    PyErr_Format(PyExc_TypeError, "start() got an unexpected keyword argument '%U'", name);
    return NULL;
}

/* dir is the only argument that may be given without a keyword. */
static int take_arguments(sl_record_options *options, PyObject *args, PyObject *keywords,
                          PyObject **path) {
    PyObject *dir, *name, *value;
    Py_ssize_t at = 0;
    if (!PyArg_UnpackTuple(args, "start", 0, 1, &dir))
        return -1;
    if (PyTuple_Size(args) == 1 &&
        take_argument(options, &sl_settings[SL_SETTING_ID_DIR], dir, path) < 0)
        return -1;
    while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
        const sl_setting *setting = find_argument(name);
        if (!setting)
            return -1;
        if (setting->type == SL_SETTING_PATH && PyTuple_Size(args) == 1) {
            PyErr_Format(PyExc_TypeError, "start() got two values for '%U'", name);
            return -1;
        }
        if (take_argument(options, setting, value, path) < 0)
            return -1;
    }
    return 0;
}

static PyObject *record_start(PyObject *module, PyObject *args, PyObject *keywords) {
    recorder *rec = need_recorder(module);
    PyObject *path = NULL;
    sl_record_options options = {.struct_size = sizeof options};
    if (!rec)
        return NULL;
    if (take_arguments(&options, args, keywords, &path) < 0) {
        Py_XDECREF(path);
        return NULL;
    }
    int result;
    rec->enter_python();
    Py_BEGIN_ALLOW_THREADS result = rec->start(&options);
    Py_END_ALLOW_THREADS Py_XDECREF(path);
    return PyLong_FromLong(result);
}

/* The dict {"none": 1, …} of a CHOICE. */
static PyObject *words_of(const sl_setting *setting) {
    PyObject *words = PyDict_New();
    long idx = 0;
    for (const char *at = setting->words; words && *at; idx++) {
        size_t len = strcspn(at, "|");
        PyObject *word = PyUnicode_FromStringAndSize(at, (Py_ssize_t)len);
        PyObject *number = PyLong_FromLong(idx);
        int failed = word && number ? PyDict_SetItem(words, word, number) : -1;
        Py_XDECREF(word);
        Py_XDECREF(number);
        if (failed)
            Py_CLEAR(words);
        at += len + (at[len] == '|');
    }
    return words;
}

static PyObject *describe_setting(const sl_setting *setting) {
    PyObject *row = PyDict_New();
    if (row && !sl_py_set_item(row, "env", PyUnicode_FromString(setting->env)) &&
        !sl_py_set_item(row, "argument", Py_BuildValue("z", setting->python)) &&
        !sl_py_set_item(row, "is_api", PyBool_FromLong(setting->api_bytes != 0)) &&
        !sl_py_set_item(row, "meaning", PyUnicode_FromString(setting->meaning)) &&
        !sl_py_set_item(row, "initial", PyLong_FromUnsignedLongLong(setting->initial)) &&
        !sl_py_set_item(row, "least", PyLong_FromUnsignedLongLong(setting->least)) &&
        !sl_py_set_item(row, "most", PyLong_FromUnsignedLongLong(setting->most)) &&
        !sl_py_set_item(row, "words", setting->words ? words_of(setting) : sl_py_none()))
        return row;
    Py_XDECREF(row);
    return NULL;
}

static PyObject *record_settings(PyObject *module, PyObject *unused) {
    SL_UNUSED(module);
    SL_UNUSED(unused);
    PyObject *rows = PyDict_New();
    for (size_t i = 0; rows && i < SL_SETTING_CNT; i++)
        if (sl_py_set_item(rows, sl_settings[i].name, describe_setting(&sl_settings[i])))
            Py_CLEAR(rows);
    return rows;
}

static PyObject *record_stop(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    recorder *rec = need_recorder(module);
    if (!rec)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rec->stop();
    Py_END_ALLOW_THREADS return sl_py_none();
}

static PyObject *record_is_on(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    recorder *rec = need_recorder(module);
    return rec ? PyBool_FromLong(rec->is_on()) : NULL;
}

static PyObject *record_path(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    recorder *rec = need_recorder(module);
    return rec ? PyUnicode_DecodeFSDefault(rec->path()) : NULL;
}

static PyObject *record_oom_count(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    recorder *rec = need_recorder(module);
    return rec ? PyLong_FromUnsignedLongLong(rec->oom_count()) : NULL;
}

static PyObject *record_step(PyObject *module, PyObject *number) {
    recorder *rec = need_recorder(module);
    unsigned long long step = rec ? PyLong_AsUnsignedLongLong(number) : 0;
    if (PyErr_Occurred())
        return NULL;
    rec->step(step);
    return sl_py_none();
}

static PyObject *record_own_steps(PyObject *module, PyObject *unused) {
    SL_UNUSED(unused);
    recorder *rec = need_recorder(module);
    if (!rec)
        return NULL;
    rec->own_steps();
    return sl_py_none();
}

/* Passes one name to one of the three functions. */
static PyObject *call_mark(PyObject *module, PyObject *name, size_t offset) {
    recorder *rec = need_recorder(module);
    if (rec && !PyUnicode_Check(name))
        PyErr_SetString(PyExc_TypeError, "a mark's name must be a str");
    if (PyErr_Occurred())
        return NULL;
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "replace");
    if (!bytes)
        return NULL;
    void (*function)(const char *) = *(void (**)(const char *))(void *)((char *)rec + offset);
    function(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return sl_py_none();
}

static PyObject *record_mark_begin(PyObject *module, PyObject *name) {
    return call_mark(module, name, offsetof(recorder, mark_begin));
}

static PyObject *record_mark_end(PyObject *module, PyObject *name) {
    return call_mark(module, name, offsetof(recorder, mark_end));
}

static PyObject *record_mark(PyObject *module, PyObject *name) {
    return call_mark(module, name, offsetof(recorder, mark));
}

static PyMethodDef record_methods[] = {
    {"is_loaded", record_is_loaded, METH_NOARGS,
     "is_loaded($module, /)\n--\n\nWhether the recorder is in this process."},
    {"is_on", record_is_on, METH_NOARGS,
     "is_on($module, /)\n--\n\nWhether a recording is armed or under way."},
    {"load", record_load, METH_O,
     "load($module, path, /)\n--\n\nLoads the recorder's library; one that is in the process "
     "already "
     "is used instead."},
    {"mark", record_mark, METH_O, "mark($module, name, /)\n--\n\nA named point."},
    {"mark_begin", record_mark_begin, METH_O,
     "mark_begin($module, name, /)\n--\n\nA named range begins."},
    {"mark_end", record_mark_end, METH_O, "mark_end($module, name, /)\n--\n\nA named range ends."},
    {"oom_count", record_oom_count, METH_NOARGS,
     "oom_count($module, /)\n--\n\nRequests for memory that failed in this recording so far."},
    {"path", record_path, METH_NOARGS,
     "path($module, /)\n--\n\nThe recording's file, '' before the first memory event."},
    {"process_memory", sl_py_process_memory, METH_NOARGS,
     "process_memory($module, /)\n--\n\n(rss, vms, peak_rss) of this process in bytes; peak_rss "
     "may "
     "be None."},
    {"run_folder_discard", sl_py_run_folder_discard, METH_O,
     "run_folder_discard($module, folder, /)\n--\n\n"
     "Removes a folder of run_folder_open() that is still empty."},
    {"run_folder_open", sl_py_run_folder_open, METH_VARARGS,
     "run_folder_open($module, wanted, script, /)\n--\n\n"
     "Makes the folder of a run (None: a new one in stormlog-runs); the folder and its path."},
    {"settings", record_settings, METH_NOARGS,
     "settings($module, /)\n--\n\nThe recorder's settings by name, with their limits."},
    {"start", SL_PY_KEYWORDS(record_start), METH_VARARGS | METH_KEYWORDS,
     "start($module, dir=None, *, cpu=0, stacks=0, interval_ms=0, ring_bytes=0, has_modules=0, "
     "has_replay=0)\n--\n\n"
     "Begins a recording. 0, or -1 when one is under way or disabled, or -2 for a bad option."},
    {"step", record_step, METH_O, "step($module, number, /)\n--\n\nA step of the program ended."},
    {"own_steps", record_own_steps, METH_NOARGS,
     "own_steps($module, /)\n--\n\nFrom now on only step() ends steps."},
    {"stop", record_stop, METH_NOARGS,
     "stop($module, /)\n--\n\nEnds the recording and takes the hooks out."},
    {NULL, NULL, 0, NULL},
};

static int record_exec(PyObject *module) {
    PyObject *type = sl_py_watch_type();
    int failed = sl_py_add_ref(module, "MemoryWatch", type);
    Py_XDECREF(type);
    return failed;
}

static PyModuleDef_Slot record_slots[] = {
    {Py_mod_exec, SL_PY_SLOT(record_exec)},
    {0, NULL},
};

static PyModuleDef record_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stormlog._record",
    .m_doc = "The recorder's switch, in C. Use stormlog.record, stormlog.step and stormlog.mark.",
    .m_size = sizeof(recorder),
    .m_methods = record_methods,
    .m_slots = record_slots,
};

PyMODINIT_FUNC PyInit__record(void);

PyMODINIT_FUNC PyInit__record(void) {
    return PyModuleDef_Init(&record_module);
}
