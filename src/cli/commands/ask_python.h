/* SPDX-License-Identifier: MIT */
/* What an interpreter says of itself. It is run, because a name tells nothing: `python3` may be a script
 * that chooses one of several (pyenv), or a link out of a virtual environment. */
#ifndef SL_ASK_PYTHON_H
#define SL_ASK_PYTHON_H

#include <stddef.h>

#include "base/core/sl_base.h"

typedef struct sl_python_answer {
    char version[16]; /* "3.11.7" */
    char torch[1024]; /* the file of its torch; "" = it has none */
} sl_python_answer;

/* False when it cannot be run or does not answer within five seconds; it is ended then. It sees neither
 * this process's terminal nor its recorder. */
bool sl_ask_python(const char *python, sl_python_answer *answer);

#endif
