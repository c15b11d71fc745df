/* SPDX-License-Identifier: MIT */
#include "base/core/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/core/nearest.h"
#include "base/core/str.h"

sl_status sl_opts_init(sl_opts *opts, const sl_opt *table, size_t table_cnt, sl_error *err) {
    *opts = (sl_opts){.table = table, .table_cnt = table_cnt};
    for (size_t i = 0; i < table_cnt; i++) {
        sl_opt_value value = {0};
        if (table[i].initial && sl_opt_value_parse(&table[i], table[i].initial, &value, err) < 0)
            return sl_fail(err, SL_E_INTERNAL, "the initial value of '--%s' is wrong",
                           table[i].name);
        if (!sl_vec_push(&opts->values, value))
            return sl_fail_no_memory(err, "the options");
    }
    return SL_OK;
}

void sl_opts_fini(sl_opts *opts) {
    sl_vec_free(&opts->values);
    sl_vec_free(&opts->repeats);
    sl_vec_free(&opts->operands);
}

static const sl_opt *find_long(const sl_opts *opts, const char *name, size_t len) {
    for (size_t i = 0; i < opts->table_cnt; i++)
        if (sl_str_is((sl_str){name, len}, opts->table[i].name))
            return &opts->table[i];
    return NULL;
}

/* argparse takes any beginning that fits one option alone. */
static sl_status find_beginning(const sl_opts *opts, const char *name, size_t len,
                                const sl_opt **out, sl_error *err) {
    char list[200] = "";
    size_t used = 0, cnt = 0;
    *out = NULL;
    for (size_t i = 0; i < opts->table_cnt; i++) {
        if (strncmp(opts->table[i].name, name, len) != 0)
            continue;
        *out = &opts->table[i];
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", cnt ? ", " : "",
                                     opts->table[i].name);
        cnt++;
    }
    if (cnt > 1)
        return sl_fail(err, SL_E_USAGE, "ambiguous option: --%.*s could match %s", (int)len, name,
                       list);
    return SL_OK;
}

static const sl_opt *find_short(const sl_opts *opts, char letter) {
    for (size_t i = 0; i < opts->table_cnt; i++)
        if (opts->table[i].short_name == letter)
            return &opts->table[i];
    return NULL;
}

/* "argument --format: invalid choice: 'x' (choose from 'csv', 'json')". */
static sl_status fail_choice(const sl_opt *opt, const char *text, sl_error *err) {
    char list[120] = "";
    size_t used = 0;
    sl_str word;
    for (size_t i = 0; sl_opt_choice(opt->choices, i, &word) && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%.*s'", i ? ", " : "",
                                 (int)word.len, word.ptr);
    return sl_fail(err, SL_E_USAGE, "argument --%s: invalid choice: '%s' (choose from %s)",
                   opt->name, text, list);
}

static sl_status fail_argparse(const sl_opt *opt, const char *text, sl_error *err) {
    if (opt->choices)
        return fail_choice(opt, text, err);
    return sl_fail(err, SL_E_USAGE, "argument --%s: invalid %s value: '%s'", opt->name,
                   opt->type == SL_OPT_INT ? "int" : "float", text);
}

static sl_status store(sl_opts *opts, const sl_opt *opt, const char *text, sl_error *err) {
    sl_opt_value value = {.is_given = true};
    if (sl_opt_value_parse(opt, text, &value, err) < 0)
        return opts->is_argparse ? fail_argparse(opt, text, err)
                                 : sl_error_prefix(err, "option '--%s'", opt->name);
    opts->values.at[opt - opts->table] = value;
    if (opt->is_repeated && !sl_vec_push(&opts->repeats, ((sl_opt_repeat){opt, value})))
        return sl_fail_no_memory(err, "the options");
    return SL_OK;
}

static sl_status fail_unknown(const sl_opts *opts, const char *name, size_t len, sl_error *err) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)len, name);
    sl_nearest nearest = {.word = word};
    for (size_t i = 0; i < opts->table_cnt; i++)
        sl_nearest_offer(&nearest, (sl_str){opts->table[i].name, strlen(opts->table[i].name)});
    if (nearest.best[0])
        return sl_fail(err, SL_E_USAGE, "unknown option '--%s'; did you mean '--%s'?", word,
                       nearest.best);
    return sl_fail(err, SL_E_USAGE, "unknown option '--%s'", word);
}

/* "no-x" of "x" and the other way round: NULL when the table does not have it as a flag. */
static const sl_opt *find_opposite(const sl_opts *opts, const char *name, size_t len) {
    char other[64];
    const sl_opt *opt;
    if (len >= 3 && strncmp(name, "no-", 3) == 0)
        opt = find_long(opts, name + 3, len - 3);
    else {
        int used = snprintf(other, sizeof other, "no-%.*s", (int)len, name);
        opt = used > 0 && (size_t)used < sizeof other ? find_long(opts, other, (size_t)used) : NULL;
    }
    return opt && opt->type == SL_OPT_FLAG ? opt : NULL;
}

/* Forgets what a settings file said of the opposite of an option that is typed. */
static void drop_opposite(sl_opts *opts, const sl_opt *opt) {
    const sl_opt *other = find_opposite(opts, opt->name, strlen(opt->name));
    if (other && opts->values.at[other - opts->table].is_preset)
        opts->values.at[other - opts->table] = (sl_opt_value){0};
}

sl_status sl_opts_preset(sl_opts *opts, const char *name, const char *text, sl_error *err) {
    const sl_opt *opt = find_long(opts, name, strlen(name));
    sl_opt_value value = {.is_given = true, .is_preset = true};
    assert(opt);
    if (opt->type == SL_OPT_FLAG && !text)
        value = (sl_opt_value){0};
    else
        SL_TRY(sl_opt_value_parse(opt, text, &value, err));
    if (value.is_given && opt->type == SL_OPT_FLAG)
        drop_opposite(opts, opt);
    opts->values.at[opt - opts->table] = value;
    return SL_OK;
}

/* The parser's place in argv. */
typedef struct cursor {
    int at, argc;
    char *const *argv;
} cursor;

/* A negative number is a value; any other word with a dash is not. */
static bool looks_like_option(const char *word) {
    char *end;
    if (word[0] != '-' || !word[1])
        return false;
    (void)strtod(word, &end);
    return *end != '\0';
}

/* The value that follows an option as the next word. */
static sl_status take_next(sl_opts *opts, const sl_opt *opt, cursor *in, sl_error *err) {
    if (opts->is_argparse && (in->at >= in->argc || looks_like_option(in->argv[in->at])))
        return sl_fail(err, SL_E_USAGE, "argument --%s: expected one argument", opt->name);
    if (in->at >= in->argc)
        return sl_fail(err, SL_E_USAGE, "option '--%s' needs a value: --%s %s", opt->name,
                       opt->name, sl_opt_metavar(opt));
    return store(opts, opt, in->argv[in->at++], err);
}

static sl_status parse_long(sl_opts *opts, const char *name, cursor *in, sl_error *err) {
    size_t len = strcspn(name, "=");
    const sl_opt *opt = find_long(opts, name, len);
    if (!opt && opts->is_argparse)
        SL_TRY(find_beginning(opts, name, len, &opt, err));
    if (!opt && opts->is_argparse)
        return sl_fail(err, SL_E_USAGE, "unrecognized arguments: --%s", name);
    if (!opt && !name[len] && (opt = find_opposite(opts, name, len))) {
        opts->values.at[opt - opts->table] = (sl_opt_value){0};
        return SL_OK;
    }
    if (!opt)
        return fail_unknown(opts, name, len, err);
    drop_opposite(opts, opt);
    if (opt->type != SL_OPT_FLAG)
        return name[len] ? store(opts, opt, name + len + 1, err) : take_next(opts, opt, in, err);
    if (name[len])
        return sl_fail(err, SL_E_USAGE, "option '--%s' takes no value", opt->name);
    return store(opts, opt, "", err);
}

static sl_status parse_short(sl_opts *opts, const char *letters, cursor *in, sl_error *err) {
    for (; *letters; letters++) {
        const sl_opt *opt = find_short(opts, *letters);
        if (!opt)
            return sl_fail(err, SL_E_USAGE, "unknown option '-%c'", *letters);
        if (opt->type != SL_OPT_FLAG)
            return letters[1] ? store(opts, opt, letters + 1, err) : take_next(opts, opt, in, err);
        SL_TRY(store(opts, opt, "", err));
    }
    return SL_OK;
}

static sl_status take_operand(sl_opts *opts, const char *word, sl_error *err) {
    if (sl_vec_push(&opts->operands, word))
        return SL_OK;
    return sl_fail_no_memory(err, "the operands");
}

sl_status sl_opts_parse(sl_opts *opts, int argc, char *const *argv, sl_error *err) {
    cursor in = {0, argc, argv};
    bool takes_options = true;
    while (in.at < in.argc) {
        const char *word = in.argv[in.at++];
        /* A single dash is an operand by tradition: standard input or output. */
        bool is_option = takes_options && word[0] == '-' && word[1];
        if (is_option && strcmp(word, "--") == 0) {
            takes_options = false;
        } else if (is_option && word[1] == '-') {
            SL_TRY(parse_long(opts, word + 2, &in, err));
        } else if (is_option) {
            SL_TRY(parse_short(opts, word + 1, &in, err));
        } else {
            SL_TRY(take_operand(opts, word, err));
            takes_options = takes_options && !opts->stops_at_operand;
        }
    }
    return SL_OK;
}

const sl_opt_value *sl_opts_get(const sl_opts *opts, const char *name) {
    const sl_opt *opt = find_long(opts, name, strlen(name));
    assert(opt);
    return &opts->values.at[opt - opts->table];
}

bool sl_opts_flag(const sl_opts *opts, const char *name) {
    return sl_opts_get(opts, name)->is_given;
}

bool sl_opts_is_typed(const sl_opts *opts, const char *name) {
    const sl_opt_value *value = sl_opts_get(opts, name);
    return value->is_given && !value->is_preset;
}

bool sl_opts_is_given(const sl_opts *opts, const char *name) {
    return sl_opts_get(opts, name)->is_given;
}

const char *sl_opts_text(const sl_opts *opts, const char *name) {
    return sl_opts_get(opts, name)->text;
}

double sl_opts_real(const sl_opts *opts, const char *name) {
    return sl_opts_get(opts, name)->real;
}

int64_t sl_opts_number(const sl_opts *opts, const char *name) {
    return sl_opts_get(opts, name)->number;
}

const sl_opt_value *sl_opts_next(const sl_opts *opts, const char *name, size_t *at) {
    const sl_opt *opt = find_long(opts, name, strlen(name));
    while (*at < opts->repeats.cnt) {
        const sl_opt_repeat *repeat = &opts->repeats.at[(*at)++];
        if (repeat->opt == opt)
            return &repeat->value;
    }
    return NULL;
}
