/* SPDX-License-Identifier: MIT */
/* The calling thread's Python stack, read without the GIL and without the Python API.
 *
 * Why that is safe: a thread's own chain of frames cannot change while the thread is inside C, only
 * the own chain is ever read, and none once the interpreter has begun to end (py_exit.h). No
 * reference count is touched, nothing is written. The one function of Python that is called,
 * PyGILState_GetThisThreadState, is a read of a thread-local
 * slot: it takes no lock and is NULL on threads Python does not know.
 *
 * The layout is proven once before it is used: the first stack is read through system calls that
 * fail instead of faulting, and every object on it must have the type it should have.
 *
 * (P1) A code object may be freed and another one may be made at its address. A frame is
 *      therefore known by its key: address, instruction and an identity of the code object. From
 *      3.12 on that is co_version, which no two code objects share. Before, it is the first line,
 *      the addresses of the name, file and line table, and the hash of the name's text: two code
 *      objects that agree in all of these are two compilations of the same function. */
#ifndef SL_PYSTACK_H
#define SL_PYSTACK_H

#include "base/core/sl_base.h"

/* 160 frames of 16 bytes keep the caller's C frame small; deeper stacks lose their outermost part. */
#define SL_PYSTACK_DEPTH_MAX 160
#define SL_PYFRAME_TEXT_CAP  512

typedef struct sl_pyframe {
    const char *code;   /* borrowed from Python; valid until the hook returns */
    uint32_t instr_off; /* bytes from the first instruction */
} sl_pyframe;

typedef struct sl_pystack {
    uint64_t key; /* of the whole stack, never 0 unless it is empty; (P1) */
    uint32_t depth;
    bool is_cut;                             /* deeper than SL_PYSTACK_DEPTH_MAX */
    uint32_t module_pos;                     /* the innermost frame that calls a module, */
    const void *module;                      /* that module; NULL = none, or not watched, */
    const void *root_module;                 /* and the outermost one */
    sl_pyframe frames[SL_PYSTACK_DEPTH_MAX]; /* innermost first */
} sl_pystack;

/* A frame in words. The texts point into Python's strings or into the buffers below. */
typedef struct sl_pyframe_text {
    sl_str function;
    sl_str file;
    uint32_t line; /* 0 = unknown */
    char function_buf[SL_PYFRAME_TEXT_CAP];
    char file_buf[SL_PYFRAME_TEXT_CAP];
} sl_pyframe_text;

typedef enum sl_pystack_state {
    SL_PYSTACK_ABSENT,   /* no Python in this process, or not asked for */
    SL_PYSTACK_REFUSED,  /* a Python whose frames this version cannot read; reason is set */
    SL_PYSTACK_UNPROVEN, /* layout chosen, no frame met yet */
    SL_PYSTACK_ONE,      /* one thread's stacks are read: before and after all threads' may be */
    SL_PYSTACK_ON,
} sl_pystack_state;

/* Looks for Python in the process. Not for the event path; may be called again after a dlopen. */
sl_pystack_state sl_pystack_attach(void);

/* Forgets everything; stacks are then empty. */
void sl_pystack_detach(void);

sl_pystack_state sl_pystack_get_state(void);
const char *sl_pystack_get_reason(void); /* static text for SL_PYSTACK_REFUSED, else "" */
unsigned sl_pystack_get_minor(void);     /* of Python 3.minor, 0 when absent */

/* The end of the interpreter will be seen in time (py_exit.h): stacks of all threads may be read. */
void sl_pystack_open_to_all(void);
bool sl_pystack_is_open_to_all(void);

/* The interpreter ends, on the calling thread. When this returns no other thread is reading its stack, and
 * none will. Waits for those that are, two seconds at the most: reading takes microseconds, and only a
 * thread that left the recorder by longjmp never gets out. */
void sl_pystack_close_to_others(void);

/* The calling thread's stack; depth 0 when it has none. No lock, no system call (but for the one
 * proof), no allocation. */
void sl_pystack_walk(sl_pystack *stack);

/* Calls visit for the calling thread's frames, innermost first, until it returns false.
 * `first_slot` is the word of the first local variable; for a function without locals it means
 * nothing. */
typedef bool (*sl_pyframe_visit)(const sl_pyframe *frame, const void *first_slot, void *arg);
void sl_pystack_each(sl_pyframe_visit visit, void *arg);

/* The first argument of a function that is known to have one, from its first_slot: a Python object,
 * borrowed, valid as long as the frame runs; NULL when it is not set. The first one ever is read so
 * that a wrong layout cannot fault. */
const void *sl_pyframe_first_argument(const void *first_slot);

/* From now on walks look for the calls of torch modules, whose code sl_pystack_add_module_code names as
 * it is met: a frame whose first argument is the module. */
void sl_pystack_watch_modules(void);
void sl_pystack_add_module_code(const sl_pyframe *frame);
bool sl_pystack_is_module_frame(const sl_pyframe *frame);

/* Key of one frame of a stack that was just walked (P1). */
uint64_t sl_pyframe_key(const sl_pyframe *frame);

/* The words of one frame of a stack that was just walked; false when its code object is not what
 * it should be. */
bool sl_pyframe_describe(const sl_pyframe *frame, sl_pyframe_text *text);

/* Whether it is the frame that Python puts around an __init__ which it enters without leaving its
 * loop (seen in 3.13, after a few calls). It is nobody's code, and tracebacks leave it out. */
bool sl_pyframe_is_shim(const sl_pyframe_text *text);

#endif
