/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/cpus.h"
#include "api/whatif_answers.h"
#include "base/core/str.h"
#include "base/files/file_atomic.h"
#include "base/text/term.h"
#include "cli/commands/whatif_batch.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/latest_run.h"
#include "cli/core/shared_options.h"
#include "export/whatif/whatif_format.h"

typedef struct whatif_job {
    const sl_opts *opts;
    sl_whatif_options options;
    SL_VEC(sl_alloc_settings) settings;
    sl_whatif_answers answers; /* owned */
} whatif_job;

static sl_status take_settings(whatif_job *job, sl_error *err) {
    size_t cursor = 0;
    for (const sl_opt_value *value; (value = sl_opts_next(job->opts, "set", &cursor)) != NULL;) {
        sl_alloc_settings settings;
        SL_TRY(sl_whatif_read_set(sl_str_of(value->text), &settings, err));
        if (!sl_vec_push(&job->settings, settings))
            return sl_fail_no_memory(err, "the settings");
    }
    job->options.settings = job->settings.at;
    job->options.setting_cnt = job->settings.cnt;
    return SL_OK;
}

static sl_status take_options(whatif_job *job, sl_error *err) {
    const sl_opt_value *card = sl_opts_get(job->opts, "card");
    if (card->is_given)
        job->options.card_bytes = sl_known_u64(card->bytes);
    job->options.without = sl_opts_text(job->opts, "without");
    job->options.freed = sl_opts_text(job->opts, "free");
    job->options.frees_late = sl_opts_flag(job->opts, "early");
    job->options.no_record_stream = sl_opts_flag(job->opts, "no-record-stream");
    job->options.is_one_stream = sl_opts_flag(job->opts, "one-stream");
    job->options.placement_cnt = (unsigned)sl_opts_number(job->opts, "placements");
    job->options.thread_cnt = sl_usable_cpus();
    job->options.wants_cards = !card->is_given && !sl_opts_flag(job->opts, "quick");
    job->options.wants_lines = !sl_opts_flag(job->opts, "quick");
    return take_settings(job, err);
}

static sl_status answer_input(whatif_job *job, const sl_run_input *input, sl_error *err) {
    sl_device_choice choice = sl_shared_device(job->opts);
    size_t before = job->answers.cnt;
    SL_TRY(sl_inputs_check_device(input, choice, err));
    SL_TRY(sl_whatif_answer_input(input, choice.is_one ? &choice.device : NULL, &job->options,
                                  &job->answers, err));
    return job->answers.cnt == before ? sl_whatif_no_history(input, err) : SL_OK;
}

static sl_status print_answers(const whatif_job *job, sl_error *err) {
    const sl_whatif_format *format = sl_whatif_format_find(sl_opts_text(job->opts, "format"));
    sl_whatif_list list = {(const sl_whatif *const *)job->answers.at, job->answers.cnt, false};
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(job->opts, "output"), err));
    list.has_color = sl_term_has_color(out.stream);
    sl_status status = format->write(&list, out.stream, err);
    return sl_file_out_end(&out, status, err);
}

/* Whether the replay was good enough for one of the devices at least. */
static bool has_answer(const whatif_job *job) {
    for (size_t i = 0; i < job->answers.cnt; i++)
        if (!job->answers.at[i]->refusal[0])
            return true;
    return false;
}

/* Another batch size is another question, with inputs of its own. */
static int run_batch(const sl_opts *opts, sl_error *err) {
    whatif_job job = {.opts = opts};
    int code = take_settings(&job, err);
    if (code == SL_OK)
        code = sl_whatif_batch_run(opts, job.settings.at, job.settings.cnt, err);
    sl_vec_free(&job.settings);
    return code;
}

static int run(const sl_opts *opts, sl_error *err) {
    whatif_job job = {.opts = opts};
    sl_inputs inputs = {0};
    sl_path_span paths;
    if (sl_whatif_batch_is_asked(opts))
        return run_batch(opts, err);
    sl_status status = take_options(&job, err);
    if (status == SL_OK)
        status = sl_latest_or_operands(opts, &paths, err);
    if (status == SL_OK)
        status = sl_inputs_load_as(&inputs, paths.at, paths.cnt, SL_INPUTS_MAINS, err);
    if (status == SL_OK)
        status = sl_whatif_check_filters(inputs.run, &job.options, err);
    for (size_t i = 0; status == SL_OK && i < inputs.run->input_cnt; i++)
        status = answer_input(&job, &inputs.run->inputs[i], err);
    if (status == SL_OK)
        status = print_answers(&job, err);
    int code = status == SL_OK && !has_answer(&job) ? sl_status_exit_code(SL_E_FOREIGN) : status;
    sl_whatif_answers_fini(&job.answers);
    sl_vec_free(&job.settings);
    sl_inputs_fini(&inputs);
    return code;
}

static const sl_opt options[] = {
    {.name = "set",
     .type = SL_OPT_STRING,
     .metavar = "KEY=VALUE,...",
     .is_repeated = true,
     .help = "try these settings instead of the usual ones; in the words of "
             "PYTORCH_CUDA_ALLOC_CONF, or no_caching, one_stream, no_record_stream"},
    {.name = "card",
     .type = SL_OPT_SIZE,
     .help = "what PyTorch could reserve; without it the smallest card for each setting is found"},
    {.name = "free",
     .type = SL_OPT_STRING,
     .setter = SL_SET_BY_NOBODY, /* a question, not a habit; so are the next four */
     .metavar = "REGEX",
     .help = "as if the leak of these lines (\"file:line function\") were fixed: their blocks do "
             "not outlive their step"},
    {.name = "without",
     .type = SL_OPT_STRING,
     .setter = SL_SET_BY_NOBODY,
     .metavar = "REGEX",
     .help = "as if these lines had never allocated"},
    {.name = "early",
     .type = SL_OPT_FLAG,
     .setter = SL_SET_BY_NOBODY,
     .help = "as if blocks that the next step drops were free before it begins"},
    {.name = "no-record-stream",
     .type = SL_OPT_FLAG,
     .setter = SL_SET_BY_NOBODY,
     .help = "as if no free had to wait for another stream"},
    {.name = "one-stream",
     .type = SL_OPT_FLAG,
     .setter = SL_SET_BY_NOBODY,
     .help = "as if all work were on one stream"},
    {.name = "batch",
     .type = SL_OPT_STRING,
     .setter = SL_SET_BY_NOBODY,
     .metavar = "SIZE=PATH",
     .is_repeated = true,
     .help = "a recording of the same program with this batch size (or sequence length); given "
             "twice or more, it says what other sizes need"},
    {.name = "at",
     .type = SL_OPT_STRING,
     .setter = SL_SET_BY_NOBODY,
     .metavar = "SIZE,...",
     .help = "sizes to answer for, with --batch"},
    SL_SHARED_DEVICE,
    {.name = "quick",
     .type = SL_OPT_FLAG,
     .help = "leave the smallest cards and the repairs of lines out"},
    {.name = "placements",
     .type = SL_OPT_INT,
     .min = 1,
     .max = 1000,
     .help = "random placements of new segments per setting (default: up to 16)"},
    SL_SHARED_FORMAT_MD,
    SL_SHARED_OUTPUT,
};

const sl_cmd sl_cmd_whatif = {
    .name = "whatif",
    .operands = "[PATH...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "say which allocator setting would have helped",
    .description =
        "Replays PyTorch's caching allocator. First under the settings of the trace: the first "
        "line says how many addresses came out the same, and below 95 % there is no answer (exit "
        "code 3 when no device has one). Then "
        "under others: what each would have reserved, what it costs, which request fails first, "
        "and the smallest card that would do. Last, which lines of the program could be repaired, "
        "and how much reserved memory each repair saves.\n\n"
        "The input is a snapshot of PyTorch with its history, or a recording. Without a PATH it "
        "is the latest run of this folder.\n\n"
        "With --batch there are two or more inputs: the same program with different batch sizes. "
        "Their allocations are paired, the bytes of each are fitted, rescaled and replayed: what "
        "the sizes of --at need, and with --card the largest that fits. It refuses (exit code 3) "
        "when the recordings differ in more than sizes, or the fit is poor.",
    .examples = "stormlog whatif snap.pickle\n"
                "stormlog whatif snap.pickle --card 24GiB\n"
                "stormlog whatif snap.pickle --set max_split_size_mb=128\n"
                "stormlog whatif snap.pickle --card 24GiB --free 'train.py:12 '\n"
                "stormlog whatif --batch 16=a.pickle --batch 32=b.pickle --at 48 --card 80GiB\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
