/* SPDX-License-Identifier: MIT */
#include "model/torch_frames.h"

#include <string.h>

#include "base/core/str.h"

typedef enum name_match {
    ANY,
    STARTS, /* the qualified name begins so */
    LAST,   /* its last part is this */
} name_match;

typedef struct frame_row {
    sl_str file; /* the path ends so; when this ends in '/', contains it; when empty, is empty */
    name_match match;
    sl_str function;
    sl_torch_frame means;
} frame_row;

#define FILE_ROW(path, ...)              \
    {                                    \
        SL_STR(path), ANY, SL_STR(""), { \
            __VA_ARGS__                  \
        }                                \
    }
#define FRAME_ROW(path, match, name, ...)    \
    {                                        \
        SL_STR(path), match, SL_STR(name), { \
            __VA_ARGS__                      \
        }                                    \
    }
#define IS(mark)   .marks = SL_FRAME_##mark
#define ROLE(role) .roles = SL_ROLE_##role
#define TORCH      .is_torch_file = true

#define OPTIMIZER_PY "torch/optim/optimizer.py"
#define MODULE_PY    "torch/nn/modules/module.py"

/* Every row that fits adds what it means.
 *
 * torch wraps the step of every optimizer class, its own and foreign ones, in profile_hook_step; up to
 * 3.10 Python has no qualified names in code objects, and torch's snapshots have none at all, so the inner
 * functions are listed too. A torch may be built from a checkout or packed without folders, and users call
 * their folders "torch" too, so only its own subfolders are torch's. */
static const frame_row rows[] = {
    FRAME_ROW(OPTIMIZER_PY, STARTS, "Optimizer.profile_hook_step.", IS(OPTIMIZER)),
    FRAME_ROW(OPTIMIZER_PY, STARTS, "Optimizer._hook_for_profile.", IS(OPTIMIZER)),
    FRAME_ROW(OPTIMIZER_PY, STARTS, "wrapper", IS(OPTIMIZER)),
    FRAME_ROW(OPTIMIZER_PY, STARTS, "_use_grad", IS(OPTIMIZER)),
    FRAME_ROW("torch/_tensor.py", STARTS, "Tensor.backward", IS(BACKWARD), ROLE(BACKWARD)),
    FRAME_ROW("torch/_tensor.py", STARTS, "backward", IS(BACKWARD), ROLE(BACKWARD)),
    FRAME_ROW("torch/autograd/__init__.py", STARTS, "backward", IS(BACKWARD), ROLE(BACKWARD)),
    FRAME_ROW("torch/autograd/__init__.py", STARTS, "grad", IS(BACKWARD), ROLE(BACKWARD)),
    FRAME_ROW("", STARTS, "<backward", IS(BACKWARD), ROLE(BACKWARD)), /* made by the recorder */
    FRAME_ROW(MODULE_PY, STARTS, "Module._call_impl", IS(MODULE)),
    FRAME_ROW(MODULE_PY, STARTS, "_call_impl", IS(MODULE)),
    FRAME_ROW(MODULE_PY, LAST, "_wrapped_call_impl", IS(MODULE)),
    FRAME_ROW("torch/nn/modules/", LAST, "__init__", IS(BUILD), ROLE(PARAM)),
    FRAME_ROW(MODULE_PY, LAST, "_apply", IS(BUILD), ROLE(PARAM)),
    FRAME_ROW(MODULE_PY, LAST, "load_state_dict", IS(BUILD), ROLE(PARAM)),
    FRAME_ROW(MODULE_PY, LAST, "to", IS(BUILD)),
    FRAME_ROW("modeling_utils.py", LAST, "from_pretrained", IS(BUILD),
              ROLE(PARAM)), /* of transformers */
    FRAME_ROW("safetensors/torch.py", LAST, "load_file", IS(BUILD), ROLE(PARAM)),
    FRAME_ROW("safetensors/torch.py", LAST, "load_model", IS(BUILD), ROLE(PARAM)),
    FRAME_ROW("accelerate/utils/modeling.py", LAST, "set_module_tensor_to_device", IS(BUILD),
              ROLE(PARAM)),
    FRAME_ROW("torch/cuda/memory.py", LAST, "empty_cache", IS(EMPTY_CACHE), ROLE(EMPTY_CACHE)),
    FRAME_ROW("torch/accelerator/memory.py", LAST, "empty_cache", IS(EMPTY_CACHE),
              ROLE(EMPTY_CACHE)),
    FILE_ROW("torch/nn/init.py", IS(BUILD), ROLE(PARAM)),
    FILE_ROW("torch/nn/parameter.py", IS(BUILD)),
    FILE_ROW("torch/autograd/grad_mode.py", IS(GRAD_MODE)),
    FILE_ROW("torch/utils/_contextlib.py", IS(GRAD_MODE)),
    FRAME_ROW("torch/utils/data/_utils/worker.py", STARTS, "_worker_loop", IS(WORKER)),
    FILE_ROW("torch/nn/", ROLE(NN), TORCH),
    FILE_ROW("torch/optim/", ROLE(OPTIM), TORCH),
    FILE_ROW("torch/autograd/", TORCH),
    FILE_ROW("torch/utils/", TORCH),
    FILE_ROW("torch/cuda/", TORCH),
    FILE_ROW("torch/_dynamo/", TORCH),
    FILE_ROW("torch/_inductor/", TORCH),
    FILE_ROW("torch/_functorch/", TORCH),
    FILE_ROW("torch/fx/", TORCH),
    FILE_ROW("torch/amp/", TORCH),
    FILE_ROW("torch/_tensor.py", TORCH),
    FILE_ROW("torch/functional.py", TORCH),
    FILE_ROW("torch/_ops.py", TORCH),
    FILE_ROW("torch/distributed/", TORCH),
    FILE_ROW("torch/_tensor_str.py", TORCH),
    FILE_ROW("torch/_library/", TORCH),
    FILE_ROW("torch/serialization.py", TORCH),
};

/* Paths are compared from the beginning of a folder's name on: "mytorch/nn/" is not torch's. */
static bool is_at(sl_str path, size_t at, sl_str part) {
    return (at == 0 || path.ptr[at - 1] == '/') && memcmp(path.ptr + at, part.ptr, part.len) == 0;
}

static bool is_in_file(sl_str path, sl_str wanted) {
    if (wanted.len == 0 || path.len < wanted.len)
        return path.len == wanted.len;
    size_t last = path.len - wanted.len;
    if (wanted.ptr[wanted.len - 1] != '/')
        return is_at(path, last, wanted);
    for (size_t at = 0; at <= last; at++)
        if (is_at(path, at, wanted))
            return true;
    return false;
}

static bool is_function(sl_str name, const frame_row *row) {
    size_t len = row->function.len;
    if (row->match == ANY)
        return true;
    if (name.len < len)
        return false;
    if (row->match == STARTS)
        return memcmp(name.ptr, row->function.ptr, len) == 0;
    return memcmp(name.ptr + name.len - len, row->function.ptr, len) == 0 &&
           (name.len == len || name.ptr[name.len - len - 1] == '.');
}

sl_torch_frame sl_torch_frame_find(sl_str function, sl_str file) {
    sl_torch_frame found = {0};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        if (!is_in_file(file, rows[i].file) || !is_function(function, &rows[i]))
            continue;
        found.marks |= rows[i].means.marks;
        found.roles |= rows[i].means.roles;
        found.is_torch_file |= rows[i].means.is_torch_file;
    }
    return found;
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
