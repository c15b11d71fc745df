/* SPDX-License-Identifier: MIT
 *
 * Included by every unit test: cmocka with the headers it needs, and a skip with a reason.
 * Assertions are cmocka's own; they print both values.
 */
#ifndef SL_SLTEST_H
#define SL_SLTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka's skip() has no text; the runner takes the reason from the line printed here. */
#define skip_because(reason)                            \
    do {                                                \
        print_message("# skip reason: %s\n", (reason)); \
        skip();                                         \
    } while (0)

#endif
