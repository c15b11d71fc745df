/* SPDX-License-Identifier: MIT */
/* Where the fields of CPython's frames, code objects and strings are, by version. This is the
 * only file that knows; the walker (pystack.c) takes a layout as data. Read-only after start. */
#ifndef SL_PYSTACK_OFFSETS_H
#define SL_PYSTACK_OFFSETS_H

#include "base/core/sl_base.h"
#include "record/stacks/pystack_lines.h"

#define SL_PY_NO_FIELD UINT16_MAX

typedef struct sl_py_layout {
    uint8_t minor;            /* of Python 3.minor */
    uint8_t line_format;      /* sl_py_line_format */
    uint8_t instr_unit_bytes; /* size of one step of frame_instr */
    bool instr_is_index;      /* frame_instr holds an int, not a pointer into the code */
    uint16_t tstate_frame;    /* PyThreadState: the frame, or a struct that holds it */
    uint16_t cframe_frame;    /* that struct: the frame; SL_PY_NO_FIELD = there is none */
    uint16_t frame_code;      /* _PyInterpreterFrame, or PyFrameObject up to 3.10 */
    uint16_t frame_previous;
    uint16_t frame_instr;
    uint16_t frame_owner;     /* SL_PY_NO_FIELD up to 3.10 */
    uint16_t frame_locals;    /* the first local variable; from 3.14 on its low bits are a tag */
    uint16_t code_first_line; /* PyCodeObject */
    uint16_t code_filename;
    uint16_t code_name; /* the qualified name where there is one */
    uint16_t code_linetable;
    uint16_t code_start;   /* first instruction; SL_PY_NO_FIELD where frame_instr is an index */
    uint16_t code_version; /* a number unique to the code object; SL_PY_NO_FIELD = none */
    uint16_t ascii_data;   /* PyASCIIObject: the characters */
    uint16_t compact_data; /* PyCompactUnicodeObject: the characters */
} sl_py_layout;

/* The parts of PyObject, PyTypeObject, PyUnicodeObject and PyBytesObject that no version moved (3.9 .. 3.14,
 * builds with a GIL). */
enum {
    SL_PY_OB_TYPE = 8,
    SL_PY_VAR_SIZE = 16, /* length of a list or tuple */
    SL_PY_TYPE_NAME = 24,
    SL_PY_CELL_VALUE = 16,
    SL_PY_WEAK_TARGET = 16,
    SL_PY_STR_LENGTH = 16,
    SL_PY_STR_HASH = 24,
    SL_PY_STR_STATE = 32,
    SL_PY_BYTES_SIZE = 16,
    SL_PY_BYTES_DATA = 32,
};

/* Frame owners from this number on (3.12: the C stack; 3.14: the interpreter) are not Python code. */
#define SL_PY_OWNER_SHIM 3

/* Fills *layout for Python 3.minor. `runtime` is the address of _PyRuntime, used from 3.13 on,
 * where it begins with a table of offsets; may be NULL before. False when the version is unknown;
 * *reason then says why in a few words. */
bool sl_py_layout_find(unsigned minor, const void *runtime, sl_py_layout *layout,
                       const char **reason);

#endif
