/* SPDX-License-Identifier: MIT */
#include "cli/export/export_input.h"

#include "cli/core/inputs.h"
#include "cli/core/shared_options.h"

sl_status sl_export_prepare(const sl_opts *opts, const sl_run_input *input,
                            sl_export_options *options, sl_error *err) {
    sl_device_choice choice = sl_shared_device(opts);
    const sl_opt_value *at = sl_opts_get(opts, "at");
    sl_window window;
    *options = (sl_export_options){.has_device = choice.is_one,
                                   .device = choice.device,
                                   .every_us = sl_opts_number(opts, "every")};
    SL_TRY(sl_inputs_check_device(input, choice, err));
    SL_TRY(sl_shared_window(opts, input, &window, err));
    options->has_since = window.has_since, options->since_us = window.since_us;
    options->has_until = window.has_until, options->until_us = window.until_us;
    return sl_inputs_find_moment(input, choice, at->time, &options->at, err);
}
