/* SPDX-License-Identifier: MIT
 *
 * An NVML with two cards of 8 GiB. FAKE_NVML_PID: "own" lists the calling process, a number lists that one,
 * "none" nobody, "mps" lists the calling process as a client of the multi-process service; FAKE_NVML_INIT is
 * the code of nvmlInit; FAKE_NVML_FULL fills the cards.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct process {
    unsigned pid;
    unsigned long long used;
    unsigned a, b;
} process;

EXPORT int nvmlInit_v2(void) {
    const char *code = getenv("FAKE_NVML_INIT");
    return code ? atoi(code) : 0;
}

EXPORT int nvmlShutdown(void) {
    return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *cnt) {
    *cnt = 2;
    return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned idx, uintptr_t *handle) {
    *handle = idx + 1;
    return idx < 2 ? 0 : 2;
}

EXPORT int nvmlDeviceGetMemoryInfo(uintptr_t handle, unsigned long long *memory) {
    memory[0] = 8ull << 30;
    memory[2] = getenv("FAKE_NVML_FULL") ? memory[0] - 1 : handle * (1ull << 30);
    memory[1] = memory[0] - memory[2];
    return 0;
}

typedef struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory_v2;

/* As the real one: refuses a caller that does not say which struct it means. */
EXPORT int nvmlDeviceGetMemoryInfo_v2(uintptr_t handle, memory_v2 *memory) {
    unsigned long long plain[3];
    if (memory->version != (sizeof *memory | 2u << 24))
        return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
    nvmlDeviceGetMemoryInfo(handle, plain);
    memory->total = plain[0];
    memory->free = plain[1];
    memory->reserved = 600ull << 20;
    memory->used = plain[2] - memory->reserved;
    return 0;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(uintptr_t handle, unsigned *cnt, process *rows) {
    const char *pid = getenv("FAKE_NVML_PID");
    unsigned used = 0;
    (void)handle;
    rows[used++] = (process){999999, 100 << 20, 0, 0};
    if (pid && strcmp(pid, "none") != 0 && strcmp(pid, "mps") != 0)
        rows[used++] = (process){strcmp(pid, "own") == 0 ? (unsigned)getpid() : (unsigned)atoi(pid),
                                 300 << 20, 0, 0};
    *cnt = used;
    return 0;
}

/* The service's own process is in both lists. */
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(uintptr_t handle, unsigned *cnt,
                                                      process *rows) {
    const char *pid = getenv("FAKE_NVML_PID");
    (void)handle;
    *cnt = 0;
    if (!pid || strcmp(pid, "mps") != 0)
        return 0;
    rows[(*cnt)++] = (process){999999, 100 << 20, 0, 0};
    rows[(*cnt)++] = (process){(unsigned)getpid(), 200 << 20, 0, 0};
    rows[(*cnt)++] = (process){888888, 50 << 20, 0, 0};
    return 0;
}
