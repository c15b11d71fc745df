/* SPDX-License-Identifier: MIT */
/* PyTorch memory snapshots in a pickle: what torch.cuda.memory._dump_snapshot writes. */
#include "read/core/source.h"
#include "read/torch/pickle_vm.h"

static int probe(const unsigned char *head, size_t len, const char *path) {
    SL_UNUSED(path);
    return len >= 2 && head[0] == 0x80 && head[1] <= 5 ? 50 : 0;
}

static sl_status load(const sl_source_input *input, sl_trace *trace, sl_error *err) {
    sl_torch_build build;
    sl_status status = sl_torch_build_init(&build, trace, err);
    build.on_end_state = input->options->on_end_state;
    build.on_end_state_ctx = input->options->on_end_state_ctx;
    if (status >= 0)
        status = sl_pickle_read(input->in, &build, err);
    if (status >= 0)
        status = sl_torch_finish(&build, err);
    sl_torch_build_fini(&build);
    return status;
}

const sl_source_ops sl_source_torch_pickle = {
    .name = "torch-pickle",
    .kind = SL_SOURCE_TORCH_SNAPSHOT,
    .probe = probe,
    .load = load,
};
