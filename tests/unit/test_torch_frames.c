/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/torch_frames.h"
#include "sltest.h"

static void knows_torch_functions_of_several_versions(void **state) {
    (void)state;
    static const struct {
        sl_str function, file;
        uint32_t marks;
    } rows[] = {
        {SL_STR("Optimizer.profile_hook_step.<locals>.wrapper"),
         SL_STR("/usr/lib/python3/dist-packages/torch/optim/optimizer.py"), SL_FRAME_OPTIMIZER},
        {SL_STR("Optimizer._hook_for_profile.<locals>.profile_hook_step.<locals>.wrapper"),
         SL_STR("/x/torch/optim/optimizer.py"), SL_FRAME_OPTIMIZER},
        {SL_STR("_use_grad_for_differentiable.<locals>._use_grad"),
         SL_STR("/x/torch/optim/optimizer.py"), SL_FRAME_OPTIMIZER},
        {SL_STR("wrapper"), SL_STR("/x/torch/optim/optimizer.py"), SL_FRAME_OPTIMIZER},
        {SL_STR("LRScheduler.step"), SL_STR("/x/torch/optim/lr_scheduler.py"), 0},
        {SL_STR("<backward, nearest forward operator>"), SL_STR(""), SL_FRAME_BACKWARD},
        {SL_STR("Tensor.backward"), SL_STR("/x/torch/_tensor.py"), SL_FRAME_BACKWARD},
        {SL_STR("backward"), SL_STR("/x/torch/autograd/__init__.py"), SL_FRAME_BACKWARD},
        {SL_STR("Module._call_impl"), SL_STR("/x/torch/nn/modules/module.py"), SL_FRAME_MODULE},
        {SL_STR("Module._wrapped_call_impl"), SL_STR("/x/torch/nn/modules/module.py"),
         SL_FRAME_MODULE},
        {SL_STR("Linear.__init__"), SL_STR("/x/torch/nn/modules/linear.py"), SL_FRAME_BUILD},
        {SL_STR("__init__"), SL_STR("/x/torch/nn/modules/conv.py"), SL_FRAME_BUILD},
        {SL_STR("my__init__"), SL_STR("/x/torch/nn/modules/conv.py"), 0},
        {SL_STR("Linear.forward"), SL_STR("/x/torch/nn/modules/linear.py"), 0},
        {SL_STR("Module._apply"), SL_STR("/x/torch/nn/modules/module.py"), SL_FRAME_BUILD},
        {SL_STR("Module.to"), SL_STR("/x/torch/nn/modules/module.py"), SL_FRAME_BUILD},
        {SL_STR("kaiming_uniform_"), SL_STR("/x/torch/nn/init.py"), SL_FRAME_BUILD},
        {SL_STR("Parameter.__new__"), SL_STR("/x/torch/nn/parameter.py"), SL_FRAME_BUILD},
        {SL_STR("Net.__init__"), SL_STR("/home/me/train.py"), 0},
        {SL_STR("set_grad_enabled.__init__"), SL_STR("/x/torch/autograd/grad_mode.py"),
         SL_FRAME_GRAD_MODE},
        {SL_STR("context_decorator.<locals>.decorate_context"),
         SL_STR("/x/torch/utils/_contextlib.py"), SL_FRAME_GRAD_MODE},
        {SL_STR("step"), SL_STR("/home/me/train.py"), 0},
        {SL_STR("Optimizer.zero_grad"), SL_STR("/x/torch/optim/optimizer.py"), 0},
        {SL_STR(""), SL_STR(""), 0},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_int_equal(sl_torch_frame_find(rows[i].function, rows[i].file).marks, rows[i].marks);
}

static void knows_roles_and_files(void **state) {
    (void)state;
    static const struct {
        sl_str function, file;
        unsigned roles;
        bool is_torch_file;
    } rows[] = {
        {SL_STR("forward"), SL_STR("/x/torch/nn/modules/linear.py"), SL_ROLE_NN, true},
        {SL_STR("Linear.__init__"), SL_STR("torch/nn/modules/linear.py"),
         SL_ROLE_NN | SL_ROLE_PARAM, true},
        {SL_STR("uniform_"), SL_STR("/x/torch/nn/init.py"), SL_ROLE_NN | SL_ROLE_PARAM, true},
        {SL_STR("Module.to"), SL_STR("/x/torch/nn/modules/module.py"), SL_ROLE_NN, true},
        {SL_STR("step"), SL_STR("/x/torch/optim/adam.py"), SL_ROLE_OPTIM, true},
        {SL_STR("empty_cache"), SL_STR("/x/torch/cuda/memory.py"), SL_ROLE_EMPTY_CACHE, true},
        {SL_STR("PreTrainedModel.from_pretrained"), SL_STR("/x/transformers/modeling_utils.py"),
         SL_ROLE_PARAM, false},
        {SL_STR("save"), SL_STR("/x/torch/serialization.py"), 0, true},
        {SL_STR("f"), SL_STR("/home/me/torch/train.py"), 0, false},
        {SL_STR("f"), SL_STR("/home/me/mytorch/nn/layer.py"), 0, false},
        {SL_STR("f"), SL_STR("/home/me/mytorch/nn/venv/torch/nn/layer.py"), SL_ROLE_NN, true},
        {SL_STR(""), SL_STR(""), 0, false},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_torch_frame found = sl_torch_frame_find(rows[i].function, rows[i].file);
        assert_int_equal(found.roles, rows[i].roles);
        assert_int_equal(found.is_torch_file, rows[i].is_torch_file);
    }
}

static void phases_have_names(void **state) {
    (void)state;
    for (unsigned i = SL_PHASE_NONE; i < SL_PHASE_LIMIT; i++) {
        const char *name = sl_train_phase_name((sl_train_phase)i);
        assert_int_equal(sl_train_phase_find((sl_str){name, strlen(name)}), i);
    }
    assert_int_equal(sl_train_phase_find(SL_STR("parameter")), SL_PHASE_NONE);
    assert_int_equal(sl_train_phase_of(0), SL_PHASE_NONE);
    assert_int_equal(sl_train_phase_of(SL_FRAME_MODULE | SL_FRAME_BUILD), SL_PHASE_FORWARD);
    assert_int_equal(sl_train_phase_of(SL_FRAME_MODULE | SL_FRAME_BACKWARD), SL_PHASE_BACKWARD);
    assert_int_equal(sl_train_phase_of(SL_FRAME_OPTIMIZER | SL_FRAME_BACKWARD | SL_FRAME_MODULE),
                     SL_PHASE_OPTIMIZER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_torch_functions_of_several_versions),
        cmocka_unit_test(knows_roles_and_files),
        cmocka_unit_test(phases_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
