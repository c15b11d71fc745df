/* SPDX-License-Identifier: MIT */
#include "cli/core/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/nearest.h"
#include "base/text/term.h"
#include "cli/core/cmd_list.h"
#include "cli/core/progress.h"
#include "cli/manual/help.h"
#include "cli/settings/config.h"
#include "cli/ship/remote_operands.h"
#include "memprof/compat_cli.h"
#include "sl_config.h"
#include "stormlog/version.h"

static const sl_program *running = &sl_programs[0];

const sl_program *sl_cli_program(void) {
    return running;
}

void sl_cli_complain(const char *fmt, ...) {
    char text[SL_ERROR_TEXT_CAP * 2];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sl_term_clean(text);
    sl_progress_hide();
    fprintf(stderr, "%s: %s\n", running->name, text);
    sl_progress_show();
}

static bool output_failed; /* and was reported */

/* Prints a failure and gives its exit code. A closed pipe is not an error: its reader has seen
 * enough (`| head`). */
static int fail_with(const sl_error *err, sl_status status) {
    output_failed = output_failed || status == SL_E_WRITE || status == SL_E_NOSPACE;
    if (status == SL_E_WRITE && err->sys_errno == EPIPE)
        return 0;
    if (running->is_compat)
        return sl_compat_fail(err->text[0] ? err->text : sl_status_meaning(status));
    sl_cli_complain("%s", err->text[0] ? err->text : sl_status_meaning(status));
    return sl_status_exit_code(status);
}

static const sl_opt help_option = {
    .name = "help", .short_name = 'h', .type = SL_OPT_FLAG, .help = "print this help"};

typedef SL_VEC(sl_opt) opt_vec;

static bool make_table(const sl_cmd *cmd, opt_vec *table) {
    for (size_t i = 0; i < cmd->option_cnt; i++)
        if (!sl_vec_push(table, cmd->options[i]))
            return false;
    return sl_vec_push(table, help_option);
}

static sl_status check_operands(const sl_cmd *cmd, const sl_opts *opts, sl_error *err) {
    int cnt = (int)opts->operands.cnt;
    if (cnt < cmd->operand_min)
        return sl_fail(err, SL_E_USAGE, "expected %s", cmd->operands);
    if (cmd->operand_max != SL_OPERANDS_ANY && cnt > cmd->operand_max)
        return sl_fail(err, SL_E_USAGE, "unexpected '%s'", opts->operands.at[cmd->operand_max]);
    return SL_OK;
}

/* Every usage error ends with what to do; a text with a ';' already has it. */
static int fail_usage(const sl_cmd *cmd, const sl_error *err) {
    if (running->is_compat)
        return sl_compat_usage(running, cmd, err->text);
    if (strchr(err->text, ';'))
        sl_cli_complain("%s", err->text);
    else
        sl_cli_complain("%s; see '%s %s --help'", err->text, running->name, cmd->name);
    return sl_status_exit_code(SL_E_USAGE);
}

static int run_parsed(const sl_cmd *cmd, sl_opts *opts) {
    sl_error err = SL_ERROR_INIT;
    if (sl_opts_flag(opts, "help")) {
        sl_help_command(stdout, running, cmd);
        return 0;
    }
    if (running->is_compat && sl_compat_check(cmd, opts, &err) < 0)
        return fail_usage(cmd, &err);
    if (check_operands(cmd, opts, &err) < 0)
        return fail_usage(cmd, &err);
    int result = running->is_compat || cmd->takes_urls || cmd->stops_at_operand
                     ? SL_OK
                     : sl_remote_operands(opts, &err);
    if (result >= 0)
        result = cmd->run(opts, &err);
    if (result == SL_E_USAGE)
        return fail_usage(cmd, &err);
    return result < 0 ? fail_with(&err, (sl_status)result) : result;
}

/* A bad settings file ends every command except help and the one that shows settings. */
static sl_status take_settings(const sl_cmd *cmd, sl_opts *opts, sl_error *err) {
    if (running->is_compat || cmd->is_hidden || cmd->is_unsettable)
        return SL_OK;
    sl_error wrong = SL_ERROR_INIT;
    sl_status status = sl_config_load(running, cmd->shows_settings ? &wrong : err);
    if (status < 0 && !cmd->shows_settings)
        return status;
    for (size_t i = 0; i < SL_CONFIG_OWNER_CNT; i++)
        if (sl_config_get()->files[i].state == SL_CONFIG_IGNORED && !cmd->shows_settings)
            sl_cli_complain("settings in '%s' are ignored: %s", sl_config_get()->files[i].path,
                            sl_config_get()->files[i].problem);
    sl_progress_allow(sl_config_get()->has_progress);
    return sl_config_apply(cmd, opts, err);
}

static int run_command(const sl_cmd *cmd, int argc, char **argv) {
    sl_error err = SL_ERROR_INIT;
    opt_vec table = {0};
    sl_opts opts = {0};
    int code;
    if (!make_table(cmd, &table))
        sl_fail_no_memory(&err, "the options");
    else if (sl_opts_init(&opts, table.at, table.cnt, &err) == SL_OK) {
        opts.stops_at_operand = cmd->stops_at_operand;
        opts.is_argparse = running->is_compat;
        bool is_help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
        if (is_help || take_settings(cmd, &opts, &err) == SL_OK)
            sl_opts_parse(&opts, argc, argv, &err);
    }
    if (err.code == SL_OK)
        code = run_parsed(cmd, &opts);
    else
        code = err.code == SL_E_USAGE ? fail_usage(cmd, &err) : fail_with(&err, err.code);
    sl_opts_fini(&opts);
    sl_vec_free(&table);
    return code;
}

static int fail_unknown_command(const char *name) {
    if (running->is_compat)
        return sl_compat_unknown(running, name);
    sl_nearest nearest = {.word = name};
    for (size_t i = 0; i < running->cmd_cnt; i++)
        if (!running->cmds[i]->is_hidden)
            sl_nearest_offer(&nearest,
                             (sl_str){running->cmds[i]->name, strlen(running->cmds[i]->name)});
    if (nearest.best[0])
        sl_cli_complain("unknown command '%s'; did you mean '%s'?", name, nearest.best);
    else
        sl_cli_complain("unknown command '%s'; '%s --help' lists them", name, running->name);
    return sl_status_exit_code(SL_E_USAGE);
}

static int dispatch(int argc, char **argv) {
    if (running->has_verbose && argc > 1 && sl_compat_is_verbose(argv[1]))
        return dispatch(argc - 1, argv + 1);
    if (argc < 2 && running->is_compat) {
        sl_help_program(stdout, running);
        return 0;
    }
    if (argc < 2 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return run_command(&sl_cmd_tui, 0, argv + argc);
    if (argc < 2) {
        sl_cli_complain("expected a command; '%s --help' lists them", running->name);
        return sl_status_exit_code(SL_E_USAGE);
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        sl_help_program(stdout, running);
        return 0;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("%s %s\n", running->name, SL_VERSION_STRING);
        return 0;
    }
    if (word[0] == '-' && running->is_compat)
        return sl_compat_unknown(running, word);
    if (word[0] == '-') {
        sl_cli_complain("unknown option '%s'; give a command first, '%s --help' lists them", word,
                        running->name);
        return sl_status_exit_code(SL_E_USAGE);
    }
    const sl_cmd *cmd = sl_cmd_find(running, word);
    return cmd ? run_command(cmd, argc - 2, argv + 2) : fail_unknown_command(word);
}

/* What was printed must have arrived: a full disk is an error. */
static int check_output(int code) {
    errno = 0;
    bool is_bad = ferror(stdout) != 0;
    if ((fflush(stdout) == 0 && !is_bad) || output_failed)
        return code;
    sl_error err = SL_ERROR_INIT;
    errno = errno ? errno : EIO;
    sl_status status = sl_fail_errno(&err, SL_E_WRITE, "cannot write standard output");
    return fail_with(&err, status);
}

int sl_cli_run(const sl_program *program, int argc, char **argv) {
    running = program;
    sl_term_follow(stdout);
    return check_output(dispatch(argc, argv));
}
