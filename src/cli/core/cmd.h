/* SPDX-License-Identifier: MIT */
/* The commands as data. A row gives dispatch, options, help text, manual page, shell completion
 * and docs/cli; to add a command, write cmd_<name>.c with one sl_cmd and name it in cmd_table.c. */
#ifndef SL_CMD_H
#define SL_CMD_H

#include "base/core/options.h"
#include "base/core/status.h"

/* Exit code of a command that succeeded and found what --fail-on names. */
#define SL_EXIT_FOUND 1

#define SL_OPERANDS_ANY (-1)

typedef struct sl_cmd {
    const char *name;
    const char *operands; /* as in the usage line, "PATH..."; "" = none */
    int operand_min, operand_max;
    bool stops_at_operand;       /* options after the first operand belong to another program */
    bool is_hidden;              /* not listed; for build and packaging */
    bool is_unsettable;          /* reads no settings file */
    bool takes_urls;             /* operands are not fetched: ship */
    bool shows_settings;         /* runs also with bad settings files, to show what is wrong */
    const char *operand_choices; /* "bash|zsh|fish" for completion; NULL = files */
    const char *summary;         /* one line, lower case, no full stop, at most 58 columns */
    const char *description;     /* paragraphs apart by an empty line; NULL = the summary is all */
    const char *examples;        /* lines "command\n  what it does\n"; NULL = none */
    const sl_opt *options;       /* without --help, which every command has */
    size_t option_cnt;
    /* Checks the value of an option beyond its type, so that a settings file is refused with its line and
     * column; NULL = the type says it all. */
    sl_status (*check_value)(const sl_opt *opt, const sl_opt_value *value, sl_error *err);
    /* 0 or another exit code from 0 to 255; or a negative sl_status with err filled, which becomes
     * one line on standard error and its own exit code. Standard output is flushed and checked
     * by the caller. */
    int (*run)(const sl_opts *opts, sl_error *err);
} sl_cmd;

/* The name of the executable selects the table of commands. */
typedef struct sl_program {
    const char *name;
    const char *summary;
    const char *description;
    const sl_cmd *const *cmds;
    size_t cmd_cnt;
    bool is_compat;   /* the names, words and exit codes of the Python tool: see compat_cli.h */
    bool has_verbose; /* -v, --verbose in front of the command */
} sl_program;

extern const sl_program sl_programs[];
extern const size_t sl_program_cnt;

/* By the last part of argv[0]; the first program when the name is not known. Never NULL. */
const sl_program *sl_program_find(const char *argv0);

/* NULL when there is no such command. */
const sl_cmd *sl_cmd_find(const sl_program *program, const char *name);

/* One row for each exit code, for the manual. */
typedef struct sl_exit_row {
    int code;
    const char *meaning;
} sl_exit_row;

extern const sl_exit_row sl_exit_rows[];
extern const size_t sl_exit_row_cnt;

#endif
