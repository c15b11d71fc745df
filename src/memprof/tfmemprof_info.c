/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/commands/system_info.h"
#include "cli/core/cmd_list.h"
#include "memprof/compat_cli.h"

#define GB 1073741824.0

static void print_gb(const char *label, sl_maybe_u64 bytes) {
    if (bytes.known)
        printf("%s: %.2f GB\n", label, (double)bytes.value / GB);
    else
        printf("%s: not known\n", label);
}

static void print_cards(const sl_system_info *info) {
    sl_compat_heading(stdout, "\nGPU Information:", 20);
    if (info->has_cuda)
        printf("GPU Available: Yes\nGPU Count: %d\n", info->device_cnt);
    else
        printf("GPU Hardware Detected: No\nGPU Available to TensorFlow Runtime: No\n");
}

/* For which libraries TensorFlow was built only TensorFlow knows. */
static void print_backend(const sl_system_info *info) {
    sl_compat_heading(stdout, "\nTensorFlow Backend Diagnostics:", 30);
    printf("Hardware GPU Detected: %s\nRuntime Backend: %s\nRuntime GPU Count: %d\n",
           info->has_cuda ? "True" : "False", info->has_cuda ? "cuda" : "cpu", info->device_cnt);
    printf("Apple Silicon: False\ntensorflow-metal Installed: False\n");
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_system_info info;
    SL_UNUSED(opts);
    SL_UNUSED(err);
    sl_system_info_read(&info, 0);
    sl_compat_title("TensorFlow Stormlog - System Information");
    printf("Platform: %s\n", info.machine.system);
    printf("Python Version: %s\n", info.python_version[0] ? info.python_version : "none on PATH");
    printf("TensorFlow Version: not asked for (this program needs none)\n");
    printf("CPU Count: %ld\n", info.cpus_logical);
    print_gb("Total System Memory", info.machine.memory_bytes);
    print_gb("Available Memory", info.memory_available);
    print_cards(&info);
    print_backend(&info);
    return 0;
}

const sl_cmd sl_cmd_tfmemprof_info = {
    .name = "info",
    .operands = "",
    .summary = "print facts about the machine and its cards",
    .run = run,
};
