/* SPDX-License-Identifier: MIT */
#include "cli/core/shared_options.h"

sl_device_choice sl_shared_device(const sl_opts *opts) {
    return (sl_device_choice){.is_one = sl_opts_is_given(opts, "device"),
                              .device = (int)sl_opts_number(opts, "device")};
}

static sl_status resolve(const sl_opts *opts, const char *name, const sl_run_input *input,
                         int64_t *us, sl_error *err) {
    const sl_opt_value *value = sl_opts_get(opts, name);
    if (!value->is_given)
        return SL_OK;
    return sl_inputs_resolve_time(input, sl_shared_device(opts), value->time, us, err);
}

sl_status sl_shared_window(const sl_opts *opts, const sl_run_input *input, sl_window *window,
                           sl_error *err) {
    *window = (sl_window){.has_since = sl_opts_is_given(opts, "since"),
                          .has_until = sl_opts_is_given(opts, "until")};
    SL_TRY(resolve(opts, "since", input, &window->since_us, err));
    SL_TRY(resolve(opts, "until", input, &window->until_us, err));
    if (window->has_since && window->has_until && window->since_us > window->until_us)
        return sl_fail(err, SL_E_USAGE, "'--since' is later than '--until'");
    return sl_run_check_window(input->run, window, err);
}
