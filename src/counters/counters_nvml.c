/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/counters.h"
#include "counters/nvml_symbols.h"

#define DEVICE_MAX  64
#define PROCESS_MAX 100 /* 24 bytes each; a card shared by more is cut, see read_processes */

typedef struct symbol_row {
    const char *name;
    const char *older; /* NULL = none */
    size_t slot;       /* offset in nvml_functions */
    bool is_required;
} symbol_row;

static const symbol_row symbols[] = {
#define NVML_SYMBOL_ROW(name, older, slot, required) \
    {name, older, offsetof(nvml_functions, slot), required},
    NVML_SYMBOL_MAP(NVML_SYMBOL_ROW)
#undef NVML_SYMBOL_ROW
};

static void *library;
static nvml_functions nvml;
static nvml_device *handles[DEVICE_MAX]; /* by the program's own numbering */
static int handle_cnt;

#define OWN_MAX 1024
static int own_pids[OWN_MAX]; /* empty = the calling process */
static size_t own_cnt;

static void set_own(const int *pids, size_t cnt) {
    own_cnt = cnt < OWN_MAX ? cnt : OWN_MAX;
    memcpy(own_pids, pids, own_cnt * sizeof *pids);
}

static bool is_own_pid(unsigned int pid) {
    for (size_t i = 0; i < own_cnt; i++)
        if ((unsigned int)own_pids[i] == pid)
            return true;
    return own_cnt == 0 && pid == (unsigned int)getpid();
}

static sl_status load_symbols(sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(symbols); i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found && symbols[i].older)
            found = dlsym(library, symbols[i].older);
        if (!found && symbols[i].is_required)
            return sl_fail(err, SL_E_DEVICE, "libnvidia-ml.so.1 has no '%s'", symbols[i].name);
        memcpy((char *)&nvml + symbols[i].slot, &found, sizeof found);
    }
    return SL_OK;
}

static bool add_handle(nvml_device *handle) {
    if (handle_cnt == DEVICE_MAX)
        return false;
    handles[handle_cnt++] = handle;
    return true;
}

static void add_by_index(unsigned int idx) {
    nvml_device *handle;
    if (nvml.get_handle(idx, &handle) == NVML_SUCCESS)
        add_handle(handle);
}

/* CUDA numbers the devices of CUDA_VISIBLE_DEVICES from 0 and stops at the first entry it does not
 * know. Entries are numbers or UUIDs ("GPU-..."). On machines with different cards and without
 * CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA may sort them differently from NVML. */
static void find_visible(const char *list) {
    while (*list) {
        char entry[96], *end;
        size_t len = strcspn(list, ",");
        if (len >= sizeof entry)
            return;
        memcpy(entry, list, len);
        entry[len] = '\0';
        nvml_device *handle;
        unsigned long idx = strtoul(entry, &end, 10);
        if (len && *end == '\0')
            add_by_index((unsigned int)idx);
        else if (nvml.get_handle_by_uuid && nvml.get_handle_by_uuid(entry, &handle) == NVML_SUCCESS)
            add_handle(handle);
        else
            return;
        list += len + (list[len] == ',');
    }
}

static void find_devices(void) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    unsigned int cnt = 0;
    handle_cnt = 0;
    if (visible) {
        find_visible(visible);
        return;
    }
    nvml.get_count(&cnt);
    for (unsigned int i = 0; i < cnt; i++)
        add_by_index(i);
}

static void close_nvml(void) {
    if (!library)
        return;
    nvml.shutdown();
    dlclose(library);
    library = NULL;
    handle_cnt = 0;
}

static void *open_library(void) {
    return dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
}

static void load_nvml(void) {
    (void)open_library();
}

static sl_status open_nvml(sl_error *err) {
    library = open_library();
    if (!library)
        return sl_fail(err, SL_E_DEVICE, "libnvidia-ml.so.1 cannot be loaded");
    sl_status status = load_symbols(err);
    int code = status == SL_OK ? nvml.init() : NVML_SUCCESS;
    if (code != NVML_SUCCESS)
        status = sl_fail(err, SL_E_DEVICE, "nvmlInit failed with code %d", code);
    if (status < 0) {
        dlclose(library);
        library = NULL;
        return status;
    }
    find_devices();
    return SL_OK;
}

static int count_devices(void) {
    return handle_cnt;
}

/* The driver lists processes by the numbers of its own pid namespace. */
static void sum_processes(const nvml_process *rows, unsigned int cnt, sl_device_sample *sample) {
    sample->others_bytes = sl_known_u64(0);
    for (unsigned int i = 0; i < cnt; i++) {
        bool is_own = is_own_pid(rows[i].pid);
        if (rows[i].used_bytes == UINT64_MAX) {
            sample->process_why =
                "the driver does not report the memory of processes on this machine";
            sample->others_bytes.known = false;
        } else if (is_own) {
            sample->process_bytes = sl_known_u64(sample->process_bytes.value + rows[i].used_bytes);
        } else {
            sample->others_bytes.value += rows[i].used_bytes;
        }
    }
    if (!sample->process_bytes.known) {
        sample->others_bytes.known = false; /* one of the others may be us under another number */
        if (!sample->process_why)
            sample->process_why = "the driver does not list this process (another pid namespace?)";
    }
}

static bool has_pid(const nvml_process *rows, unsigned int cnt, unsigned int pid) {
    for (unsigned int i = 0; i < cnt; i++)
        if (rows[i].pid == pid)
            return true;
    return false;
}

/* Under the multi-process service the programs are its clients and are in a list of their own.
 * After `cnt` rows those that are not among them already; returns how many there are then. */
static unsigned int add_mps_processes(nvml_device *handle, nvml_process *rows, unsigned int cnt) {
    nvml_process clients[PROCESS_MAX];
    unsigned int client_cnt = PROCESS_MAX;
    if (!nvml.get_mps_processes ||
        nvml.get_mps_processes(handle, &client_cnt, clients) != NVML_SUCCESS)
        return cnt;
    for (unsigned int i = 0; i < client_cnt && cnt < 2 * PROCESS_MAX; i++)
        if (!has_pid(rows, cnt, clients[i].pid))
            rows[cnt++] = clients[i];
    return cnt;
}

/* *cnt rows, borrowed until the next call; NULL, or why there are none. */
static const char *load_processes(nvml_device *handle, const nvml_process **out,
                                  unsigned int *out_cnt) {
    static nvml_process rows[2 * PROCESS_MAX]; /* one thread at a time, see counters.h */
    unsigned int cnt = PROCESS_MAX;
    if (!nvml.get_processes)
        return "the driver is too old to list processes with their memory";
    int code = nvml.get_processes(handle, &cnt, rows);
    if (code != NVML_SUCCESS)
        return code == NVML_INSUFFICIENT_SIZE ? "too many processes on the card to list"
                                              : "the driver refused to list the processes";
    *out = rows;
    *out_cnt = add_mps_processes(handle, rows, cnt);
    return NULL;
}

static void read_processes(nvml_device *handle, sl_device_sample *sample) {
    const nvml_process *rows;
    unsigned int cnt;
    sample->process_why = load_processes(handle, &rows, &cnt);
    if (!sample->process_why)
        sum_processes(rows, cnt, sample);
}

static sl_status list_processes(int device, sl_device_process *rows, size_t cap, size_t *cnt,
                                sl_error *err) {
    const nvml_process *found;
    unsigned int found_cnt;
    *cnt = 0;
    if (device < 0 || device >= handle_cnt)
        return sl_fail(err, SL_E_DEVICE, "there is no device %d; NVML lists %d", device,
                       handle_cnt);
    const char *why = load_processes(handles[device], &found, &found_cnt);
    if (why)
        return sl_fail(err, SL_E_DEVICE, "%s", why);
    for (unsigned int i = 0; i < found_cnt && *cnt < cap; i++)
        rows[(*cnt)++] = (sl_device_process){
            (int)found[i].pid, {found[i].used_bytes, found[i].used_bytes != UINT64_MAX}};
    return SL_OK;
}

static void read_memory(nvml_device *handle, sl_device_sample *sample) {
    nvml_memory memory;
    nvml_memory_v2 parts = {.version = NVML_MEMORY_V2};
    if (nvml.get_memory(handle, &memory) == NVML_SUCCESS) {
        sample->used_bytes = sl_known_u64(memory.used);
        sample->total_bytes = sl_known_u64(memory.total);
    }
    if (nvml.get_memory_v2 && nvml.get_memory_v2(handle, &parts) == NVML_SUCCESS)
        sample->reserved_bytes = sl_known_u64(parts.reserved);
}

static sl_status read_device(int device, sl_device_sample *sample, sl_error *err) {
    nvml_utilization utilization;
    unsigned int value;
    *sample = (sl_device_sample){0};
    if (device < 0 || device >= handle_cnt)
        return sl_fail(err, SL_E_DEVICE, "there is no device %d; NVML lists %d", device,
                       handle_cnt);
    nvml_device *handle = handles[device];
    read_memory(handle, sample);
    read_processes(handle, sample);
    if (nvml.get_utilization && nvml.get_utilization(handle, &utilization) == NVML_SUCCESS)
        sample->utilization_pct = sl_known_u64(utilization.gpu);
    if (nvml.get_temperature &&
        nvml.get_temperature(handle, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        sample->temperature_c = sl_known_u64(value);
    if (nvml.get_power && nvml.get_power(handle, &value) == NVML_SUCCESS)
        sample->power_mw = sl_known_u64(value);
    return SL_OK;
}

const sl_counters_ops sl_counters_nvml = {
    .name = "nvml",
    .load = load_nvml,
    .open = open_nvml,
    .count = count_devices,
    .read = read_device,
    .close = close_nvml,
    .set_own = set_own,
    .list = list_processes,
};
