/* SPDX-License-Identifier: MIT */
/* Makes finished recordings small. `stormlog run` does the same at its end. */
#include <stdio.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/recordings.h"
#include "cli/core/stop_signals.h"
#include "log/compact/log_compact.h"

static void print_result(const char *path, const sl_compact_result *result) {
    char before[SL_HUMAN_CAP], after[SL_HUMAN_CAP];
    sl_human_bytes(before, result->bytes_before);
    sl_human_bytes(after, result->bytes_after);
    switch (result->outcome) {
    case SL_COMPACT_DONE: sl_term_printf(stdout, "%s: %s, was %s\n", path, after, before); break;
    case SL_COMPACT_ALREADY:
        sl_term_printf(stdout, "%s: %s, already compact\n", path, after);
        break;
    case SL_COMPACT_LIVE:
        sl_term_printf(stdout, "%s: still being written, not changed\n", path);
        break;
    }
}

/* A recording that is still written is an error only if it was given by name. */
static sl_status compact_file(const char *path, bool is_named, const sl_compact_options *options,
                              sl_error *err) {
    sl_compact_result result;
    if (sl_log_compact(path, options, &result, err) < 0)
        return sl_error_prefix(err, "cannot compact '%s'", path);
    if (is_named && result.outcome == SL_COMPACT_LIVE)
        return sl_fail(
            err, SL_E_BUSY,
            "cannot compact '%s': its process still writes to it; wait until it has ended", path);
    print_result(path, &result);
    return SL_OK;
}

/* Continues after a failure; the last one is returned, the others are printed. */
static sl_status compact_all(const sl_recordings *list, const sl_compact_options *options,
                             sl_status worst, sl_error *err) {
    for (size_t i = 0; i < list->paths.cnt && !*options->stop; i++) {
        sl_error failed = SL_ERROR_INIT;
        sl_status status = compact_file(list->paths.at[i], !list->is_folder, options, &failed);
        if (status >= 0)
            continue;
        if (worst < 0)
            sl_cli_complain("%s", err->text);
        *err = failed;
        worst = status;
    }
    return worst;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_compact_options options = {
        .is_plain = sl_opts_flag(opts, "no-compress"),
        .stop = sl_stop_signals_hold(),
    };
    sl_status worst = SL_OK;
    for (size_t i = 0; i < opts->operands.cnt && !*options.stop; i++) {
        sl_recordings list;
        sl_error failed = SL_ERROR_INIT;
        sl_status status =
            sl_recordings_find(&list, opts->operands.at[i], SL_FIND_RECORDINGS, &failed);
        if (status < 0) {
            if (worst < 0)
                sl_cli_complain("%s", err->text);
            *err = failed;
            worst = status;
            continue;
        }
        worst = compact_all(&list, &options, worst, err);
        sl_recordings_fini(&list);
    }
    sl_stop_signals_release();
    sl_stop_signals_obey();
    return worst;
}

static const sl_opt options[] = {
    {.name = "no-compress",
     .type = SL_OPT_FLAG,
     .help = "only remove unused space, without compression; such a file can be read in place"},
};

const sl_cmd sl_cmd_compact = {
    .name = "compact",
    .operands = "PATH...",
    .operand_min = 1,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "make finished recordings smaller",
    .description =
        "A recording is written with room to grow. This command replaces it with a file of the "
        "same name that holds the same records without the unused space, compressed with zstd. "
        "Every command reads it, and 'zstd -d' unpacks it. A PATH is a recording or a run folder. "
        "'stormlog run' compacts recordings when it ends; recordings that were made without it, or "
        "whose processes ended later, can be compacted with this command.\n\n"
        "The new file is written next to the old one, read back and compared, synced, and then "
        "renamed. A full disk, Ctrl-C or a kill leaves the recording unchanged; a kill may leave a "
        "file <name>.tmp-XXXXXX, which can be removed. A recording that is still being written is "
        "never touched.",
    .examples = "stormlog compact stormlog-runs/latest\n"
                "  every finished recording of the newest run\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
