/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sltest.h"

#include "analyze/analysis.h"
#include "run/lines/user_line.h"

static sl_str str(const char *text) {
    return (sl_str){text, strlen(text)};
}

typedef struct owner_row {
    const char *file;
    sl_owner owner;
} owner_row;

static void test_owners(void **state) {
    (void)state;
    static const owner_row rows[] = {
        {"/home/me/train.py", SL_OWNER_USER},
        {"train.py", SL_OWNER_USER},
        {"/home/me/torch/train.py", SL_OWNER_USER},
        {"/tmp/ipykernel_77/123.py", SL_OWNER_USER},
        {"<ipython-input-3-abc>", SL_OWNER_USER},
        {"<string>", SL_OWNER_NAMELESS},
        {SL_MODULE_FRAME_FILE, SL_OWNER_MODULE},
        {"<stdin>", SL_OWNER_NAMELESS},
        {"<frozen importlib._bootstrap>", SL_OWNER_LIBRARY},
        {"<eval_with_key>.1", SL_OWNER_LIBRARY},
        {"/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", SL_OWNER_LIBRARY},
        {"/home/me/.pyenv/versions/3.12.1/lib/python3.12/threading.py", SL_OWNER_LIBRARY},
        {"/opt/conda/lib/python3.11/site-packages/lightning/loop.py", SL_OWNER_LIBRARY},
        {"/src/pytorch/torch/nn/modules/module.py", SL_OWNER_LIBRARY},
        {"torch/autograd/function.py", SL_OWNER_LIBRARY},
        {"/tmp/torchinductor_me/ab/cabc.py", SL_OWNER_LIBRARY},
        {"??", SL_OWNER_NATIVE},
        {"", SL_OWNER_NATIVE},
        {"/lib/libtorch_cuda.so", SL_OWNER_NATIVE},
        {"/lib/libc.so.6", SL_OWNER_NATIVE},
        {"thread48.o", SL_OWNER_NATIVE},
        {"/pytorch/aten/src/ATen/native/Copy.cpp", SL_OWNER_NATIVE},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        int got = sl_frame_classify(NULL, str(rows[i].file), str("f")).owner;
        if (got != (int)rows[i].owner)
            fail_msg("'%s' is %d, want %d", rows[i].file, got, (int)rows[i].owner);
    }
}

/* As the recorder writes native frames: the offset in the function is after its name. */
static void test_owners_of_recorded_native_code(void **state) {
    (void)state;
    static const owner_row rows[] = {
        {"/home/me/simulate", SL_OWNER_NATIVE_USER},
        {"/home/me/lib/libmine.so.2", SL_OWNER_NATIVE_USER},
        {"build/kernels.so", SL_OWNER_NATIVE_USER},
        {"/home/me/libtorchless/run", SL_OWNER_NATIVE_USER},
        {"/lib/x86_64-linux-gnu/libc.so.6", SL_OWNER_NATIVE},
        {"/usr/lib/libmine.so", SL_OWNER_NATIVE},
        {"/usr/local/cuda-12/lib64/libcudart.so.12", SL_OWNER_NATIVE},
        {"/opt/rocm/lib/libamdhip64.so.6", SL_OWNER_NATIVE},
        {"/home/me/env/lib/libcublas.so.12", SL_OWNER_NATIVE},
        {"/home/me/env/lib/libstdc++.so.6", SL_OWNER_NATIVE},
        {"/home/me/env/lib/python3.12/site-packages/mine/_kernels.so", SL_OWNER_NATIVE},
        {"/home/me/env/bin/python3.12", SL_OWNER_NATIVE},
        {"", SL_OWNER_NATIVE},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        int got = sl_frame_classify(NULL, str(rows[i].file), str("f+0x1f")).owner;
        if (got != (int)rows[i].owner)
            fail_msg("'%s' is %d, want %d", rows[i].file, got, (int)rows[i].owner);
    }
    /* Not such a name: a Python function or a snapshot's native frame. */
    assert_int_equal(sl_frame_classify(NULL, str("/home/me/train.py"), str("f+0x")).owner,
                     SL_OWNER_USER);
    assert_int_equal(sl_frame_classify(NULL, str("/home/me/libmine.so"), str("f")).owner,
                     SL_OWNER_NATIVE);
}

static void push_native(uint32_t *ids, sl_trace *trace, const char *file, const char *function) {
    sl_frame frame = {sl_strtab_intern(&trace->strings, function, strlen(function)),
                      sl_strtab_intern(&trace->strings, file, strlen(file)), 0};
    *ids = sl_stacks_intern_frame(&trace->stacks, frame);
}

/* Python's line where there is one, whoever wrote the native code inside it. */
static void test_user_line_of_mixed_stacks(void **state) {
    (void)state;
    uint32_t ids[4];
    sl_trace *trace = sl_trace_new("t", SL_SOURCE_SLOG);
    push_native(&ids[0], trace, "/lib/libcudart.so.12", "cudaMalloc+0x3");
    push_native(&ids[1], trace, "/home/me/kernels.so", "grow+0x7");
    push_native(&ids[2], trace, "/home/me/program", "main+0x9");
    uint32_t native = sl_stacks_intern(&trace->stacks, ids, 3);
    sl_frame python = {sl_strtab_intern(&trace->strings, "g", 1),
                       sl_strtab_intern(&trace->strings, "/x/site-packages/a.py", 21), 5};
    ids[2] = sl_stacks_intern_frame(&trace->stacks, python);
    uint32_t mixed = sl_stacks_intern(&trace->stacks, ids, 3);
    sl_stack_class *classes = sl_stacks_classify(trace);
    assert_int_equal(classes[native].origin, SL_ORIGIN_LINE);
    assert_int_equal(classes[native].frame_pos, 1);
    assert_false(classes[native].is_library);
    assert_int_equal(classes[mixed].frame_pos, 2);
    assert_true(classes[mixed].is_library);
    assert_int_equal(sl_user_site(trace, native).frame_pos, 1);
    free(classes);
    sl_trace_free(trace);
}

static void test_roles(void **state) {
    (void)state;
    const char *linear = "/x/site-packages/torch/nn/modules/linear.py";
    assert_int_equal(sl_frame_classify(NULL, str(linear), str("forward")).roles, SL_ROLE_NN);
    assert_int_equal(sl_frame_classify(NULL, str(linear), str("__init__")).roles,
                     SL_ROLE_NN | SL_ROLE_PARAM);
    assert_int_equal(sl_frame_classify(NULL, str(linear), str("Linear.__init__")).roles,
                     SL_ROLE_NN | SL_ROLE_PARAM);
    assert_int_equal(sl_frame_classify(NULL, str(linear), str("Linear.__init__.<locals>.f")).roles,
                     SL_ROLE_NN);
    assert_int_equal(
        sl_frame_classify(NULL, str("/x/site-packages/torch/optim/adam.py"), str("_init_group"))
            .roles,
        SL_ROLE_OPTIM);
    assert_int_equal(
        sl_frame_classify(NULL, str("??"), str("torch::autograd::Engine::thread_main")).roles,
        SL_ROLE_ENGINE);
}

static uint32_t push_stack(sl_trace *trace, const char *const *files, size_t depth) {
    uint32_t ids[8];
    for (size_t i = 0; i < depth; i++) {
        sl_frame frame = {sl_strtab_intern(&trace->strings, "f", 1),
                          sl_strtab_intern(&trace->strings, files[i], strlen(files[i])),
                          (uint32_t)i + 1};
        ids[i] = sl_stacks_intern_frame(&trace->stacks, frame);
    }
    return sl_stacks_intern(&trace->stacks, ids, depth);
}

static void test_user_line_of_stacks(void **state) {
    (void)state;
    sl_trace *trace = sl_trace_new("t", SL_SOURCE_TORCH_SNAPSHOT);
    trace->has_event_stacks = true;
    static const char *const deep[] = {"libtorch.so", "/l/site-packages/torch/nn/functional.py",
                                       "model.py", "<string>", "train.py"};
    static const char *const nameless[] = {"/l/site-packages/torch/nn/functional.py", "<string>"};
    static const char *const library[] = {"??", "/l/site-packages/torch/utils/data/dataloader.py",
                                          "/l/lib/python3.11/threading.py"};
    static const char *const native[] = {"libcuda.so", "main.cpp"};
    static const char *const in_module[] = {SL_MODULE_FRAME_FILE, "libtorch.so",
                                            "/l/site-packages/torch/nn/functional.py", "model.py"};
    static const char *const module_alone[] = {SL_MODULE_FRAME_FILE};
    uint32_t a = push_stack(trace, deep, 5), b = push_stack(trace, nameless, 2);
    uint32_t c = push_stack(trace, library, 3), d = push_stack(trace, native, 2);
    uint32_t e = push_stack(trace, in_module, 4), f = push_stack(trace, module_alone, 1);
    sl_stack_class *classes = sl_stacks_classify(trace);
    assert_int_equal(classes[a].frame_pos, 2);
    assert_int_equal(classes[b].frame_pos, 1);
    assert_int_equal(classes[c].frame_pos, 1);
    assert_true(classes[c].is_library && !classes[a].is_library);
    assert_int_equal(classes[d].origin, SL_ORIGIN_NATIVE);
    assert_int_equal(classes[SL_STACK_EMPTY].origin, SL_ORIGIN_BACKWARD);
    assert_int_equal(classes[e].frame_pos, 3);
    /* A module frame is not code: a stack that has only module frames counts as empty. */
    assert_int_equal(classes[f].origin, SL_ORIGIN_BACKWARD);
    for (uint32_t id = 0; id < trace->stacks.spans.cnt; id++) {
        sl_site site = sl_user_site(trace, id);
        assert_int_equal(site.origin, classes[id].origin);
        if (site.origin == SL_ORIGIN_LINE)
            assert_int_equal(site.frame_pos, classes[id].frame_pos);
    }
    assert_string_equal(sl_site_label(sl_user_site(trace, SL_STACK_EMPTY)),
                        "(no Python stack: autograd backward)");
    trace->has_event_stacks = false;
    assert_string_equal(sl_site_label(sl_user_site(trace, SL_STACK_EMPTY)), "(stack not recorded)");
    free(classes);
    sl_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_owners_of_recorded_native_code),
        cmocka_unit_test(test_user_line_of_mixed_stacks),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_user_line_of_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
