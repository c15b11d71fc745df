/* SPDX-License-Identifier: MIT */
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/manual/help.h"

static int run(const sl_opts *opts, sl_error *err) {
    const sl_program *program = sl_cli_program();
    if (opts->operands.cnt == 0) {
        sl_help_program(stdout, program);
        return 0;
    }
    const sl_cmd *cmd = sl_cmd_find(program, opts->operands.at[0]);
    if (!cmd)
        return sl_fail(err, SL_E_USAGE, "there is no command '%s'; '%s --help' lists them",
                       opts->operands.at[0], program->name);
    sl_help_command(stdout, program, cmd);
    return 0;
}

const sl_cmd sl_cmd_help = {
    .name = "help",
    .is_unsettable = true,
    .operands = "[COMMAND]",
    .operand_max = 1,
    .summary = "print the list of commands, or the help of one",
    .run = run,
};
