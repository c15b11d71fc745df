/* SPDX-License-Identifier: MIT */
/* From argv to an exit code: finds the command, parses its options, runs it, says what failed. */
#ifndef SL_CLI_H
#define SL_CLI_H

#include "cli/core/cmd.h"

/* argv[0] is the program's name. Returns the exit code of the process. */
int sl_cli_run(const sl_program *program, int argc, char **argv);

/* The program that runs, for texts that name it. */
const sl_program *sl_cli_program(void);

/* One line on standard error, "<program>: <text>"; control characters are shown as '?'. */
void sl_cli_complain(const char *fmt, ...) SL_PRINTF(1, 2);

#endif
