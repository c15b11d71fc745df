/* SPDX-License-Identifier: MIT */
#include "cli/commands/whatif_batch.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "api/whatif_answers.h"
#include "base/files/file_atomic.h"
#include "base/text/term.h"
#include "cli/core/inputs.h"
#include "cli/core/shared_options.h"
#include "export/whatif/whatif_format.h"

#define SIZE_LIMIT ((uint64_t)1 << 40)

typedef struct batch_job {
    const sl_opts *opts;
    SL_VEC(const char *) paths; /* borrowed from the options */
    SL_VEC(sl_batch_input) inputs;
    SL_VEC(uint64_t) sizes;
} batch_job;

bool sl_whatif_batch_is_asked(const sl_opts *opts) {
    return sl_opts_get(opts, "batch")->is_given || sl_opts_get(opts, "at")->is_given;
}

/* A whole number from 1 on; *text is then behind it. */
static bool take_size(const char **text, uint64_t *size) {
    const char *at = *text;
    for (*size = 0; isdigit((unsigned char)*at) && *size < SIZE_LIMIT; at++)
        *size = *size * 10 + (uint64_t)(*at - '0');
    bool ok = at > *text && *size > 0 && *size < SIZE_LIMIT;
    *text = at;
    return ok;
}

static sl_status take_recording(batch_job *job, const char *text, sl_error *err) {
    const char *at = text;
    sl_batch_input input = {0};
    if (!take_size(&at, &input.size) || *at != '=' || !at[1])
        return sl_fail(err, SL_E_USAGE,
                       "--batch %s: expected SIZE=PATH, for example 16=snap.pickle", text);
    for (size_t i = 0; i < job->inputs.cnt; i++)
        if (job->inputs.at[i].size == input.size)
            return sl_fail(err, SL_E_USAGE, "--batch: %" PRIu64 " is given twice", input.size);
    if (job->inputs.cnt == SL_BATCH_RECORDINGS_MAX)
        return sl_fail(err, SL_E_USAGE, "--batch: at most %d recordings", SL_BATCH_RECORDINGS_MAX);
    if (!sl_vec_push(&job->inputs, input) || !sl_vec_push(&job->paths, at + 1))
        return sl_fail_no_memory(err, "the recordings");
    return SL_OK;
}

static sl_status take_sizes(batch_job *job, const char *text, sl_error *err) {
    const char *at = text;
    for (uint64_t size; text; at++) {
        if (!take_size(&at, &size) || (*at && *at != ','))
            return sl_fail(err, SL_E_USAGE,
                           "--at %s: expected sizes, separated by commas, for example 48,64", text);
        if (!sl_vec_push(&job->sizes, size))
            return sl_fail_no_memory(err, "the sizes");
        if (!*at)
            break;
    }
    return SL_OK;
}

/* Options that change the program: their blocks would have to be paired, too. */
static const char *const repairs[] = {"free", "without", "early", "no-record-stream", "one-stream"};

static sl_status take_options(batch_job *job, sl_error *err) {
    size_t cursor = 0;
    for (const sl_opt_value *value; (value = sl_opts_next(job->opts, "batch", &cursor)) != NULL;)
        SL_TRY(take_recording(job, value->text, err));
    if (job->inputs.cnt < 2)
        return sl_fail(err, SL_E_USAGE,
                       "--batch must be given at least twice, with different sizes");
    if (job->opts->operands.cnt)
        return sl_fail(err, SL_E_USAGE, "'%s': with --batch the inputs are those of --batch",
                       job->opts->operands.at[0]);
    for (size_t i = 0; i < SL_COUNT_OF(repairs); i++)
        if (sl_opts_get(job->opts, repairs[i])->is_given)
            return sl_fail(err, SL_E_USAGE, "--%s and --batch cannot be combined", repairs[i]);
    SL_TRY(take_sizes(job, sl_opts_text(job->opts, "at"), err));
    if (job->sizes.cnt == 0 && !sl_opts_get(job->opts, "card")->is_given)
        return sl_fail(err, SL_E_USAGE, "--batch needs --at SIZE,... or --card SIZE");
    return SL_OK;
}

/* The card with the most events, unless one was chosen. */
static sl_status choose_device(const sl_opts *opts, const sl_run_input *input,
                               const sl_run_device **out, sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    const sl_run_device *best = NULL;
    SL_TRY(sl_inputs_check_device(input, choice, err));
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_run_device *device = &input->devices[i];
        bool may = choice.is_one ? device->events->device == choice.device
                                 : device->events->device != SL_DEVICE_HOST;
        if (may && (!best || device->events->events.cnt > best->events->events.cnt))
            best = device;
    }
    if (!best || best->events->events.cnt < 2)
        return sl_whatif_no_history(input, err);
    *out = best;
    return SL_OK;
}

static sl_status choose_devices(batch_job *job, const sl_inputs *inputs, sl_error *err) {
    size_t first = 0;
    for (size_t i = 0; i < job->inputs.cnt; i++) {
        if (inputs->ends.at[i] - first != 1)
            return sl_fail(err, SL_E_USAGE,
                           "--batch: '%s' holds %zu processes, name the file of one",
                           job->paths.at[i], inputs->ends.at[i] - first);
        SL_TRY(
            choose_device(job->opts, &inputs->run->inputs[first], &job->inputs.at[i].device, err));
        first = inputs->ends.at[i];
    }
    return SL_OK;
}

static sl_status print(const sl_opts *opts, const sl_batch *batch, sl_error *err) {
    const sl_whatif_format *format = sl_whatif_format_find(sl_opts_text(opts, "format"));
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    sl_status status = format->write_batch(batch, sl_term_has_color(out.stream), out.stream, err);
    return sl_file_out_end(&out, status, err);
}

static int answer(batch_job *job, const sl_alloc_settings *settings, size_t setting_cnt,
                  sl_error *err) {
    const sl_opt_value *card = sl_opts_get(job->opts, "card");
    sl_batch_options options = {.inputs = job->inputs.at,
                                .input_cnt = job->inputs.cnt,
                                .sizes = job->sizes.at,
                                .size_cnt = job->sizes.cnt,
                                .settings = settings,
                                .setting_cnt = setting_cnt,
                                .card_bytes = {card->bytes, card->is_given},
                                .placement_cnt = (unsigned)sl_opts_number(job->opts, "placements")};
    sl_batch *batch;
    SL_TRY(sl_batch_new(&options, &batch, err));
    int code = print(job->opts, batch, err);
    if (code == SL_OK && batch->refusal[0])
        code = sl_status_exit_code(SL_E_FOREIGN);
    sl_batch_free(batch);
    return code;
}

int sl_whatif_batch_run(const sl_opts *opts, const sl_alloc_settings *settings, size_t setting_cnt,
                        sl_error *err) {
    batch_job job = {.opts = opts};
    sl_inputs inputs = {0};
    int code = take_options(&job, err);
    if (code == SL_OK)
        code = sl_inputs_load_as(&inputs, job.paths.at, job.paths.cnt, SL_INPUTS_MAINS, err);
    if (code == SL_OK)
        code = choose_devices(&job, &inputs, err);
    if (code == SL_OK)
        code = answer(&job, settings, setting_cnt, err);
    sl_inputs_fini(&inputs);
    sl_vec_free(&job.inputs);
    sl_vec_free(&job.paths);
    sl_vec_free(&job.sizes);
    return code;
}
