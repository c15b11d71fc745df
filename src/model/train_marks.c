/* SPDX-License-Identifier: MIT */
#include "model/train_marks.h"

#include "base/core/str.h"

typedef enum name_match {
    MATCH_START, /* the qualified name begins so */
    MATCH_LAST,  /* its last part is this */
} name_match;

typedef struct mark_row {
    sl_str file; /* the path ends so; when this ends in '/', contains it; when empty, is empty */
    sl_str function;
    name_match match;
    uint32_t mark;
} mark_row;

/* torch wraps the step of every optimizer class, its own and foreign ones, in profile_hook_step;
 * up to 3.10 Python has no qualified names in code objects, and torch's snapshots have none at all, so
 * the inner functions are listed too. */
static const mark_row rows[] = {
    {SL_STR("torch/optim/optimizer.py"), SL_STR("Optimizer.profile_hook_step."), MATCH_START,
     SL_FRAME_OPTIMIZER},
    {SL_STR("torch/optim/optimizer.py"), SL_STR("Optimizer._hook_for_profile."), MATCH_START,
     SL_FRAME_OPTIMIZER},
    {SL_STR("torch/optim/optimizer.py"), SL_STR("wrapper"), MATCH_START, SL_FRAME_OPTIMIZER},
    {SL_STR("torch/optim/optimizer.py"), SL_STR("_use_grad"), MATCH_START, SL_FRAME_OPTIMIZER},
    {SL_STR("torch/_tensor.py"), SL_STR("Tensor.backward"), MATCH_START, SL_FRAME_BACKWARD},
    {SL_STR("torch/_tensor.py"), SL_STR("backward"), MATCH_START, SL_FRAME_BACKWARD},
    {SL_STR("torch/autograd/__init__.py"), SL_STR("backward"), MATCH_START, SL_FRAME_BACKWARD},
    {SL_STR("torch/autograd/__init__.py"), SL_STR("grad"), MATCH_START, SL_FRAME_BACKWARD},
    {SL_STR(""), SL_STR("<backward"), MATCH_START, SL_FRAME_BACKWARD}, /* made by the recorder */
    {SL_STR("torch/nn/modules/module.py"), SL_STR("Module._call_impl"), MATCH_START,
     SL_FRAME_MODULE},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("_call_impl"), MATCH_START, SL_FRAME_MODULE},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("_wrapped_call_impl"), MATCH_LAST,
     SL_FRAME_MODULE},
    {SL_STR("torch/nn/modules/"), SL_STR("__init__"), MATCH_LAST, SL_FRAME_BUILD},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("_apply"), MATCH_LAST, SL_FRAME_BUILD},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("to"), MATCH_LAST, SL_FRAME_BUILD},
    {SL_STR("torch/nn/modules/module.py"), SL_STR("load_state_dict"), MATCH_LAST, SL_FRAME_BUILD},
    {SL_STR("torch/nn/init.py"), SL_STR(""), MATCH_START, SL_FRAME_BUILD},
    {SL_STR("torch/nn/parameter.py"), SL_STR(""), MATCH_START, SL_FRAME_BUILD},
    {SL_STR("torch/autograd/grad_mode.py"), SL_STR(""), MATCH_START, SL_FRAME_GRAD_MODE},
    {SL_STR("torch/utils/_contextlib.py"), SL_STR(""), MATCH_START, SL_FRAME_GRAD_MODE},
};

static bool is_in_file(sl_str path, sl_str wanted) {
    if (wanted.len == 0)
        return path.len == 0;
    if (wanted.ptr[wanted.len - 1] == '/')
        return sl_str_contains(path, wanted);
    return sl_str_ends_with(path, wanted);
}

static bool is_function(sl_str name, const mark_row *row) {
    if (row->match == MATCH_START)
        return sl_str_starts_with(name, row->function);
    return sl_str_ends_with(name, row->function) &&
           (name.len == row->function.len || name.ptr[name.len - row->function.len - 1] == '.');
}

uint32_t sl_frame_marks_find(sl_str function, sl_str file) {
    uint32_t marks = 0;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (is_in_file(file, rows[i].file) && is_function(function, &rows[i]))
            marks |= rows[i].mark;
    return marks;
}

static const char *const phase_names[SL_PHASE_LIMIT] = {
#define SL_TRAIN_PHASE_NAME(name, text) text,
    SL_TRAIN_PHASE_MAP(SL_TRAIN_PHASE_NAME)
#undef SL_TRAIN_PHASE_NAME
};

const char *sl_train_phase_name(sl_train_phase phase) {
    return phase_names[(unsigned)phase < SL_PHASE_LIMIT ? phase : SL_PHASE_NONE];
}

sl_train_phase sl_train_phase_find(sl_str name) {
    for (unsigned i = SL_PHASE_NONE + 1; i < SL_PHASE_LIMIT; i++)
        if (sl_str_is(name, phase_names[i]))
            return (sl_train_phase)i;
    return SL_PHASE_NONE;
}

sl_train_phase sl_train_phase_of(uint32_t marks) {
    if (marks & SL_FRAME_OPTIMIZER)
        return SL_PHASE_OPTIMIZER;
    if (marks & SL_FRAME_BACKWARD)
        return SL_PHASE_BACKWARD;
    return marks & SL_FRAME_MODULE ? SL_PHASE_FORWARD : SL_PHASE_NONE;
}
