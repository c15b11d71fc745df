/* SPDX-License-Identifier: MIT */
/* The end of Python, seen in time.
 *
 * A thread's stack is read through its thread state. When the interpreter ends it frees the states of all
 * other threads, also of those that are just inside native code and go on there (daemon threads, threads
 * of a data loader in C++). From then on their stacks must not be read. Asking Python whether it is
 * ending is not enough: it may begin to end right after the answer.
 *
 * (X1) A function of ours is registered with Python's atexit. It runs on the thread that ends the
 *      interpreter, before any thread state is freed. It closes the stacks to all other threads and
 *      waits until none of them is inside (G1 in guard.h). It also marks the end of the program's work:
 *      callbacks run in the opposite order of their registration, so those of the program, which come later, have
 *      run, and no module has been torn down yet.
 * (X2) Until that function is registered only the main thread's stacks are read.
 * (X3) It is registered on a thread that holds the GIL: while Python asks dlsym for the PyInit_ of an
 *      extension module, which every import of torch does; when stormlog.record() is called; when an
 *      optimizer steps; or by Python's main thread between two instructions.
 *
 * Rules O1 and O3 to O5 of py_objects.h hold; O2 with one exception: where no module has imported atexit yet,
 * Python's own import of that built-in module runs. */
#ifndef SL_PY_EXIT_H
#define SL_PY_EXIT_H

#include "base/core/sl_base.h"

/* The calling thread may hold the GIL: registers if it does and if it was not done in this life of the
 * interpreter. Not for the event path; not inside the guard. errno stays. */
void sl_py_exit_register(void);

/* The recorder has opened its log, inside an event. Where nobody has registered yet and this is the main
 * thread, called by Python code, Python is asked to call back. */
void sl_py_exit_start(void);

#endif
