/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "api/input_pairs.h"
#include "base/core/str.h"
#include "base/files/file_atomic.h"
#include "base/text/term.h"
#include "cli/core/analysis_options.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/shared_options.h"
#include "export/report/diff_format.h"

#define TOP_ROWS 15

/* One side as the user wrote it: "snap.pickle", "snap.pickle@30s". */
typedef struct side {
    char *path; /* owned */
    sl_opt_time moment;
    const sl_run_input *inputs; /* borrowed; one, or the ranks or main processes of a folder */
    size_t input_cnt;
    const sl_run_input *input; /* borrowed; of the pair that is being compared */
} side;

/* The part after the last '@' is a moment when it reads as one and no file has the whole name. */
static sl_status parse_side(const char *operand, side *out, sl_error *err) {
    out->moment = (sl_opt_time){SL_ANCHOR_END, 0};
    out->path = strdup(operand);
    if (!out->path)
        return sl_fail_no_memory(err, "a path");
    char *at = strrchr(out->path, '@');
    if (!at || access(operand, F_OK) == 0)
        return SL_OK;
    SL_TRY(sl_opt_parse_time(at + 1, &out->moment, err));
    *at = '\0';
    return SL_OK;
}

static sl_status parse_sides(const sl_opts *opts, side sides[2], sl_error *err) {
    static const char *const at_options[] = {"at-a", "at-b"};
    size_t cnt = opts->operands.cnt;
    for (size_t i = 0; i < 2; i++) {
        SL_TRY(parse_side(opts->operands.at[i < cnt ? i : 0], &sides[i], err));
        const sl_opt_value *at = sl_opts_get(opts, at_options[i]);
        if (at->is_given)
            sides[i].moment = at->time;
    }
    bool is_same_moment = sides[0].moment.anchor == sides[1].moment.anchor &&
                          sides[0].moment.us == sides[1].moment.us;
    if (cnt == 1 && is_same_moment)
        return sl_fail(
            err, SL_E_USAGE,
            "nothing to compare: give a second input, or two moments with --at-a and --at-b");
    return SL_OK;
}

/* One run of both sides, so that a filter may match on either. The same path twice is loaded once. */
static sl_status load_sides(sl_inputs *inputs, side sides[2], sl_error *err) {
    const char *paths[] = {sides[0].path, sides[1].path};
    bool is_same = strcmp(paths[0], paths[1]) == 0;
    SL_TRY(
        sl_inputs_load_as(inputs, paths, is_same ? 1 : 2, SL_INPUTS_STRICT | SL_INPUTS_MAINS, err));
    for (size_t i = 0; i < 2; i++) {
        size_t from = i == 0 || is_same ? 0 : inputs->ends.at[0];
        sides[i].inputs = inputs->run->inputs + from;
        sides[i].input_cnt = inputs->ends.at[is_same ? 0 : i] - from;
    }
    return SL_OK;
}

/* ---- pairs ---- */

static sl_status find_by_key(const side *from, const char *key, const sl_run_input **found,
                             sl_error *err) {
    return sl_input_find(from->inputs, from->input_cnt, from->path, key, found, err);
}

typedef struct diff_job {
    const sl_opts *opts;
    side sides[2];
    SL_VEC(sl_diff *) diffs; /* owned */
    SL_VEC(char *) labels;   /* owned; one for each of diffs */
} diff_job;

static sl_status make_instant(const side *from, const sl_run_device *device, sl_instant *instant,
                              sl_error *err) {
    sl_device_choice choice = {true, device->events->device};
    *instant = (sl_instant){.device = device};
    return sl_inputs_find_moment(from->input, choice, from->moment, &instant->moment, err);
}

static sl_status add_diff(diff_job *job, const char *label, sl_diff_pair pair, sl_error *err) {
    sl_instant before, after;
    sl_diff *diff;
    sl_diff_options options = {.group_by = sl_cli_group_by(job->opts),
                               .prefix_frames = (uint32_t)sl_opts_number(job->opts, "prefix"),
                               .filter = sl_opts_text(job->opts, "filter")};
    SL_TRY(make_instant(&job->sides[0], pair.before, &before, err));
    SL_TRY(make_instant(&job->sides[1], pair.after, &after, err));
    if (!sl_vec_reserve(&job->diffs, 1) || !sl_vec_reserve(&job->labels, 1))
        return sl_fail_no_memory(err, "the comparison");
    SL_TRY(sl_diff_new(&before, &after, &options, &diff, err));
    job->diffs.at[job->diffs.cnt++] = diff;
    char *copy = label ? strdup(label) : NULL;
    job->labels.at[job->labels.cnt++] = copy;
    return label && !copy ? sl_fail_no_memory(err, "the comparison") : SL_OK;
}

/* Device by device, the two inputs of the sides. The label identifies the pair. */
static sl_status compare_pair(diff_job *job, const char *label, sl_error *err) {
    const side *sides = job->sides;
    sl_device_choice choice = sl_shared_device(job->opts);
    sl_diff_pairs pairs = {0};
    sl_status status = SL_OK;
    SL_TRY(sl_inputs_check_device(sides[0].input, choice, err));
    SL_TRY(sl_inputs_check_device(sides[1].input, choice, err));
    if (!sl_diff_pair_devices(sides[0].input, sides[1].input, choice.is_one ? &choice.device : NULL,
                              &pairs))
        status = sl_fail_no_memory(err, "the comparison");
    for (size_t i = 0; i < pairs.cnt && status == SL_OK; i++)
        status = add_diff(job, label, pairs.at[i], err);
    sl_vec_free(&pairs);
    return status;
}

/* Those that both sides have; each of the others is reported. The second call, with the sides
 * exchanged, only reports what is missing. */
static sl_status compare_keys(diff_job *job, size_t from, sl_error *err) {
    side *sides = job->sides;
    char key[SL_INPUT_KEY_CAP];
    for (size_t i = 0; i < sides[from].input_cnt; i++) {
        const sl_run_input *own, *other, *input = &sides[from].inputs[i];
        sl_input_key(key, input);
        SL_TRY(find_by_key(&sides[from], key, &own, err));
        SL_TRY(find_by_key(&sides[1 - from], key, &other, err));
        if (own != input && from == 0)
            sl_cli_complain("skipped '%s': there is a later recording of %s", input->trace->path,
                            key);
        else if (own == input && !other)
            sl_cli_complain("%s is only in '%s'", key, sides[from].path);
        if (own != input || !other || from == 1)
            continue;
        sides[0].input = own, sides[1].input = other;
        SL_TRY(compare_pair(job, key, err));
    }
    return SL_OK;
}

static sl_status compare(diff_job *job, sl_error *err) {
    side *sides = job->sides;
    sl_status status;
    if (sides[0].input_cnt == 1 && sides[1].input_cnt == 1) {
        sides[0].input = sides[0].inputs, sides[1].input = sides[1].inputs;
        status = compare_pair(job, NULL, err);
    } else {
        status = compare_keys(job, 0, err);
        if (status == SL_OK)
            status = compare_keys(job, 1, err);
    }
    if (status == SL_OK && job->diffs.cnt == 0)
        status = sl_fail(err, SL_E_USAGE,
                         sides[0].input ? "the two inputs have no device in common"
                                        : "the two inputs have no rank, script or file name in "
                                          "common; give one file of each");
    return status;
}

static sl_status print_diffs(const diff_job *job, sl_error *err) {
    const sl_opts *opts = job->opts;
    const sl_diff_format *format = sl_diff_format_find(sl_opts_text(opts, "format"));
    sl_diff_list list = {(const sl_diff *const *)job->diffs.at, job->diffs.cnt,
                         (const char *const *)job->labels.at};
    sl_diff_wishes wishes = {.scope = sl_cli_scope(opts),
                             .top = (size_t)sl_opts_number(opts, "top")};
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    wishes.top = wishes.top ? wishes.top : TOP_ROWS;
    sl_term_follow(out.stream);
    wishes.has_color = sl_term_has_color(out.stream);
    sl_status status = format->write(&list, &wishes, out.stream, err);
    return sl_file_out_end(&out, status, err);
}

static int run(const sl_opts *opts, sl_error *err) {
    diff_job job = {.opts = opts};
    sl_inputs inputs = {0};
    sl_status status = parse_sides(opts, job.sides, err);
    if (status == SL_OK)
        status = load_sides(&inputs, job.sides, err);
    if (status == SL_OK)
        status = compare(&job, err);
    if (status == SL_OK)
        status = print_diffs(&job, err);
    for (size_t i = 0; i < job.diffs.cnt; i++) {
        sl_diff_free(job.diffs.at[i]);
        free(job.labels.at[i]);
    }
    sl_vec_free(&job.diffs);
    sl_vec_free(&job.labels);
    sl_inputs_fini(&inputs);
    free(job.sides[0].path);
    free(job.sides[1].path);
    return status;
}

static const sl_opt options[] = {
    SL_SHARED_FORMAT_MD,
    SL_SHARED_OUTPUT,
    {.name = "at-a",
     .type = SL_OPT_TIME,
     .help = "moment of A: end, peak, 90s (after the start), -10s (before the end) (default: end)"},
    {.name = "at-b", .type = SL_OPT_TIME, .help = "moment of B, or of A if there is no B"},
    SL_SHARED_DEVICE,
    SL_SHARED_GROUP_BY,
    {.name = "prefix",
     .type = SL_OPT_INT,
     .min = 1,
     .max = 1000,
     .help = "group by this many outermost frames of the stacks"},
    SL_SHARED_FILTER,
    SL_SHARED_TOP("rows to print (default: 15)"),
};

const sl_cmd sl_cmd_diff = {
    .name = "diff",
    .operands = "A[@TIME] [B[@TIME]]",
    .operand_min = 1,
    .operand_max = 2,
    .summary = "show what appeared, grew or was freed between two moments",
    .description =
        "Compares what is live in two inputs, or in one input at two moments, by line of code. "
        "Amounts are requested bytes. In a run folder, the ranks are compared one by one, or the "
        "main process if there are no ranks; a rank that only one side has is reported on standard "
        "error. Several main processes are matched by their scripts.",
    .examples = "stormlog diff before.pickle after.pickle\n"
                "stormlog diff stormlog-runs/20261115T120000Z-train stormlog-runs/latest\n"
                "stormlog diff snap.pickle@10s snap.pickle@peak\n"
                "stormlog diff snap.pickle --at-a 10s --at-b end --group-by function\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
