/* SPDX-License-Identifier: MIT */
#include "record/frame_marks.h"
#include "record/stack_cache.h"
#include "sltest.h"

static void knows_torch_functions_of_several_versions(void **state) {
    (void)state;
    static const struct {
        sl_str function, file;
        uint32_t flags;
    } rows[] = {
        {SL_STR("Optimizer.profile_hook_step.<locals>.wrapper"),
         SL_STR("/usr/lib/python3/dist-packages/torch/optim/optimizer.py"), SL_STACK_IN_OPTIMIZER},
        {SL_STR("Optimizer._hook_for_profile.<locals>.profile_hook_step.<locals>.wrapper"),
         SL_STR("/x/torch/optim/optimizer.py"), SL_STACK_IN_OPTIMIZER},
        {SL_STR("Tensor.backward"), SL_STR("/x/torch/_tensor.py"), SL_STACK_IN_BACKWARD},
        {SL_STR("backward"), SL_STR("/x/torch/autograd/__init__.py"), SL_STACK_IN_BACKWARD},
        {SL_STR("Module._call_impl"), SL_STR("/x/torch/nn/modules/module.py"), SL_STACK_IN_MODULE},
        {SL_STR("step"), SL_STR("/home/me/train.py"), 0},
        {SL_STR("Optimizer.zero_grad"), SL_STR("/x/torch/optim/optimizer.py"), 0},
        {SL_STR(""), SL_STR(""), 0},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_int_equal(sl_frame_flags_find(rows[i].function, rows[i].file), rows[i].flags);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_torch_functions_of_several_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
