/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/core/str.h"
#include "cli/core/cmd.h"
#include "cli/core/cmd_list.h"

/* In the order of the help text: what a user reaches for first comes first. One per line, so that
 * branches that add a command merge. */
/* clang-format off */
static const sl_cmd *const stormlog_cmds[] = {
    &sl_cmd_run,
    &sl_cmd_top,
    &sl_cmd_tui,
    &sl_cmd_analyze,
    &sl_cmd_report,
    &sl_cmd_diff,
    &sl_cmd_check,
    &sl_cmd_whatif,
    &sl_cmd_plot,
    &sl_cmd_ranks,
    &sl_cmd_agent,
    &sl_cmd_export,
    &sl_cmd_runs,
    &sl_cmd_compact,
    &sl_cmd_ship,
    &sl_cmd_fsck,
    &sl_cmd_cat,
    &sl_cmd_info,
    &sl_cmd_diagnose,
    &sl_cmd_completion,
    &sl_cmd_help,
    &sl_cmd_man,
    &sl_cmd_doc,
    &sl_cmd_settings,
};
/* clang-format on */

static const sl_cmd *const gpumemprof_cmds[] = {
    &sl_cmd_gpumemprof_info,    &sl_cmd_gpumemprof_monitor,  &sl_cmd_gpumemprof_track,
    &sl_cmd_gpumemprof_analyze, &sl_cmd_gpumemprof_diagnose,
};

static const sl_cmd *const tfmemprof_cmds[] = {
    &sl_cmd_tfmemprof_info,    &sl_cmd_tfmemprof_monitor,  &sl_cmd_tfmemprof_track,
    &sl_cmd_tfmemprof_analyze, &sl_cmd_tfmemprof_diagnose,
};

const sl_program sl_programs[] = {
    {
        .name = "stormlog",
        .summary = "shows what fills the GPU, what grew, and which line of code holds it",
        .description =
            "Records the memory of a training run from inside the process, reads these recordings "
            "and PyTorch's own memory snapshots, and explains them in plain words. Nothing in an "
            "input is ever executed, and nothing leaves the machine unless you send it.",
        .cmds = stormlog_cmds,
        .cmd_cnt = SL_COUNT_OF(stormlog_cmds),
    },
    {
        .name = "gpumemprof",
        .summary = "the Python tool's PyTorch commands, without Python",
        .cmds = gpumemprof_cmds,
        .cmd_cnt = SL_COUNT_OF(gpumemprof_cmds),
        .is_compat = true,
    },
    {
        .name = "tfmemprof",
        .summary = "the Python tool's TensorFlow commands, without Python",
        .cmds = tfmemprof_cmds,
        .cmd_cnt = SL_COUNT_OF(tfmemprof_cmds),
        .is_compat = true,
        .has_verbose = true,
    },
};
const size_t sl_program_cnt = SL_COUNT_OF(sl_programs);

const sl_exit_row sl_exit_rows[] = {
    {0, "done"},
    {1, "a finding named by --fail-on, or a failed check"},
    {2, "usage error"},
    {3, "bad or unreadable input"},
    {4, "environment: no permission, a full disk, a missing library or device"},
    {5, "out of host memory, or a bug in stormlog"},
};
const size_t sl_exit_row_cnt = SL_COUNT_OF(sl_exit_rows);

const sl_program *sl_program_find(const char *argv0) {
    const char *name = argv0 ? sl_base_name(argv0) : NULL;
    for (size_t i = 0; name && i < sl_program_cnt; i++)
        if (strcmp(sl_programs[i].name, name) == 0)
            return &sl_programs[i];
    return &sl_programs[0];
}

const sl_cmd *sl_cmd_find(const sl_program *program, const char *name) {
    for (size_t i = 0; i < program->cmd_cnt; i++)
        if (strcmp(program->cmds[i]->name, name) == 0)
            return program->cmds[i];
    return NULL;
}
