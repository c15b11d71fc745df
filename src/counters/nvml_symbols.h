/* SPDX-License-Identifier: MIT */
/* The part of NVML that is used, as data: symbol, older name with the same meaning and layout (or
 * NULL), slot, whether nothing works without it. */
#ifndef SL_NVML_SYMBOLS_H
#define SL_NVML_SYMBOLS_H

#include <stdint.h>

typedef struct nvml_device nvml_device; /* opaque */

typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

/* The driver's own share apart: `used` is what nvml_memory calls used, less `reserved`. */
typedef struct nvml_memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvml_memory_v2;

/* nvmlProcessInfo_t since R450 (the _v2 and _v3 functions). */
typedef struct nvml_process {
    unsigned int pid;
    unsigned long long used_bytes; /* UINT64_MAX = not available */
    unsigned int gpu_instance, compute_instance;
} nvml_process;

typedef struct nvml_utilization {
    unsigned int gpu, memory;
} nvml_utilization;

#define NVML_SUCCESS           0
#define NVML_INSUFFICIENT_SIZE 7
#define NVML_TEMPERATURE_GPU   0
#define NVML_MEMORY_V2         ((unsigned int)sizeof(nvml_memory_v2) | 2u << 24)

typedef struct nvml_functions {
    int (*init)(void);
    int (*shutdown)(void);
    int (*get_count)(unsigned int *);
    int (*get_handle)(unsigned int, nvml_device **);
    int (*get_handle_by_uuid)(const char *, nvml_device **);
    int (*get_memory)(nvml_device *, nvml_memory *);
    int (*get_memory_v2)(nvml_device *, nvml_memory_v2 *);
    int (*get_processes)(nvml_device *, unsigned int *, nvml_process *);
    int (*get_mps_processes)(nvml_device *, unsigned int *, nvml_process *);
    int (*get_utilization)(nvml_device *, nvml_utilization *);
    int (*get_temperature)(nvml_device *, unsigned int, unsigned int *);
    int (*get_power)(nvml_device *, unsigned int *);
} nvml_functions;

#define NVML_SYMBOL_MAP(X)                                                                        \
    X("nvmlInit_v2", "nvmlInit", init, 1)                                                         \
    X("nvmlShutdown", NULL, shutdown, 1)                                                          \
    X("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", get_count, 1)                                \
    X("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", get_handle, 1)               \
    X("nvmlDeviceGetHandleByUUID", NULL, get_handle_by_uuid, 0)                                   \
    X("nvmlDeviceGetMemoryInfo", NULL, get_memory, 1)                                             \
    X("nvmlDeviceGetMemoryInfo_v2", NULL, get_memory_v2, 0)                                       \
    X("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",       \
      get_processes, 0)                                                                           \
    X("nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2", \
      get_mps_processes, 0)                                                                       \
    X("nvmlDeviceGetUtilizationRates", NULL, get_utilization, 0)                                  \
    X("nvmlDeviceGetTemperature", NULL, get_temperature, 0)                                       \
    X("nvmlDeviceGetPowerUsage", NULL, get_power, 0)

#endif
