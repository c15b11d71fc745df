/* SPDX-License-Identifier: MIT */
/* From the options of `stormlog run` to the variables the recorder reads. The table of both is
 * record/core/record_setting.h. */
#ifndef SL_RUN_SETTINGS_H
#define SL_RUN_SETTINGS_H

#include "base/core/options.h"
#include "record/core/record_setting.h"

enum {
#define SL_COUNT_OPTIONS(id, member, type, env, initial, least, most, words, api, python, unset, \
                         meaning, ...)                                                           \
    __VA_ARGS__
#define SL_COUNT_OPTION(...) +1
    /* and two of the launcher alone, --no-compact and --no-forecast */
    SL_RUN_OPTION_CNT = 2 SL_SETTING_MAP(SL_COUNT_OPTIONS, SL_COUNT_OPTION)
#undef SL_COUNT_OPTION
#undef SL_COUNT_OPTIONS
};

extern const sl_opt sl_run_options[SL_RUN_OPTION_CNT];

/* SL_E_USAGE when the setting of this option does not take the value: its limits are in sl_settings. */
sl_status sl_run_setting_check(const sl_opt *opt, const sl_opt_value *value, sl_error *err);

/* The same for every option of a command line, and that no two of one setting are given. */
sl_status sl_run_settings_check(const sl_opts *opts, sl_error *err);

/* Sets or removes the variable of every setting that has an option. `dir` is the folder that was made for
 * the run. False with errno set. */
bool sl_run_settings_export(const sl_opts *opts, const char *dir);

#endif
