/* SPDX-License-Identifier: MIT */
/* Text inside Markdown that stays text: nothing in it becomes a heading, a cell, a link or HTML. */
#ifndef SL_MD_OUT_H
#define SL_MD_OUT_H

#include <stdio.h>

void sl_md_text(FILE *to, const char *text);

/* As `code`; safe inside a table cell. */
void sl_md_code(FILE *to, const char *text);

#endif
