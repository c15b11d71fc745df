/* SPDX-License-Identifier: MIT */
/* The inputs a command was given, loaded, with a progress line on a terminal. */
#ifndef SL_INPUTS_H
#define SL_INPUTS_H

#include "base/core/opt_value.h"
#include "base/core/vec.h"
#include "run/moment.h"

typedef struct sl_inputs {
    SL_VEC(sl_trace *) traces; /* owned */
    sl_run *run;               /* owned; of all traces */
    SL_VEC(size_t) ends;       /* for each path the number of traces up to and with its own */
    unsigned wishes;           /* bits of sl_input_wish */
} sl_inputs;

typedef enum sl_input_wish {
    SL_INPUTS_SKIP_BAD = 1, /* bad telemetry records are skipped and counted in a note */
    SL_INPUTS_STRICT =
        2, /* a damaged file of a folder is an error; otherwise it is skipped and reported */
    SL_INPUTS_MAINS = 4, /* of a run folder the ranks, or the main processes where it has none */
} sl_input_wish;

sl_status sl_inputs_load(sl_inputs *inputs, const char *const *paths, size_t cnt, sl_error *err);
/* The same with options. Files of a folder that are skipped are named on standard error. */
sl_status sl_inputs_load_as(sl_inputs *inputs, const char *const *paths, size_t cnt,
                            unsigned wishes, sl_error *err);
void sl_inputs_fini(sl_inputs *inputs);

/* A device to work on: `device`, or all. */
typedef struct sl_device_choice {
    bool is_one;
    int device;
} sl_device_choice;

/* SL_OK when the input has the chosen device; SL_E_USAGE with the list of those it has. */
sl_status sl_inputs_check_device(const sl_run_input *input, sl_device_choice choice, sl_error *err);

/* A moment in the input's own clock. "peak" is that of the device with the highest one. */
sl_status sl_inputs_resolve_time(const sl_run_input *input, sl_device_choice choice,
                                 sl_opt_time moment, int64_t *us, sl_error *err);

/* The same as what the run knows it by. */
sl_status sl_inputs_find_moment(const sl_run_input *input, sl_device_choice choice,
                                sl_opt_time given, sl_moment *moment, sl_error *err);

#endif
