/* SPDX-License-Identifier: MIT */
#include "report/device_words.h"

#include <string.h>

static const sl_device_words host = {
    .name = "this machine",
    .larger = "a machine with more memory",
    .list_users = "top",
};

static const sl_device_words cuda = {
    .name = "the card",
    .larger = "a larger card",
    .list_users = "nvidia-smi",
    .conf = "PYTORCH_CUDA_ALLOC_CONF",
    .history = "torch.cuda.memory._record_memory_history(max_entries=...)",
};

/* Other devices are known by their package, whose files are in the stacks, and by the first word of
 * their error text. */
static const struct {
    const char *package, *error;
    sl_device_words words;
} others[] = {
    {"/torch_npu/",
     "NPU out of memory",
     {.name = "the NPU",
      .larger = "an NPU with more memory",
      .list_users = "npu-smi info",
      .conf = "PYTORCH_NPU_ALLOC_CONF",
      .history = "torch_npu.npu.memory._record_memory_history(max_entries=...)"}},
    {"/intel_extension_for_pytorch/",
     "XPU out of memory",
     {.name = "the XPU", .larger = "an XPU with more memory", .list_users = "xpu-smi ps"}},
};

static bool has_file_of(const sl_trace *trace, const char *package) {
    for (uint32_t id = 0; id < trace->strings.strings.cnt; id++) {
        sl_str text = sl_strtab_get(&trace->strings, id);
        if (text.len && memmem(text.ptr, text.len, package, strlen(package)))
            return true;
    }
    return false;
}

const sl_device_words *sl_device_words_of(const sl_trace *trace, int device) {
    if (device == SL_DEVICE_HOST)
        return &host;
    for (size_t i = 0; i < SL_COUNT_OF(others); i++)
        if ((trace->oom_message && strstr(trace->oom_message, others[i].error)) ||
            has_file_of(trace, others[i].package))
            return &others[i].words;
    return &cuda;
}
