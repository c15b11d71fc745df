/* SPDX-License-Identifier: MIT */
#include "cli/manual/manual.h"

#include <stdlib.h>

#include "base/files/file_atomic.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"

static sl_status write_page(const sl_manual_kind *kind, const char *dir, const sl_cmd *cmd,
                            sl_error *err) {
    char name[64];
    char *path = NULL;
    /* The name patterns are in the two rows below, not in any input. */
    if (cmd)
        snprintf(name, sizeof name, kind->command_file, cmd->name);
    else
        snprintf(name, sizeof name, "%s", kind->program_file);
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return sl_fail_no_memory(err, "a file name");
    sl_file_out out;
    sl_status status = sl_file_out_open(&out, path, err);
    free(path);
    SL_TRY(status);
    kind->write(out.stream, sl_cli_program(), cmd);
    return sl_file_out_commit(&out, err);
}

static sl_status write_all(const sl_manual_kind *kind, const char *dir, sl_error *err) {
    const sl_program *program = sl_cli_program();
    SL_TRY(write_page(kind, dir, NULL, err));
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (!program->cmds[i]->is_hidden)
            SL_TRY(write_page(kind, dir, program->cmds[i], err));
    return SL_OK;
}

int sl_manual_run(const sl_manual_kind *kind, const sl_opts *opts, sl_error *err) {
    const sl_cmd *cmd = NULL;
    if (sl_opts_text(opts, "dir"))
        return write_all(kind, sl_opts_text(opts, "dir"), err);
    if (opts->operands.cnt) {
        cmd = sl_cmd_find(sl_cli_program(), opts->operands.at[0]);
        if (!cmd)
            return sl_fail(err, SL_E_USAGE, "there is no command '%s'", opts->operands.at[0]);
    }
    kind->write(stdout, sl_cli_program(), cmd);
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
    .operands = "[COMMAND]",
    .operand_max = 1,
    .is_hidden = true,
    .summary = "print a manual page",
    .options = page_options,
    .option_cnt = SL_COUNT_OF(page_options),
    .run = run_man,
};

const sl_cmd sl_cmd_doc = {
    .name = "__doc",
    .operands = "[COMMAND]",
    .operand_max = 1,
    .is_hidden = true,
    .summary = "print a page of docs/cli",
    .options = page_options,
    .option_cnt = SL_COUNT_OF(page_options),
    .run = run_doc,
};
