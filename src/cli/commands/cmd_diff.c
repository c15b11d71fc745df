/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/files/file_atomic.h"
#include "base/text/term.h"
#include "cli/core/analysis_options.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "export/report/diff_format.h"

#define TOP_ROWS 15

/* One side as the user wrote it: "snap.pickle", "snap.pickle@30s". */
typedef struct side {
    char *path; /* owned */
    sl_opt_time moment;
    const sl_run_input *input; /* borrowed */
} side;

/* The part behind the last '@' is a moment when it reads as one and no file has the whole name. */
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
        return sl_fail(err, SL_E_USAGE,
                       "one input at one moment has no difference; name a second input, or two "
                       "moments with --at-a and --at-b");
    return SL_OK;
}

/* A run folder stands for its recording; of several the user must say which, because processes of two
 * runs have nothing by which they could be paired safely. */
static sl_status choose_recording(side *chosen, sl_error *err) {
    sl_recordings list;
    const char *one;
    SL_TRY(sl_recordings_find(&list, chosen->path, err));
    sl_status status = sl_recordings_one(&list, chosen->path, &one, err);
    char *copy = status == SL_OK ? strdup(one) : NULL;
    sl_recordings_fini(&list);
    if (!copy)
        return status < 0 ? status : sl_fail_no_memory(err, "a path");
    free(chosen->path);
    chosen->path = copy;
    return SL_OK;
}

static sl_status load_sides(sl_inputs *inputs, side sides[2], sl_error *err) {
    SL_TRY(choose_recording(&sides[0], err));
    SL_TRY(choose_recording(&sides[1], err));
    const char *paths[] = {sides[0].path, sides[1].path};
    bool is_same = strcmp(paths[0], paths[1]) == 0;
    SL_TRY(sl_inputs_load(inputs, paths, is_same ? 1 : 2, err));
    sides[0].input = &inputs->run->inputs[0];
    sides[1].input = &inputs->run->inputs[inputs->run->input_cnt - 1];
    return SL_OK;
}

static sl_status make_instant(const side *from, const sl_run_device *device, sl_instant *instant,
                              sl_error *err) {
    sl_device_choice choice = {true, device->events->device};
    *instant = (sl_instant){.device = device};
    return sl_inputs_find_moment(from->input, choice, from->moment, &instant->moment, err);
}

typedef SL_VEC(sl_diff *) diff_vec;

static sl_status add_diff(const sl_opts *opts, const side sides[2], sl_diff_pair pair,
                          diff_vec *diffs, sl_error *err) {
    sl_instant before, after;
    sl_diff *diff;
    sl_diff_options options = {.group_by = sl_cli_group_by(opts),
                               .prefix_frames = (uint32_t)sl_opts_number(opts, "prefix"),
                               .filter = sl_opts_text(opts, "filter")};
    SL_TRY(make_instant(&sides[0], pair.before, &before, err));
    SL_TRY(make_instant(&sides[1], pair.after, &after, err));
    SL_TRY(sl_diff_new(&before, &after, &options, &diff, err));
    if (sl_vec_push(diffs, diff))
        return SL_OK;
    sl_diff_free(diff);
    return sl_fail_no_memory(err, "the comparison");
}

static sl_status compare(const sl_opts *opts, const side sides[2], diff_vec *diffs, sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    sl_diff_pairs pairs = {0};
    sl_status status = SL_OK;
    SL_TRY(sl_inputs_check_device(sides[0].input, choice, err));
    SL_TRY(sl_inputs_check_device(sides[1].input, choice, err));
    if (!sl_diff_pair_devices(sides[0].input, sides[1].input, choice.is_one ? &choice.device : NULL,
                              &pairs))
        status = sl_fail_no_memory(err, "the comparison");
    for (size_t i = 0; i < pairs.cnt && status == SL_OK; i++)
        status = add_diff(opts, sides, pairs.at[i], diffs, err);
    sl_vec_free(&pairs);
    if (status == SL_OK && diffs->cnt == 0)
        status = sl_fail(err, SL_E_USAGE, "the two inputs have no device in common");
    return status;
}

static sl_status print_diffs(const sl_opts *opts, const diff_vec *diffs, sl_error *err) {
    const sl_diff_format *format = sl_diff_format_find(sl_opts_text(opts, "format"));
    sl_diff_list list = {(const sl_diff *const *)diffs->at, diffs->cnt};
    sl_diff_wishes wishes = {.scope = sl_cli_scope(opts),
                             .top = (size_t)sl_opts_number(opts, "top")};
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    wishes.top = wishes.top ? wishes.top : TOP_ROWS;
    wishes.has_color = sl_term_has_color(out.stream);
    sl_status status = format->write(&list, &wishes, out.stream, err);
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

static int run(const sl_opts *opts, sl_error *err) {
    side sides[2] = {0};
    sl_inputs inputs = {0};
    diff_vec diffs = {0};
    sl_status status = parse_sides(opts, sides, err);
    if (status == SL_OK)
        status = load_sides(&inputs, sides, err);
    if (status == SL_OK)
        status = compare(opts, sides, &diffs, err);
    if (status == SL_OK)
        status = print_diffs(opts, &diffs, err);
    for (size_t i = 0; i < diffs.cnt; i++)
        sl_diff_free(diffs.at[i]);
    sl_vec_free(&diffs);
    sl_inputs_fini(&inputs);
    free(sides[0].path);
    free(sides[1].path);
    return status;
}

static const sl_opt options[] = {
    {.name = "format",
     .short_name = 'f',
     .type = SL_OPT_CHOICE,
     .choices = "txt|json|md",
     .initial = "txt",
     .help = "for people, for programs, for a pull request"},
    SL_SHARED_OUTPUT,
    {.name = "at-a",
     .type = SL_OPT_TIME,
     .help = "the moment of A: end (the default), peak, 90s (after the start), -10s (before the "
             "end)"},
    {.name = "at-b", .type = SL_OPT_TIME, .help = "the moment of B, or of A when B is not given"},
    SL_SHARED_DEVICE,
    SL_SHARED_GROUP_BY,
    {.name = "prefix",
     .type = SL_OPT_INT,
     .min = 1,
     .max = 1000,
     .help = "group by this many outermost frames of the stacks instead"},
    SL_SHARED_FILTER,
    SL_SHARED_TOP("rows printed (default: 15)"),
};

const sl_cmd sl_cmd_diff = {
    .name = "diff",
    .operands = "A[@TIME] [B[@TIME]]",
    .operand_min = 1,
    .operand_max = 2,
    .summary = "say what appeared, grew and went between two moments",
    .description =
        "Compares what is live in two inputs, or in one input at two moments, place by place. The "
        "amounts are requested bytes. A run folder with several recordings is refused with their "
        "names: "
        "name the one that is meant.",
    .examples = "stormlog diff before.pickle after.pickle\n"
                "stormlog diff snap.pickle@10s snap.pickle@peak\n"
                "stormlog diff snap.pickle --at-a 10s --at-b end --group-by function\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
