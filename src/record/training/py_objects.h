/* SPDX-License-Identifier: MIT */
/* Python objects of the program, read through CPython's C functions. This is the only part of the
 * recorder that calls Python, and it is never on the event path. The rules:
 *
 * (O1) Only on a thread that holds the GIL already: inside a C function that Python code called, or
 *      inside a call that Python itself makes. sl_py_enter asks; the GIL is never taken.
 * (O2) No Python code runs. Attributes of the program's objects are read from their dictionaries, not
 *      by name, so that no property, __getattr__ or __getattribute__ is called; of tensors only what
 *      torch implements in C is called, and only on exact types. The garbage collector is held
 *      back, where Python lets us, so that no finalizer runs either.
 * (O3) A pending exception is kept aside and put back; every error of ours is cleared.
 * (O4) Every object that is used across a call is referenced; nothing is kept after sl_py_leave but
 *      the texts of a few names and, with --modules, weak references to models.
 * (O5) The guard is not held while Python runs: an event that Python causes (a tensor that dies) is
 *      recorded like any other. */
#ifndef SL_PY_OBJECTS_H
#define SL_PY_OBJECTS_H

#include "base/core/sl_base.h"

typedef struct _object sl_pyobject; /* PyObject */

/* Names of attributes that are asked for by sl_py_get and sl_py_call_i64. */
typedef enum sl_py_name {
    SL_PY_GRAD,
    SL_PY_IS_LEAF,
    SL_PY_DATA_PTR,
    SL_PY_STORAGE_OFFSET,
    SL_PY_ELEMENT_SIZE,
    SL_PY_GET_DEVICE,
    SL_PY_LOCAL_TENSOR,
    SL_PY_NAME_CNT,
} sl_py_name;

/* One visit (O1, O3); the caller's storage. */
typedef struct sl_py_visit {
    sl_pyobject *pending[3]; /* the exception that was on its way */
    int was_collecting;      /* whether the garbage collector is to be set going again */
} sl_py_visit;

/* False: this thread does not hold the GIL, or this Python lacks a function. Then nothing happened. */
bool sl_py_enter(sl_py_visit *visit);
void sl_py_leave(sl_py_visit *visit);

/* In the child of a fork, and when a new log begins: what was found is looked for again. */
void sl_py_forget(void);

/* How often Python's functions that do more than read a field were called; for the tests of cost. */
uint64_t sl_py_call_cnt(void);

void sl_py_hold(sl_pyobject *object);
void sl_py_drop(sl_pyobject *object); /* NULL is fine */

/* What an object is. Subclasses count for dict; the others must be exact. */
bool sl_py_is_dict(const sl_pyobject *object);
bool sl_py_is_list(const sl_pyobject *object);
bool sl_py_is_tuple(const sl_pyobject *object);
const void *sl_py_type(const sl_pyobject *object);
const char *sl_py_type_name(const sl_pyobject *object);

/* A value of the object's own dictionary or of a dictionary; borrowed, NULL = not there. */
sl_pyobject *sl_py_own_value(sl_pyobject *object, const char *key);
sl_pyobject *sl_py_dict_value(sl_pyobject *dict, const char *key);

/* Something a loaded module holds; borrowed, NULL when the module is not loaded or has no such name.
 * Nothing is imported. */
sl_pyobject *sl_py_module_value(const char *module, const char *name);

/* Walks a dictionary; *pos starts at 0. Borrowed results. */
bool sl_py_dict_next(sl_pyobject *dict, intptr_t *pos, sl_pyobject **key, sl_pyobject **value);

/* Items of an exact list or tuple; borrowed, NULL when i is not below the length now. */
size_t sl_py_length(const sl_pyobject *sequence);
sl_pyobject *sl_py_item(sl_pyobject *sequence, size_t i);

/* An attribute: a new reference, NULL on any failure. For exact types of torch only (O2). */
sl_pyobject *sl_py_get(sl_pyobject *object, sl_py_name name);
bool sl_py_is_true(const sl_pyobject *object); /* is it True itself */

/* A method without arguments, or a function, that gives an integer; false on any failure. */
bool sl_py_call_i64(sl_pyobject *object, sl_py_name name, int64_t *value);
bool sl_py_call_function_i64(sl_pyobject *function, int64_t *value);

/* A weak reference, owned by the caller; NULL when the object takes none. _target is the object while it
 * lives, whoever asks, with or without the GIL. */
sl_pyobject *sl_py_weak_ref(sl_pyobject *object);
const void *sl_py_weak_target(const sl_pyobject *ref);

/* The text of a str that is ASCII or has its UTF-8 form; empty otherwise. Borrowed from the object. */
sl_str sl_py_text(sl_pyobject *object);

#endif
