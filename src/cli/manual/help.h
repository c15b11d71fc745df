/* SPDX-License-Identifier: MIT */
/* The help texts, drawn from the command table. */
#ifndef SL_HELP_H
#define SL_HELP_H

#include <stdio.h>

#include "cli/core/cmd.h"

void sl_help_program(FILE *to, const sl_program *program);
void sl_help_command(FILE *to, const sl_program *program, const sl_cmd *cmd);

/* Walks paragraphs apart by an empty line: *at moves on; false after the last one. */
bool sl_help_paragraph(const char **at, char *buf, size_t cap);

/* "Text." from "text": a table's phrase as a sentence of its own. */
void sl_help_sentence(const char *phrase, char *buf, size_t cap);

/* What an option does, with its initial value. */
void sl_help_option_text(const sl_opt *opt, char *buf, size_t cap);

/* "-o, --output FILE" into buf. */
void sl_help_option_head(const sl_opt *opt, char *buf, size_t cap);

#endif
