/* SPDX-License-Identifier: MIT */
#include "record/core/py_exit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "record/core/guard.h"
#include "record/core/recorder.h"
#include "record/hooks/elf_view.h"
#include "record/stacks/pystack.h"
#include "record/training/py_objects.h"

typedef sl_pyobject *(*py_function)(sl_pyobject *self, sl_pyobject *args);

/* PyMethodDef, the same since Python 2. */
typedef struct method_def {
    const char *name;
    py_function function;
    int flags;
    const char *doc;
} method_def;

#define METH_NOARGS 4

/* Functions of the C API that only this file needs; in all of 3.9 to 3.14 but the last two, of which each
 * version has one. */
#define PY_EXIT_MAP(X)                                                                     \
    X(void *, interpreter_get, "PyInterpreterState_Get", (void))                           \
    X(void *, interpreter_main, "PyInterpreterState_Main", (void))                         \
    X(sl_pyobject *, interpreter_dict, "PyInterpreterState_GetDict", (void *))             \
    X(sl_pyobject *, import, "PyImport_ImportModule", (const char *))                      \
    X(sl_pyobject *, get_attr, "PyObject_GetAttrString", (sl_pyobject *, const char *))    \
    X(sl_pyobject *, call, "PyObject_CallFunctionObjArgs", (sl_pyobject *, ...))           \
    X(sl_pyobject *, new_function, "PyCFunction_NewEx",                                    \
      (method_def *, sl_pyobject *, sl_pyobject *))                                        \
    X(int, dict_set, "PyDict_SetItemString", (sl_pyobject *, const char *, sl_pyobject *)) \
    X(int, add_pending_call, "Py_AddPendingCall", (int (*)(void *), void *))               \
    X(int, is_initialized, "Py_IsInitialized", (void))                                     \
    X(void *, thread_state, "PyGILState_GetThisThreadState", (void))                       \
    X(int, is_finalizing, "Py_IsFinalizing", (void))                                       \
    X(int, is_finalizing_old, "_Py_IsFinalizing", (void))

static struct {
#define PY_EXIT_FIELD(result, field, symbol, args) result(*field) args;
    PY_EXIT_MAP(PY_EXIT_FIELD)
#undef PY_EXIT_FIELD
    sl_pyobject *none;
} py;

static atomic_bool is_registering; /* an import of ours may ask dlsym again */
static atomic_bool is_registered, is_asked;

/* In the interpreter's own dictionary: there as long as this life of the interpreter lasts. */
static const char mark[] = "stormlog.recorder";

static bool find_symbols(void) {
    if (py.none)
        return true;
#define PY_EXIT_FIND(result, field, symbol, args) \
    *(void **)&py.field = sl_elf_find_anywhere(symbol);
    PY_EXIT_MAP(PY_EXIT_FIND)
#undef PY_EXIT_FIND
    if (!py.is_finalizing)
        py.is_finalizing = py.is_finalizing_old;
    if (!py.interpreter_get || !py.interpreter_main || !py.interpreter_dict || !py.import ||
        !py.get_attr || !py.call || !py.new_function || !py.dict_set || !py.is_finalizing)
        return false;
    *(void **)&py.none = sl_elf_find_anywhere("_Py_NoneStruct");
    return py.none != NULL;
}

/* (X1) */
static sl_pyobject *on_exit(sl_pyobject *self, sl_pyobject *args) {
    SL_UNUSED(self), SL_UNUSED(args);
    int saved_errno = errno;
    sl_recorder_end_work();
    sl_pystack_close_to_others();
    errno = saved_errno;
    sl_py_hold(py.none);
    return py.none;
}

/* A new reference. Where the module is loaded, nothing of the program's own import machinery runs. */
static sl_pyobject *find_registrar(void) {
    sl_pyobject *registrar = sl_py_module_value("atexit", "register");
    if (registrar) {
        sl_py_hold(registrar);
        return registrar;
    }
    sl_pyobject *atexit = py.import("atexit");
    registrar = atexit ? py.get_attr(atexit, "register") : NULL;
    sl_py_drop(atexit);
    return registrar;
}

static bool add_to_atexit(void) {
    static method_def method = {"stormlog_exit", on_exit, METH_NOARGS, NULL};
    sl_pyobject *registrar = find_registrar();
    sl_pyobject *function = registrar ? py.new_function(&method, NULL, NULL) : NULL;
    sl_pyobject *result = function ? py.call(registrar, function, NULL) : NULL;
    sl_py_drop(function);
    sl_py_drop(registrar);
    sl_py_drop(result);
    return result != NULL;
}

/* The GIL is held. Interpreters beside the main one have their threads ended before they go. */
static void register_here(void) {
    void *interpreter = find_symbols() && !py.is_finalizing() ? py.interpreter_get() : NULL;
    if (!interpreter || interpreter != py.interpreter_main())
        return;
    sl_pyobject *life = py.interpreter_dict(interpreter);
    if (!life || sl_py_dict_value(life, mark))
        return;
    if (!add_to_atexit() || py.dict_set(life, mark, py.none) < 0)
        return;
    atomic_store(&is_registered, true);
    sl_recorder_resume_work();
    sl_pystack_open_to_all();
}

void sl_py_exit_register(void) {
    int saved_errno = errno;
    sl_py_visit visit;
    if (!atomic_exchange(&is_registering, true)) {
        if (sl_py_enter(&visit)) {
            register_here();
            sl_py_leave(&visit);
        }
        atomic_store(&is_registering, false);
    }
    errno = saved_errno;
}

static int on_pending_call(void *unused) {
    SL_UNUSED(unused);
    sl_py_exit_register();
    return 0;
}

/* The main thread, called by Python code: then the interpreter is there, and cannot end before this returns. */
static bool is_in_python(void) {
    return sl_guard_own && sl_guard_is_main(sl_guard_own) && py.is_initialized() &&
           py.thread_state();
}

/* Takes Python's small lock around its list of calls, once in the life of the process. */
void sl_py_exit_start(void) {
    if (atomic_load(&is_registered) || !find_symbols() || !py.add_pending_call ||
        !py.is_initialized || !py.thread_state || !is_in_python() ||
        atomic_exchange(&is_asked, true))
        return;
    if (py.add_pending_call(on_pending_call, NULL) != 0)
        atomic_store(&is_asked, false); /* its list is full: another time */
}
