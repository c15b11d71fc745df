/* SPDX-License-Identifier: MIT */
#include "cli/core/analysis_options.h"

#include "cli/core/progress.h"
#include "cli/core/shared_options.h"
#include "cli/settings/config.h"

sl_group_by sl_cli_group_by(const sl_opts *opts) {
    sl_group_by group_by = SL_GROUP_LINE;
    sl_group_by_find(sl_opts_text(opts, "group-by"), &group_by);
    return group_by;
}

sl_words_scope sl_cli_scope(const sl_opts *opts) {
    static const sl_words_scope scopes[] = {
        [SL_GROUP_LINE] = SL_SCOPE_LINE,
        [SL_GROUP_FUNCTION] = SL_SCOPE_FUNCTION,
        [SL_GROUP_FILE] = SL_SCOPE_FILE,
        [SL_GROUP_STACK] = SL_SCOPE_STACK,
    };
    return scopes[sl_cli_group_by(opts)];
}

/* Several inputs have several clocks, so only moments relative to each one's own start or end mean
 * something; the analysis resolves those itself (negative = from the end). */
static sl_status relative_time(const sl_opt_value *value, bool *has, int64_t *us, sl_error *err) {
    if (!value->is_given)
        return SL_OK;
    switch (value->time.anchor) {
    case SL_ANCHOR_START:
    case SL_ANCHOR_CLOCK: break;
    case SL_ANCHOR_END:
        if (value->time.us < 0)
            break;
        return SL_OK;
    case SL_ANCHOR_EXIT:
    case SL_ANCHOR_STEP:
    case SL_ANCHOR_PEAK:
        return sl_fail(err, SL_E_USAGE,
                       "'peak', 'exit' and 'step:N' need a single input; each input has its own");
    }
    *has = true;
    *us = value->time.us;
    return SL_OK;
}

static sl_status set_window(const sl_opts *opts, const sl_inputs *inputs,
                            sl_analysis_options *options, sl_error *err) {
    if (inputs->traces.cnt == 1) {
        sl_window window;
        SL_TRY(sl_shared_window(opts, &inputs->run->inputs[0], &window, err));
        options->has_since = window.has_since, options->since_us = window.since_us;
        options->has_until = window.has_until, options->until_us = window.until_us;
        return SL_OK;
    }
    SL_TRY(relative_time(sl_opts_get(opts, "since"), &options->has_since, &options->since_us, err));
    return relative_time(sl_opts_get(opts, "until"), &options->has_until, &options->until_us, err);
}

sl_status sl_cli_analysis_options(const sl_opts *opts, const sl_inputs *inputs,
                                  sl_analysis_options *options, sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    *options = (sl_analysis_options){
        .has_device = choice.is_one,
        .device = choice.device,
        .top = (size_t)sl_opts_number(opts, "top"),
        .filter = sl_opts_text(opts, "filter"),
        .group_by = sl_cli_group_by(opts),
    };
    const sl_opt_value *capacity = sl_opts_get(opts, "capacity");
    if (capacity->is_given)
        options->capacity_bytes = sl_known_u64(capacity->bytes);
    if (inputs->traces.cnt == 1)
        SL_TRY(sl_inputs_check_device(&inputs->run->inputs[0], choice, err));
    return set_window(opts, inputs, options, err);
}

sl_status sl_cli_analyze(const sl_run *run, const sl_analysis_options *options, sl_report **out,
                         sl_error *err) {
    sl_analysis_options told = *options;
    sl_progress progress;
    told.thresholds = &sl_config_get()->thresholds;
    told.progress = sl_progress_update, told.progress_ctx = &progress;
    sl_progress_begin(&progress, SL_PROGRESS_COUNT, "analysing", "events");
    sl_status status = sl_analyze(run, &told, out, err);
    sl_progress_end(&progress);
    if (status == SL_E_DEVICE) {
        err->code = SL_E_USAGE;
        return SL_E_USAGE;
    }
    return status;
}

sl_status sl_cli_report(const sl_opts *opts, const sl_inputs *inputs, sl_report **report,
                        sl_error *err) {
    sl_analysis_options options;
    SL_TRY(sl_cli_analysis_options(opts, inputs, &options, err));
    return sl_cli_analyze(inputs->run, &options, report, err);
}
