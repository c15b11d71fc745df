/* SPDX-License-Identifier: MIT */
/* What a Python interpreter reports about itself. It is run, because its name is not enough:
 * `python3` may be a script that chooses one of several (pyenv), or a link in a virtual
 * environment. */
#ifndef SL_ASK_PYTHON_H
#define SL_ASK_PYTHON_H

#include <stddef.h>

#include "base/core/sl_base.h"

typedef struct sl_python_answer {
    char version[16]; /* "3.11.7" */
    char torch[1024]; /* the file of its torch; "" = torch is not installed */
} sl_python_answer;

/* False when it cannot be run or does not answer within five seconds; it is ended then. It sees neither
 * this process's terminal nor its recorder. */
bool sl_ask_python(const char *python, sl_python_answer *answer);

#endif
