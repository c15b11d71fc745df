/* SPDX-License-Identifier: MIT */
#include "cli/settings/config_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/text/human.h"

const sl_config_extra sl_config_extras[] = {
    {"code", "user", SL_CONFIG_KIND_FOLDERS, 0, true, 0,
     "folders with your code, also inside site-packages; findings name lines there"},
    {"code", "library", SL_CONFIG_KIND_FOLDERS, 0, false, 0,
     "folders with code that is not yours, such as a vendored framework"},
    {"output", "links", SL_CONFIG_KIND_BOOL, offsetof(sl_config, has_links), false, 1,
     "make file:line a link that opens the file (on a terminal)"},
    {"output", "progress", SL_CONFIG_KIND_BOOL, offsetof(sl_config, has_progress), false, 1,
     "show the progress of work that takes over a second (on a terminal)"},
#define THRESHOLD_KEY(member, key, kind, first, text)                                            \
    {"thresholds",    key, SL_CONFIG_KIND_##kind, offsetof(sl_config, thresholds.member), false, \
     (double)(first), text},
    SL_THRESHOLD_MAP(THRESHOLD_KEY)
#undef THRESHOLD_KEY
};
const size_t sl_config_extra_cnt = SL_COUNT_OF(sl_config_extras);

const char *sl_config_kind_words(sl_config_kind kind) {
    static const char *const words[] = {
        [SL_CONFIG_KIND_BOOL] = "true or false",
        [SL_CONFIG_KIND_FOLDERS] = "an array of folders",
        [SL_CONFIG_KIND_SHARE] = "a number from 0 to 1",
        [SL_CONFIG_KIND_RATIO] = "a number from 1 up",
        [SL_CONFIG_KIND_BYTES] = "a size such as \"64MiB\"",
        [SL_CONFIG_KIND_COUNT] = "a whole number from 1 up",
    };
    return words[kind];
}

bool sl_config_number(sl_config_kind kind, const sl_toml_value *value, double *number) {
    uint64_t bytes;
    bool is_number = value->type == SL_TOML_INT || value->type == SL_TOML_FLOAT;
    *number = value->real;
    switch (kind) {
    case SL_CONFIG_KIND_SHARE: return is_number && value->real >= 0 && value->real <= 1;
    case SL_CONFIG_KIND_RATIO: return is_number && value->real >= 1 && value->real <= 1e9;
    case SL_CONFIG_KIND_COUNT:
        return value->type == SL_TOML_INT && value->number >= 1 && value->number <= 1000000000;
    case SL_CONFIG_KIND_BYTES:
        if (value->type == SL_TOML_INT)
            return value->number >= 0;
        if (value->type != SL_TOML_STRING || sl_human_parse_bytes(value->text, &bytes, NULL) < 0)
            return false;
        *number = (double)bytes;
        return true;
    case SL_CONFIG_KIND_BOOL:
    case SL_CONFIG_KIND_FOLDERS: break;
    }
    return false;
}

/* ---- all keys ---- */

static const char *value_words(const sl_opt *opt) {
    static const char *const words[] = {
        [SL_OPT_FLAG] = "true or false",
        [SL_OPT_STRING] = "a string",
        [SL_OPT_FILE] = "a string",
        [SL_OPT_INT] = "a whole number",
        [SL_OPT_REAL] = "a number",
        [SL_OPT_SIZE] = "a size such as \"1GiB\"",
        [SL_OPT_LIMIT] = "a limit such as \"5%\" or \"200MiB\"",
        [SL_OPT_DURATION] = "a duration such as \"90s\"",
        [SL_OPT_TIME] = "a moment such as \"90s\" or \"peak\"",
        [SL_OPT_CHOICE] = "one of the option's words",
        [SL_OPT_CHOICES] = "an array of the option's words",
    };
    return words[opt->type];
}

static void initial_words(const sl_config_extra *extra, char buf[SL_HUMAN_CAP]) {
    switch (extra->kind) {
    case SL_CONFIG_KIND_BOOL:
        snprintf(buf, SL_HUMAN_CAP, extra->initial > 0 ? "true" : "false");
        break;
    case SL_CONFIG_KIND_FOLDERS: snprintf(buf, SL_HUMAN_CAP, "[]"); break;
    case SL_CONFIG_KIND_BYTES: sl_human_bytes(buf, (uint64_t)extra->initial); break;
    case SL_CONFIG_KIND_SHARE:
    case SL_CONFIG_KIND_RATIO:
    case SL_CONFIG_KIND_COUNT: snprintf(buf, SL_HUMAN_CAP, "%g", extra->initial); break;
    }
}

static void each_option(const sl_cmd *cmd, void (*take)(const sl_config_key *key, void *context),
                        void *context) {
    for (size_t i = 0; i < cmd->option_cnt; i++) {
        const sl_opt *opt = &cmd->options[i];
        if (sl_opt_setter_of(opt) == SL_SET_BY_NOBODY)
            continue;
        const char *initial = opt->initial ? opt->initial : opt->type == SL_OPT_FLAG ? "false" : "";
        take(&(sl_config_key){cmd->name, opt->name, opt->choices ? opt->choices : value_words(opt),
                              initial, opt->help, sl_opt_setter_of(opt)},
             context);
    }
}

void sl_config_keys_each(const sl_program *program,
                         void (*take)(const sl_config_key *key, void *context), void *context) {
    char initial[SL_HUMAN_CAP];
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden && !program->cmds[i]->is_unsettable)
            each_option(program->cmds[i], take, context);
    for (size_t i = 0; i < sl_config_extra_cnt; i++) {
        const sl_config_extra *extra = &sl_config_extras[i];
        initial_words(extra, initial);
        take(&(sl_config_key){extra->table, extra->name, sl_config_kind_words(extra->kind), initial,
                              extra->help, SL_SET_BY_PROJECT},
             context);
    }
}
