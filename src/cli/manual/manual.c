/* SPDX-License-Identifier: MIT */
#include "cli/manual/manual.h"

#include <stdlib.h>
#include <string.h>

#include "base/files/file_atomic.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"

static sl_status write_page(const sl_manual_kind *kind, const char *dir, const sl_program *program,
                            const sl_cmd *cmd, sl_error *err) {
    char name[64];
    char *path = NULL;
    /* The name patterns are in the rows of the two kinds, not in any input. */
    if (cmd)
        snprintf(name, sizeof name, kind->command_file, cmd->name);
    else
        snprintf(name, sizeof name, program == sl_programs ? kind->program_file : kind->other_file,
                 program->name);
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return sl_fail_no_memory(err, "a file name");
    sl_file_out out;
    sl_status status = sl_file_out_open(&out, path, err);
    free(path);
    SL_TRY(status);
    kind->write(out.stream, program, cmd);
    return sl_file_out_commit(&out, err);
}

static sl_status write_all(const sl_manual_kind *kind, const char *dir, sl_error *err) {
    const sl_program *program = sl_cli_program();
    for (size_t i = 0; i < sl_program_cnt; i++)
        SL_TRY(write_page(kind, dir, &sl_programs[i], NULL, err));
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden)
            SL_TRY(write_page(kind, dir, program, program->cmds[i], err));
    return SL_OK;
}

int sl_manual_run(const sl_manual_kind *kind, const sl_opts *opts, sl_error *err) {
    const sl_program *program = sl_cli_program();
    const sl_cmd *cmd = NULL;
    if (sl_opts_text(opts, "dir"))
        return write_all(kind, sl_opts_text(opts, "dir"), err);
    if (opts->operands.cnt) {
        const char *name = opts->operands.at[0];
        cmd = sl_cmd_find(program, name);
        program = cmd ? program : sl_program_find(name);
        if (!cmd && strcmp(program->name, name) != 0)
            return sl_fail(err, SL_E_USAGE, "there is no command '%s'", name);
    }
    kind->write(stdout, program, cmd);
    return 0;
}

static int run_man(const sl_opts *opts, sl_error *err) {
    return sl_manual_run(&sl_manual_roff, opts, err);
}

static int run_doc(const sl_opts *opts, sl_error *err) {
    return sl_manual_run(&sl_manual_markdown, opts, err);
}

static const sl_opt page_options[] = {
    {.name = "dir", .type = SL_OPT_FILE, .metavar = "DIR", .help = "write every page into DIR"},
};

const sl_cmd sl_cmd_man = {
    .name = "__man",
    .operands = "[COMMAND|PROGRAM]",
    .operand_max = 1,
    .is_hidden = true,
    .summary = "print a manual page",
    .options = page_options,
    .option_cnt = SL_COUNT_OF(page_options),
    .run = run_man,
};

const sl_cmd sl_cmd_doc = {
    .name = "__doc",
    .operands = "[COMMAND|PROGRAM]",
    .operand_max = 1,
    .is_hidden = true,
    .summary = "print a page of docs/cli",
    .options = page_options,
    .option_cnt = SL_COUNT_OF(page_options),
    .run = run_doc,
};
