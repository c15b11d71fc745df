/* SPDX-License-Identifier: MIT */
/* A command line parsed by a table of options. `--name value`, `--name=value`, `-n value`,
 * `-nvalue`, flags in a bunch (`-ab`) and `--` are understood; abbreviations are not (unless
 * is_argparse), so that a new option cannot change the meaning of an old script. A flag that a settings file
 * set is taken back by its name with or without "no-": --no-explain, --compact. Values point into
 * argv. One thread. */
#ifndef SL_OPTIONS_H
#define SL_OPTIONS_H

#include "base/core/opt_value.h"
#include "base/core/vec.h"

typedef struct sl_opt_repeat {
    const sl_opt *opt;
    sl_opt_value value;
} sl_opt_repeat;

/* A parsed command line. The table and argv are borrowed. */
typedef struct sl_opts {
    const sl_opt *table;
    size_t table_cnt;
    SL_VEC(sl_opt_value) values;   /* row by row; the last one given */
    SL_VEC(sl_opt_repeat) repeats; /* every value of a repeated option, in order */
    SL_VEC(const char *) operands;
    bool stops_at_operand; /* set before parsing: options after the first operand belong to the
                            * command that is run */
    bool is_argparse;      /* set before parsing: behave like Python's argparse, for the Python
                            * tool's commands: options may be abbreviated, and errors have its words */
} sl_opts;

/* SL_E_NOMEM, or SL_E_INTERNAL when the table itself is wrong. sl_opts_fini in either case. */
sl_status sl_opts_init(sl_opts *opts, const sl_opt *table, size_t table_cnt, sl_error *err);

/* Before parsing: the value that an option has unless the command line gives it. A flag takes "" for yes and
 * NULL for no. The text is borrowed. */
sl_status sl_opts_preset(sl_opts *opts, const char *name, const char *text, sl_error *err);

/* Parses argv[0..argc). On a mistake SL_E_USAGE, with a text that names the nearest option. */
sl_status sl_opts_parse(sl_opts *opts, int argc, char *const *argv, sl_error *err);

void sl_opts_fini(sl_opts *opts);

/* The value of an option; the name must be one of the table's. Never NULL. */
const sl_opt_value *sl_opts_get(const sl_opts *opts, const char *name);

bool sl_opts_flag(const sl_opts *opts, const char *name);
bool sl_opts_is_given(const sl_opts *opts, const char *name);
bool sl_opts_is_typed(const sl_opts *opts, const char *name);    /* on the command line */
const char *sl_opts_text(const sl_opts *opts, const char *name); /* NULL = not given */
double sl_opts_real(const sl_opts *opts, const char *name);      /* 0 = not given */
int64_t sl_opts_number(const sl_opts *opts, const char *name);   /* 0 = not given */

/* The values of a repeated option in order: *cursor is 0 at first; NULL at the end. */
const sl_opt_value *sl_opts_next(const sl_opts *opts, const char *name, size_t *cursor);

#endif
