/* SPDX-License-Identifier: MIT */
#include "cli/run/run_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run_folder.h"

#define VALUE_CAP 32

const sl_opt sl_run_options[SL_RUN_OPTION_CNT] = {
#define OPTIONS_OF(id, member, type, env, initial, least, most, words, api, python, unset, \
                   meaning, ...)                                                           \
    __VA_ARGS__
#define OPTION(...) {__VA_ARGS__},
    SL_SETTING_MAP(OPTIONS_OF, OPTION)
    /* Only for the launcher, not for the recorder. */
    {.name = "no-compact",
     .type = SL_OPT_FLAG,
     .help = "do not compact the recordings when the command ends (see 'stormlog compact')"},
    {.name = "no-forecast",
     .type = SL_OPT_FLAG,
     .help = "do not raise an alert when memory will be out at the present rate of growth"},
#undef OPTION
#undef OPTIONS_OF
};

/* What an option writes into the variable; NULL = it was not given and has no default. */
static const char *value_of(const sl_opt *opt, const sl_opt_value *value, char buf[VALUE_CAP]) {
    if (opt->type == SL_OPT_FLAG)
        return !value->is_given ? NULL : strncmp(opt->name, "no-", 3) == 0 ? "0" : "1";
    if (opt->type != SL_OPT_DURATION)
        return value->text;
    snprintf(buf, VALUE_CAP, "%" PRId64, value->number / 1000);
    return buf;
}

static const sl_setting *setting_of(const sl_opt *opt) {
    const sl_opt *row = sl_run_options;
    for (size_t i = 0; i < SL_SETTING_CNT; row += sl_settings[i++].option_cnt)
        for (unsigned k = 0; k < sl_settings[i].option_cnt; k++)
            if (strcmp(row[k].name, opt->name) == 0)
                return &sl_settings[i];
    return NULL;
}

sl_status sl_run_setting_check(const sl_opt *opt, const sl_opt_value *value, sl_error *err) {
    char buf[VALUE_CAP], expected[SL_SETTING_EXPECTED_CAP];
    const sl_setting *setting = setting_of(opt);
    const char *text = value_of(opt, value, buf);
    uint64_t number;
    if (!setting || !text || setting->type == SL_SETTING_PATH ||
        sl_setting_parse(setting, text, &number))
        return SL_OK;
    return sl_fail(err, SL_E_USAGE, "expected %s, found '%s'",
                   sl_setting_expected(setting, expected), value->text);
}

/* The options of one setting are next to each other. */
static sl_status check_row(const sl_opts *opts, const sl_setting *setting, const sl_opt *row,
                           sl_error *err) {
    char buf[VALUE_CAP];
    const sl_opt *given = NULL;
    for (const sl_opt *opt = row; opt < row + setting->option_cnt; opt++) {
        const sl_opt_value *value = sl_opts_get(opts, opt->name);
        if (!value_of(opt, value, buf))
            continue;
        if (given)
            return sl_fail(err, SL_E_USAGE, "give either --%s or --%s, not both", given->name,
                           opt->name);
        given = opt;
        if (sl_run_setting_check(opt, value, err) < 0)
            return sl_error_prefix(err, "option '--%s'", opt->name);
    }
    return SL_OK;
}

sl_status sl_run_settings_check(const sl_opts *opts, sl_error *err) {
    const sl_opt *row = sl_run_options;
    for (size_t i = 0; i < SL_SETTING_CNT; row += sl_settings[i++].option_cnt)
        SL_TRY(check_row(opts, &sl_settings[i], row, err));
    return SL_OK;
}

static bool export_row(const sl_opts *opts, const sl_setting *setting, const sl_opt *row,
                       const char *dir) {
    char buf[VALUE_CAP];
    const char *value = NULL;
    if (setting->option_cnt == 0)
        return true;
    for (const sl_opt *opt = row; !value && opt < row + setting->option_cnt; opt++)
        value = value_of(opt, sl_opts_get(opts, opt->name), buf);
    if (setting->type == SL_SETTING_PATH)
        value = dir;
    if (!value)
        return setting->is_inherited || unsetenv(setting->env) == 0;
    return setenv(setting->env, value, 1) == 0;
}

bool sl_run_settings_export(const sl_opts *opts, const char *dir) {
    const sl_opt *row = sl_run_options;
    for (size_t i = 0; i < SL_SETTING_CNT; row += sl_settings[i++].option_cnt)
        if (!export_row(opts, &sl_settings[i], row, dir))
            return false;
    return true;
}
