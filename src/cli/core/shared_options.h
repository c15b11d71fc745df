/* SPDX-License-Identifier: MIT */
/* Options that several commands have, word for word the same in each, and what they mean. */
#ifndef SL_SHARED_OPTIONS_H
#define SL_SHARED_OPTIONS_H

#include "base/core/options.h"
#include "cli/core/inputs.h"

#define SL_SHARED_OUTPUT                                               \
    {                                                                  \
        .name = "output", .short_name = 'o', .type = SL_OPT_FILE,      \
        .help = "write to FILE, atomically (default: standard output)" \
    }

#define SL_SHARED_FORMAT(what)                                                             \
    {                                                                                      \
        .name = "format", .short_name = 'f', .type = SL_OPT_CHOICE, .choices = "txt|json", \
        .initial = "txt", .help = what                                                     \
    }

#define SL_SHARED_FORMAT_MD                                                                     \
    {                                                                                           \
        .name = "format", .short_name = 'f', .type = SL_OPT_CHOICE, .choices = "txt|json|md",   \
        .initial = "txt", .help = "output format: for people, for programs, for a pull request" \
    }

#define SL_SHARED_DEVICE                                                                  \
    {                                                                                     \
        .name = "device", .short_name = 'd', .type = SL_OPT_INT, .min = -1, .max = 65535, \
        .help = "only this device; -1 is host memory"                                     \
    }

#define SL_SHARED_SINCE                                                                      \
    {                                                                                        \
        .name = "since", .type = SL_OPT_TIME,                                                \
        .help = "start at this moment: 90s (after the start), -10s (before the end), peak, " \
                "step:12, exit, or a time_us of the JSON report"                             \
    }

#define SL_SHARED_UNTIL \
    { .name = "until", .type = SL_OPT_TIME, .help = "stop at this moment, in the same form" }

#define SL_SHARED_TOP(what) \
    { .name = "top", .short_name = 'n', .type = SL_OPT_INT, .min = 1, .max = 100000, .help = what }

#define SL_SHARED_FILTER                                                                           \
    {                                                                                              \
        .name = "filter", .type = SL_OPT_STRING, .setter = SL_SET_BY_PROJECT, .metavar = "REGEX",  \
        .help = "only sites whose \"file:line function\" matches this extended regular expression" \
    }

#define SL_SHARED_GROUP_BY                                                                   \
    {                                                                                        \
        .name = "group-by", .short_name = 'g', .type = SL_OPT_CHOICE,                        \
        .choices = "line|function|file|stack", .initial = "line", .help = "what to group by" \
    }

#define SL_SHARED_NO_WHATIF                                                          \
    {                                                                                \
        .name = "no-whatif", .type = SL_OPT_FLAG,                                    \
        .help = "do not try other allocator settings: no advice about them, no tab " \
                "on the page"                                                        \
    }

/* Of a command that has SL_SHARED_DEVICE. */
sl_device_choice sl_shared_device(const sl_opts *opts);

/* Of a command that has since and until; SL_E_USAGE when that is outside the input. */
sl_status sl_shared_window(const sl_opts *opts, const sl_run_input *input, sl_window *window,
                           sl_error *err);

#endif
