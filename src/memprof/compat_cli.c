/* SPDX-License-Identifier: MIT */
#include "memprof/compat_cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/term.h"

int sl_compat_fail(const char *text) {
    sl_term_printf(stdout, "Error: %s\n", text);
    return 1;
}

static void print_usage(const sl_program *program, const sl_cmd *cmd) {
    fprintf(stderr, "usage: %s %s [-h]", program->name, cmd->name);
    for (size_t i = 0; i < cmd->option_cnt; i++) {
        const sl_opt *opt = &cmd->options[i];
        const char *metavar = sl_opt_metavar(opt);
        fprintf(stderr, opt->is_required ? " --%s%s%s" : " [--%s%s%s]", opt->name,
                *metavar ? " " : "", metavar);
    }
    fprintf(stderr, "%s%s\n", *cmd->operands ? " " : "", cmd->operands);
}

int sl_compat_usage(const sl_program *program, const sl_cmd *cmd, const char *text) {
    print_usage(program, cmd);
    sl_term_printf(stderr, "%s %s: error: %s\n", program->name, cmd->name, text);
    return 2;
}

int sl_compat_unknown(const sl_program *program, const char *word) {
    fprintf(stderr, "usage: %s [-h]%s COMMAND ...\n", program->name,
            program->has_verbose ? " [-v]" : "");
    if (word[0] == '-') {
        sl_term_printf(stderr, "%s: error: unrecognized arguments: %s\n", program->name, word);
        return 2;
    }
    sl_term_printf(stderr, "%s: error: argument command: invalid choice: '%s' (choose from ",
                   program->name, word);
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden)
            fprintf(stderr, "%s'%s'", i ? ", " : "", program->cmds[i]->name);
    fprintf(stderr, ")\n");
    return 2;
}

sl_status sl_compat_check(const sl_cmd *cmd, const sl_opts *opts, sl_error *err) {
    for (size_t i = 0; i < cmd->option_cnt; i++)
        if (cmd->options[i].is_required && !sl_opts_is_given(opts, cmd->options[i].name))
            return sl_fail(err, SL_E_USAGE, "the following arguments are required: --%s",
                           cmd->options[i].name);
    if ((int)opts->operands.cnt < cmd->operand_min)
        return sl_fail(err, SL_E_USAGE, "the following arguments are required: %s", cmd->operands);
    if (cmd->operand_max != SL_OPERANDS_ANY && (int)opts->operands.cnt > cmd->operand_max)
        return sl_fail(err, SL_E_USAGE, "unrecognized arguments: %s",
                       opts->operands.at[cmd->operand_max]);
    return SL_OK;
}

bool sl_compat_is_verbose(const char *word) {
    return strcmp(word, "-v") == 0 || strcmp(word, "--verbose") == 0;
}

const char *sl_compat_bytes(char buf[SL_COMPAT_BYTES_CAP], int64_t bytes) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    size_t unit = 0;
    if (bytes == 0)
        return "0 B";
    while (value >= 1024 && unit + 1 < SL_COUNT_OF(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(buf, SL_COMPAT_BYTES_CAP, "%.2f %s", value, units[unit]);
    return buf;
}

const char *sl_compat_real(char buf[SL_COMPAT_REAL_CAP], double value) {
    snprintf(buf, SL_COMPAT_REAL_CAP, "%.15g", value);
    if (!strpbrk(buf, ".en")) /* a whole number; "nan" and "inf" have an n */
        strncat(buf, ".0", SL_COMPAT_REAL_CAP - strlen(buf) - 1);
    return buf;
}

static void print_rule(FILE *to, char c, int cnt) {
    for (int i = 0; i < cnt; i++)
        putc(c, to);
    putc('\n', to);
}

void sl_compat_title(const char *text) {
    printf("%s\n", text);
    print_rule(stdout, '=', 50);
}

void sl_compat_heading(FILE *to, const char *text, int cnt) {
    fprintf(to, "%s\n", text);
    print_rule(to, '-', cnt);
}
