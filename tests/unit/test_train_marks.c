/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/train_marks.h"
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
        assert_int_equal(sl_frame_marks_find(rows[i].function, rows[i].file), rows[i].marks);
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
        cmocka_unit_test(phases_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
