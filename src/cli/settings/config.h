/* SPDX-License-Identifier: MIT */
/* The settings files: the user's ($XDG_CONFIG_HOME/stormlog/config.toml) and the project's (stormlog.toml in
 * this folder or above, up to the root of the git repository). The project's wins over the user's; the
 * command line and the environment win over both. docs/settings.md has every key.
 *
 * A project's file comes from whoever wrote the project, so it can name no path, no command and no address,
 * remove nothing, and show nothing to other users: sl_opt.setter decides. Neither file is read inside a
 * recorded process; `stormlog run` turns them into the recorder's variables. Main thread. */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include "analyze/thresholds.h"
#include "base/text/toml_in.h"
#include "cli/core/cmd.h"
#include "model/trace.h"

typedef enum sl_config_owner {
    SL_CONFIG_USER,
    SL_CONFIG_PROJECT,
    SL_CONFIG_OWNER_CNT,
} sl_config_owner;

typedef enum sl_config_state {
    SL_CONFIG_ABSENT,
    SL_CONFIG_READ,
    SL_CONFIG_IGNORED, /* another user's, or writable by others */
    SL_CONFIG_BAD,
} sl_config_state;

typedef struct sl_config_file {
    char path[1024]; /* "" = there is no place for it */
    sl_config_state state;
    char problem[SL_ERROR_TEXT_CAP]; /* of IGNORED and BAD */
    sl_toml doc;                     /* owned */
} sl_config_file;

typedef struct sl_config {
    sl_config_file files[SL_CONFIG_OWNER_CNT];
    sl_thresholds thresholds;
    sl_code_folders code;
    bool has_links;    /* file:line is a link on terminals that know links */
    bool has_progress; /* the progress line */
} sl_config;

/* What is in effect; the initial values before sl_config_load. */
const sl_config *sl_config_get(void);

/* Reads both files, once. The first thing wrong with one of them is the error: one line with file, line,
 * column, expected and found. What was read before it stays in effect. */
sl_status sl_config_load(const sl_program *program, sl_error *err);

/* Gives the options of a command the values of the files. After sl_config_load, before parsing. */
sl_status sl_config_apply(const sl_cmd *cmd, sl_opts *opts, sl_error *err);

/* One key that a settings file may have. */
typedef struct sl_config_key {
    const char *table, *name;
    const char *value;   /* what it takes: "true or false", "SIZE" */
    const char *initial; /* "" = none */
    const char *help;
    sl_opt_setter setter; /* BY_USER or BY_PROJECT */
} sl_config_key;

/* Calls back for every key: options in the order of the commands, then the other tables. */
void sl_config_keys_each(const sl_program *program,
                         void (*take)(const sl_config_key *key, void *context), void *context);

/* One setting that a file makes. */
typedef struct sl_config_row {
    const sl_toml_entry *entry;
    const sl_config_file *file;
    const char *overruled_by; /* "the project's file" or a variable; NULL = it is in effect */
    char value[160];          /* as one would write it, shortened */
} sl_config_row;

void sl_config_rows_each(void (*take)(const sl_config_row *row, void *context), void *context);

#endif
