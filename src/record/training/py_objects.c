/* SPDX-License-Identifier: MIT */
#include "record/training/py_objects.h"

#include <stdatomic.h>
#include <string.h>

#include "record/hooks/elf_view.h"
#include "record/stacks/pystack_offsets.h"

/* Functions of the C API: result, name here, name there, arguments, whether Python must have it. All
 * exist in 3.9 to 3.14 but PyGC_*, which came with 3.10, and the two names of one function. */
#define PY_FUNCTION_MAP(X)                                                                        \
    X(int, is_initialized, "Py_IsInitialized", (void), true)                                      \
    X(void *, own_state, "PyGILState_GetThisThreadState", (void), true)                           \
    X(void *, current_state, "PyThreadState_GetUnchecked", (void), false)                         \
    X(void *, current_state_old, "_PyThreadState_UncheckedGet", (void), false)                    \
    X(void, err_fetch, "PyErr_Fetch", (sl_pyobject **, sl_pyobject **, sl_pyobject **), true)     \
    X(void, err_restore, "PyErr_Restore", (sl_pyobject *, sl_pyobject *, sl_pyobject *), true)    \
    X(void, err_clear, "PyErr_Clear", (void), true)                                               \
    X(void, inc_ref, "Py_IncRef", (sl_pyobject *), true)                                          \
    X(void, dec_ref, "Py_DecRef", (sl_pyobject *), true)                                          \
    X(sl_pyobject *, generic_dict, "PyObject_GenericGetDict", (sl_pyobject *, void *), true)      \
    X(sl_pyobject *, dict_get, "PyDict_GetItemString", (sl_pyobject *, const char *), true)       \
    X(int, dict_next, "PyDict_Next", (sl_pyobject *, intptr_t *, sl_pyobject **, sl_pyobject **), \
      true)                                                                                       \
    X(sl_pyobject *, module_dict, "PyImport_GetModuleDict", (void), true)                         \
    X(sl_pyobject *, list_item, "PyList_GetItem", (sl_pyobject *, intptr_t), true)                \
    X(sl_pyobject *, tuple_item, "PyTuple_GetItem", (sl_pyobject *, intptr_t), true)              \
    X(sl_pyobject *, intern, "PyUnicode_InternFromString", (const char *), true)                  \
    X(const char *, text, "PyUnicode_AsUTF8AndSize", (sl_pyobject *, intptr_t *), true)           \
    X(sl_pyobject *, get_attr, "PyObject_GetAttr", (sl_pyobject *, sl_pyobject *), true)          \
    X(sl_pyobject *, call_method, "PyObject_CallMethodObjArgs",                                   \
      (sl_pyobject *, sl_pyobject *, ...), true)                                                  \
    X(sl_pyobject *, call, "PyObject_CallFunctionObjArgs", (sl_pyobject *, ...), true)            \
    X(unsigned long long, as_unsigned, "PyLong_AsUnsignedLongLongMask", (sl_pyobject *), true)    \
    X(int, is_subtype, "PyType_IsSubtype", (const void *, const void *), true)                    \
    X(sl_pyobject *, new_weakref, "PyWeakref_NewRef", (sl_pyobject *, sl_pyobject *), true)       \
    X(int, gc_disable, "PyGC_Disable", (void), false)                                             \
    X(int, gc_enable, "PyGC_Enable", (void), false)

/* Objects of the C API. */
#define PY_DATA_MAP(X)            \
    X(dict_type, "PyDict_Type")   \
    X(list_type, "PyList_Type")   \
    X(tuple_type, "PyTuple_Type") \
    X(str_type, "PyUnicode_Type") \
    X(long_type, "PyLong_Type")   \
    X(true_object, "_Py_TrueStruct")

static struct {
#define PY_FUNCTION_FIELD(result, field, symbol, args, needed) result(*field) args;
    PY_FUNCTION_MAP(PY_FUNCTION_FIELD)
#undef PY_FUNCTION_FIELD
#define PY_DATA_FIELD(field, symbol) const void *field;
    PY_DATA_MAP(PY_DATA_FIELD)
#undef PY_DATA_FIELD
    sl_pyobject *names[SL_PY_NAME_CNT];
} py;

static const char *const name_texts[SL_PY_NAME_CNT] = {
    [SL_PY_GRAD] = "grad",
    [SL_PY_IS_LEAF] = "is_leaf",
    [SL_PY_DATA_PTR] = "data_ptr",
    [SL_PY_STORAGE_OFFSET] = "storage_offset",
    [SL_PY_ELEMENT_SIZE] = "element_size",
    [SL_PY_GET_DEVICE] = "get_device",
    [SL_PY_LOCAL_TENSOR] = "_local_tensor",
};

typedef enum api_state { API_NEW, API_ABSENT, API_FOUND } api_state;

static atomic_int api; /* api_state; changed with the GIL held */
static atomic_ullong call_cnt;

/* --- Finding it ------------------------------------------------------------------------------ */

static bool find_symbols(void) {
    bool is_complete = true;
#define PY_FUNCTION_FIND(result, field, symbol, args, needed) \
    *(void **)&py.field = sl_elf_find_anywhere(symbol);       \
    is_complete &= py.field != NULL || !(needed);
    PY_FUNCTION_MAP(PY_FUNCTION_FIND)
#undef PY_FUNCTION_FIND
#define PY_DATA_FIND(field, symbol)          \
    py.field = sl_elf_find_anywhere(symbol); \
    is_complete &= py.field != NULL;
    PY_DATA_MAP(PY_DATA_FIND)
#undef PY_DATA_FIND
    return is_complete;
}

/* Texts that torch uses itself, so that they exist anyway; kept for the life of the process. */
static bool make_names(void) {
    for (size_t i = 0; i < SL_PY_NAME_CNT; i++) {
        py.names[i] = py.names[i] ? py.names[i] : py.intern(name_texts[i]);
        if (!py.names[i])
            return false;
    }
    return true;
}

static bool is_found(void) {
    int state = atomic_load(&api);
    if (state == API_NEW) {
        state = find_symbols() ? API_FOUND : API_ABSENT;
        atomic_store(&api, state);
    }
    return state == API_FOUND;
}

void sl_py_forget(void) {
    atomic_store(&api, API_NEW);
    atomic_store(&call_cnt, 0);
}

uint64_t sl_py_call_cnt(void) {
    return atomic_load(&call_cnt);
}

static void count_call(void) {
    atomic_fetch_add_explicit(&call_cnt, 1, memory_order_relaxed);
}

/* --- A visit --------------------------------------------------------------------------------- */

/* Not PyGILState_Check: it answers yes when there is no interpreter, and always once a second one was created.
 * The thread that holds the GIL is the one whose state is current. */
static bool has_gil(void) {
    void *own = py.is_initialized() ? py.own_state() : NULL;
    void *(*current)(void) = py.current_state ? py.current_state : py.current_state_old;
    return own && current && current() == own;
}

bool sl_py_enter(sl_py_visit *visit) {
    if (!is_found() || !has_gil())
        return false;
    py.err_fetch(&visit->pending[0], &visit->pending[1], &visit->pending[2]);
    visit->was_collecting = py.gc_disable && py.gc_enable ? py.gc_disable() : 0;
    if (make_names())
        return true;
    sl_py_leave(visit);
    return false;
}

void sl_py_leave(sl_py_visit *visit) {
    py.err_clear();
    if (visit->was_collecting)
        py.gc_enable();
    py.err_restore(visit->pending[0], visit->pending[1], visit->pending[2]);
}

void sl_py_hold(sl_pyobject *object) {
    py.inc_ref(object);
}

void sl_py_drop(sl_pyobject *object) {
    if (object)
        py.dec_ref(object);
}

/* --- Looking --------------------------------------------------------------------------------- */

static const void *load_ptr(const void *at, size_t off) {
    const void *value;
    memcpy(&value, (const char *)at + off, sizeof value);
    return value;
}

const void *sl_py_type(const sl_pyobject *object) {
    return load_ptr(object, SL_PY_OB_TYPE);
}

const char *sl_py_type_name(const sl_pyobject *object) {
    return load_ptr(sl_py_type(object), SL_PY_TYPE_NAME);
}

bool sl_py_is_dict(const sl_pyobject *object) {
    const void *type = sl_py_type(object);
    return type == py.dict_type || py.is_subtype(type, py.dict_type);
}

bool sl_py_is_list(const sl_pyobject *object) {
    return sl_py_type(object) == py.list_type;
}

bool sl_py_is_tuple(const sl_pyobject *object) {
    return sl_py_type(object) == py.tuple_type;
}

bool sl_py_is_true(const sl_pyobject *object) {
    return (const void *)object == py.true_object;
}

sl_pyobject *sl_py_dict_value(sl_pyobject *dict, const char *key) {
    return sl_py_is_dict(dict) ? py.dict_get(dict, key) : NULL;
}

/* The dictionary stays with the object, so what is borrowed from it outlives our reference. */
sl_pyobject *sl_py_own_value(sl_pyobject *object, const char *key) {
    count_call();
    sl_pyobject *dict = py.generic_dict(object, NULL);
    if (!dict) {
        py.err_clear();
        return NULL;
    }
    sl_pyobject *value = sl_py_dict_value(dict, key);
    py.dec_ref(dict);
    return value;
}

sl_pyobject *sl_py_module_value(const char *module, const char *name) {
    sl_pyobject *modules = py.module_dict();
    sl_pyobject *found = modules ? sl_py_dict_value(modules, module) : NULL;
    return found ? sl_py_own_value(found, name) : NULL;
}

bool sl_py_dict_next(sl_pyobject *dict, intptr_t *pos, sl_pyobject **key, sl_pyobject **value) {
    return py.dict_next(dict, pos, key, value);
}

size_t sl_py_length(const sl_pyobject *sequence) {
    return (size_t)load_ptr(sequence, SL_PY_VAR_SIZE);
}

sl_pyobject *sl_py_item(sl_pyobject *sequence, size_t i) {
    if (i >= sl_py_length(sequence))
        return NULL;
    return sl_py_is_list(sequence) ? py.list_item(sequence, (intptr_t)i)
                                   : py.tuple_item(sequence, (intptr_t)i);
}

sl_str sl_py_text(sl_pyobject *object) {
    intptr_t len = 0;
    if (sl_py_type(object) != py.str_type)
        return SL_STR("");
    const char *text = py.text(object, &len);
    if (!text)
        py.err_clear();
    return text ? (sl_str){text, (size_t)len} : SL_STR("");
}

sl_pyobject *sl_py_weak_ref(sl_pyobject *object) {
    sl_pyobject *ref = py.new_weakref(object, NULL);
    if (!ref)
        py.err_clear();
    return ref;
}

const void *sl_py_weak_target(const sl_pyobject *ref) {
    return load_ptr(ref, SL_PY_WEAK_TARGET);
}

/* --- Asking tensors ---------------------------------------------------------------------------- */

sl_pyobject *sl_py_get(sl_pyobject *object, sl_py_name name) {
    count_call();
    sl_pyobject *value = py.get_attr(object, py.names[name]);
    if (!value)
        py.err_clear();
    return value;
}

/* Takes the reference. Addresses may have their highest bit set, hence the mask. */
static bool take_integer(sl_pyobject *result, int64_t *value) {
    if (!result) {
        py.err_clear();
        return false;
    }
    bool is_integer = sl_py_type(result) == py.long_type;
    if (is_integer)
        *value = (int64_t)py.as_unsigned(result);
    py.dec_ref(result);
    return is_integer;
}

bool sl_py_call_i64(sl_pyobject *object, sl_py_name name, int64_t *value) {
    count_call();
    return take_integer(py.call_method(object, py.names[name], NULL), value);
}

bool sl_py_call_function_i64(sl_pyobject *function, int64_t *value) {
    count_call();
    return take_integer(py.call(function, NULL), value);
}
