/* SPDX-License-Identifier: MIT */
/* How the Python tool's commands report errors: wrong use in argparse's words (usage on standard
 * error, exit code 2), everything else as "Error: ..." on standard output with exit code 1. */
#ifndef SL_COMPAT_CLI_H
#define SL_COMPAT_CLI_H

#include <stdio.h>

#include "cli/core/cmd.h"

/* Each prints and returns the exit code. */
int sl_compat_fail(const char *text);
int sl_compat_usage(const sl_program *program, const sl_cmd *cmd, const char *text);
int sl_compat_unknown(const sl_program *program, const char *word);

/* Reports missing options and operands, and surplus operands. */
sl_status sl_compat_check(const sl_cmd *cmd, const sl_opts *opts, sl_error *err);

bool sl_compat_is_verbose(const char *word);

/* format_bytes of the Python tool: "0 B", "5.07 MB"; negative values are not scaled. */
#define SL_COMPAT_BYTES_CAP 40
const char *sl_compat_bytes(char buf[SL_COMPAT_BYTES_CAP], int64_t bytes);

/* A real number as Python prints it: "0.1", "5.0", "nan". */
#define SL_COMPAT_REAL_CAP 32
const char *sl_compat_real(char buf[SL_COMPAT_REAL_CAP], double value);

/* Prints a title and a rule of 50 '='. */
void sl_compat_title(const char *text);

/* Prints a heading and, below it, a rule of cnt '-'. */
void sl_compat_heading(FILE *to, const char *text, int cnt);

#endif
