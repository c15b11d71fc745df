/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/system_info.h"
#include "cli/core/cmd_list.h"
#include "counters/counters.h"
#include "counters/proc_tree.h"
#include "memprof/compat_cli.h"

#define GB 1073741824.0

static const char *yes(bool value) {
    return value ? "True" : "False";
}

static int print_host(const sl_system_info *info, sl_error *err) {
    char rss[SL_COMPAT_BYTES_CAP], vms[SL_COMPAT_BYTES_CAP];
    sl_proc_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return sl_fail_no_memory(err, "the list of processes");
    sl_proc_tree_read((int)getpid(), tree);
    printf("MPS Built: False\nMPS Available: False\n");
    printf("CUDA is not available. Falling back to CPU-only profiling.\n");
    printf("Process RSS: %s\n", sl_compat_bytes(rss, (int64_t)tree->rss_bytes));
    printf("Process VMS: %s\n", sl_compat_bytes(vms, (int64_t)tree->vms_bytes));
    printf("CPU Count: %ld physical / %ld logical\n", info->cpus_physical, info->cpus_logical);
    free(tree);
    return 0;
}

static void print_gb(const char *label, sl_maybe_u64 bytes) {
    if (bytes.known)
        printf("  %s: %.2f GB\n", label, (double)bytes.value / GB);
    else
        printf("  %s: not known\n", label);
}

static void print_details(const sl_device_sample *sample) {
    sl_compat_heading(stdout, "\nDetailed Information:", 30);
    if (sample->utilization_pct.known)
        printf("GPU Utilization: %llu%%\n", (unsigned long long)sample->utilization_pct.value);
    if (sample->temperature_c.known)
        printf("Temperature: %llu C\n", (unsigned long long)sample->temperature_c.value);
    if (sample->power_mw.known)
        printf("Power Draw: %.1f W\n", (double)sample->power_mw.value / 1000);
    if (sample->others_bytes.known)
        printf("Other processes: %.2f GB\n", (double)sample->others_bytes.value / GB);
}

static int print_card(const sl_system_info *info, int device, bool is_detailed, sl_error *err) {
    sl_device_sample sample;
    const sl_counters_ops *ops = sl_counters_open(err);
    if (!ops)
        return err->code;
    sl_status status = ops->read(device, &sample, err);
    if (status == SL_OK) {
        printf("CUDA Version: not known (NVIDIA driver %s)\n", info->machine.nvidia_version);
        printf("GPU Device Count: %d\nCurrent Device: %d\n\n", info->device_cnt, device);
        printf("GPU %d Information:\n", device);
        print_gb("Total Memory", sample.total_bytes);
        print_gb("Used", sample.used_bytes);
        /* This process holds nothing on the card; the allocator's figures are those of another
         * program. */
        print_gb("Allocated", sl_known_u64(0));
        print_gb("Reserved", sl_known_u64(0));
        if (is_detailed)
            print_details(&sample);
    }
    ops->close();
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_system_info info;
    sl_system_info_read(&info, 0);
    sl_compat_title("Stormlog - System Information");
    printf("Platform: %s\n", info.machine.system);
    printf("Python Version: %s\n", info.python_version[0] ? info.python_version : "none on PATH");
    printf("PyTorch: %s\n", info.torch_version[0] ? info.torch_version
                            : info.has_torch      ? "found"
                                                  : "not found beside this Python");
    printf("CUDA Available: %s\n", yes(info.has_cuda));
    printf("Detected Backend: %s\n", info.has_cuda ? "cuda" : "cpu");
    if (!info.has_cuda)
        return print_host(&info, err);
    return print_card(&info, (int)sl_opts_number(opts, "device"), sl_opts_flag(opts, "detailed"),
                      err);
}

static const sl_opt options[] = {
    {.name = "device", .type = SL_OPT_INT, .help = "which card"},
    {.name = "detailed", .type = SL_OPT_FLAG, .help = "utilization, temperature and power too"},
};

const sl_cmd sl_cmd_gpumemprof_info = {
    .name = "info",
    .operands = "",
    .summary = "print facts about the machine and its cards",
    .description =
        "Works without Python and PyTorch: the facts come from system files and the driver.",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
