/* SPDX-License-Identifier: MIT */
#include "api/whatif_answers.h"

sl_status sl_whatif_read_set(sl_str text, sl_alloc_settings *settings, sl_error *err) {
    sl_alloc_settings_init(settings);
    SL_TRY(sl_alloc_settings_parse(settings, text, err));
    if (settings->is_async)
        return sl_fail(err, SL_E_USAGE,
                       "--set: cudaMallocAsync is another allocator and cannot be replayed");
    return SL_OK;
}

sl_status sl_whatif_check_filters(const sl_run *run, const sl_whatif_options *options,
                                  sl_error *err) {
    if (options->without)
        SL_TRY(sl_run_check_filter(run, SL_GROUP_LINE, options->without, err));
    if (options->freed)
        SL_TRY(sl_run_check_filter(run, SL_GROUP_LINE, options->freed, err));
    return SL_OK;
}

static sl_status answer_device(const sl_run_device *device, const sl_whatif_options *options,
                               sl_whatif_answers *answers, sl_error *err) {
    sl_whatif *answer;
    if (!sl_vec_reserve(answers, 1))
        return sl_fail_no_memory(err, "the answer");
    SL_TRY(sl_whatif_new(device, options, &answer, err));
    answers->at[answers->cnt++] = answer;
    return SL_OK;
}

/* Cards whose history the input has; host memory has another allocator. */
static bool has_history(const sl_run_device *device) {
    return device->events->device != SL_DEVICE_HOST && device->events->events.cnt > 1;
}

sl_status sl_whatif_answer_input(const sl_run_input *input, const int *only,
                                 const sl_whatif_options *options, sl_whatif_answers *answers,
                                 sl_error *err) {
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_run_device *device = &input->devices[i];
        if (only ? device->events->device == *only : has_history(device))
            SL_TRY(answer_device(device, options, answers, err));
    }
    return SL_OK;
}

sl_status sl_whatif_no_history(const sl_run_input *input, sl_error *err) {
    if (input->trace->source == SL_SOURCE_SLOG)
        return sl_fail(err, SL_E_USAGE,
                       "'%s' has no history of a card to replay: the recorded process allocated no "
                       "memory of a card through PyTorch",
                       input->trace->path);
    return sl_fail(err, SL_E_USAGE,
                   "'%s' has no history of a card to replay; take a snapshot after "
                   "torch.cuda.memory._record_memory_history()",
                   input->trace->path);
}

void sl_whatif_answers_fini(sl_whatif_answers *answers) {
    for (size_t i = 0; i < answers->cnt; i++)
        sl_whatif_free(answers->at[i]);
    sl_vec_free(answers);
}
