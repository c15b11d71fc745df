/* SPDX-License-Identifier: MIT */
#include "record/frame_marks.h"

#include <string.h>

#include "record/stack_cache.h"

typedef struct mark_row {
    sl_str file_end;       /* the file's path ends so */
    sl_str function_start; /* the qualified name begins so */
    uint32_t flag;
} mark_row;

/* torch wraps the step of every optimizer class, its own and foreign ones, in profile_hook_step;
 * up to 3.10 Python has no qualified names in code objects, so the inner function is listed too. */
static const mark_row rows[] = {
    {SL_STR("torch/optim/optimizer.py"), SL_STR("Optimizer.profile_hook_step."),
     SL_STACK_IN_OPTIMIZER},
    {SL_STR("torch/optim/optimizer.py"), SL_STR("Optimizer._hook_for_profile."),
     SL_STACK_IN_OPTIMIZER},
    {SL_STR("torch/optim/optimizer.py"), SL_STR("_use_grad"), SL_STACK_IN_OPTIMIZER},
    {SL_STR("torch/_tensor.py"), SL_STR("Tensor.backward"), SL_STACK_IN_BACKWARD},
    {SL_STR("torch/_tensor.py"), SL_STR("backward"), SL_STACK_IN_BACKWARD},
    {SL_STR("torch/autograd/__init__.py"), SL_STR("backward"), SL_STACK_IN_BACKWARD},
    {SL_STR("torch/autograd/__init__.py"), SL_STR("grad"), SL_STACK_IN_BACKWARD},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("Module._call_impl"), SL_STACK_IN_MODULE},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("_call_impl"), SL_STACK_IN_MODULE},
};

static bool starts_with(sl_str text, sl_str start) {
    return text.len >= start.len && memcmp(text.ptr, start.ptr, start.len) == 0;
}

static bool ends_with(sl_str text, sl_str end) {
    return text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

uint32_t sl_frame_flags_find(sl_str function, sl_str file) {
    uint32_t flags = 0;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (ends_with(file, rows[i].file_end) && starts_with(function, rows[i].function_start))
            flags |= rows[i].flag;
    return flags;
}
