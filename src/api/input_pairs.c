/* SPDX-License-Identifier: MIT */
#include "api/input_pairs.h"

#include <stdio.h>
#include <string.h>

#include "base/core/str.h"

const char *sl_input_key(char key[SL_INPUT_KEY_CAP], const sl_run_input *input) {
    const sl_process *process = &input->trace->process;
    sl_str name = process->is_known ? sl_process_name(process) : (sl_str){"", 0};
    if (process->is_known && process->rank.known)
        snprintf(key, SL_INPUT_KEY_CAP, "rank %d", (int)process->rank.value);
    else if (name.len)
        snprintf(key, SL_INPUT_KEY_CAP, "%.*s", (int)name.len, name.ptr);
    else
        snprintf(key, SL_INPUT_KEY_CAP, "%s", sl_base_name(input->trace->path));
    return key;
}

sl_status sl_input_find(const sl_run_input *inputs, size_t cnt, const char *name, const char *key,
                        const sl_run_input **found, sl_error *err) {
    char own[SL_INPUT_KEY_CAP];
    *found = NULL;
    for (size_t i = 0; i < cnt; i++) {
        const sl_run_input *input = &inputs[i];
        if (strcmp(sl_input_key(own, input), key) != 0)
            continue;
        if (*found && !input->trace->process.rank.known)
            return sl_fail(err, SL_E_USAGE,
                           "'%s' contains several recordings of '%s': '%s', '%s'; give one of them",
                           name, key, (*found)->trace->path, input->trace->path);
        if (!*found || (*found)->trace->process.start_us < input->trace->process.start_us)
            *found = input;
    }
    return SL_OK;
}
