/* SPDX-License-Identifier: MIT */
/* Manual pages and Markdown pages of the commands, drawn from the command table. */
#ifndef SL_MANUAL_H
#define SL_MANUAL_H

#include <stdio.h>

#include "cli/core/cmd.h"

/* One way to write a page; cmd NULL is the page of the program itself. */
typedef struct sl_manual_kind {
    const char *program_file; /* the first program's: "stormlog.1" */
    const char *other_file;   /* printf, takes the name of another program: "%s.1" */
    const char *command_file; /* printf, takes the command's name: "stormlog-%s.1" */
    void (*write)(FILE *to, const sl_program *program, const sl_cmd *cmd);
} sl_manual_kind;

extern const sl_manual_kind sl_manual_roff;
extern const sl_manual_kind sl_manual_markdown;

/* The page of the operand's command, or of the program that it names, or of the program, to standard
 * output; with --dir, a file for every page. The body of `__man` and `__doc`. */
int sl_manual_run(const sl_manual_kind *kind, const sl_opts *opts, sl_error *err);

#endif
