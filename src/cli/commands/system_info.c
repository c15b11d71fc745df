/* SPDX-License-Identifier: MIT */
#include "cli/commands/system_info.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/str.h"
#include "cli/commands/ask_python.h"
#include "counters/counters.h"

#define PATH_CAP 1024

/* The program of a process, when it is a Python. */
static bool find_running(int pid, char found[PATH_CAP]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t len = readlink(link, found, PATH_CAP - 1);
    found[len > 0 ? len : 0] = '\0';
    return strstr(sl_base_name(found), "python") != NULL;
}

static bool find_on_path(const char *name, char found[PATH_CAP]) {
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t len = strcspn(path, ":");
        snprintf(found, PATH_CAP, "%.*s/%s", (int)len, path, name);
        if (access(found, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

/* The interpreter the user means: that of the process asked about, the one that called us, the first on
 * PATH (a virtual environment puts its own there). */
static bool find_python(int pid, char found[PATH_CAP]) {
    const char *caller = getenv(SL_PYTHON_ENV);
    if (pid > 0 && find_running(pid, found))
        return true;
    if (caller && *caller) {
        snprintf(found, PATH_CAP, "%s", caller);
        return true;
    }
    return find_on_path("python3", found) || find_on_path("python", found);
}

/* __version__ = '2.11.0': the text between the first pair of quotes. */
static void read_version(const char *file, char out[48]) {
    char line[256];
    FILE *in = fopen(file, "re");
    out[0] = '\0';
    while (in && !out[0] && fgets(line, sizeof line, in)) {
        char *open = strpbrk(line, "'\""), *close = open ? strchr(open + 1, *open) : NULL;
        if (strncmp(line, "__version__", 11) == 0 && close)
            snprintf(out, 48, "%.*s", (int)(close - open - 1), open + 1);
    }
    if (in)
        fclose(in);
}

static void read_python(sl_system_info *info, int pid) {
    char found[PATH_CAP], file[PATH_CAP + 32];
    sl_python_answer answer;
    if (!find_python(pid, found) || !sl_ask_python(found, &answer))
        return;
    snprintf(info->python_version, sizeof info->python_version, "%s", answer.version);
    info->has_torch = answer.torch[0] != '\0';
    if (!info->has_torch)
        return;
    char *slash = strrchr(answer.torch, '/');
    snprintf(file, sizeof file, "%.*s/version.py", slash ? (int)(slash - answer.torch) : 0,
             answer.torch);
    read_version(file, info->torch_version);
}

static void read_cards(sl_system_info *info) {
    const sl_counters_ops *ops = sl_counters_open(NULL);
    info->device_cnt = ops ? ops->count() : 0;
    info->has_cuda = info->device_cnt > 0;
    if (ops)
        ops->close();
}

/* Distinct pairs of socket and core; the logical count if the kernel does not report them. */
static long count_cores(long logical) {
    long cores = 0;
    DIR *dir = opendir("/sys/devices/system/cpu");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[320], line[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/%.200s/topology/thread_siblings_list",
                 entry->d_name);
        FILE *in = strncmp(entry->d_name, "cpu", 3) == 0 ? fopen(path, "re") : NULL;
        if (!in)
            continue;
        /* The first of a core's threads counts for the core. */
        if (fgets(line, sizeof line, in))
            cores += strtol(line, NULL, 10) == strtol(entry->d_name + 3, NULL, 10);
        fclose(in);
    }
    if (dir)
        closedir(dir);
    return cores > 0 ? cores : logical;
}

void sl_system_info_read(sl_system_info *info, int pid) {
    sl_host_sample host;
    *info = (sl_system_info){0};
    sl_machine_read(&info->machine);
    read_python(info, pid);
    read_cards(info);
    info->cpus_logical = sysconf(_SC_NPROCESSORS_ONLN);
    info->cpus_physical = count_cores(info->cpus_logical);
    sl_counters_read_host(&host);
    info->memory_available = host.available_bytes;
}

static void put_text(sl_json_out *json, const char *key, const char *text) {
    sl_json_key(json, key);
    sl_json_cstr(json, text && *text ? text : NULL);
}

static void put_bool(sl_json_out *json, const char *key, bool value) {
    sl_json_key(json, key);
    sl_json_bool(json, value);
}

static void put_int(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    sl_json_i64(json, value);
}

static void put_memory(sl_json_out *json, const sl_system_info *info) {
    sl_maybe_u64 total = info->machine.memory_bytes, available = info->memory_available;
    sl_json_key(json, "memory_total");
    sl_json_maybe_u64(json, total);
    sl_json_key(json, "memory_available");
    sl_json_maybe_u64(json, available);
    sl_json_key(json, "memory_percent");
    if (total.known && available.known && total.value > 0)
        sl_json_f64(json, (double)(int64_t)(1000.0 *
                                            (1.0 - (double)available.value / (double)total.value)) /
                              10.0);
    else
        sl_json_null(json);
}

void sl_system_info_json(sl_json_out *json, const sl_system_info *info) {
    sl_json_begin_object(json);
    put_text(json, "platform", info->machine.system);
    put_text(json, "architecture", info->machine.arch);
    put_text(json, "python_version", info->python_version);
    put_bool(json, "torch_available", info->has_torch);
    put_text(json, "torch_version", info->torch_version);
    put_bool(json, "cuda_available", info->has_cuda);
    put_bool(json, "rocm_available", false);
    put_text(json, "rocm_version", NULL);
    put_bool(json, "mps_available", false);
    put_bool(json, "mps_built", false);
    put_text(json, "detected_backend", info->has_cuda ? "cuda" : "cpu");
    if (info->has_cuda) {
        put_int(json, "cuda_device_count", info->device_cnt);
        put_text(json, "nvidia_driver", info->machine.nvidia_version);
        put_int(json, "current_device", 0);
    }
    put_int(json, "cpu_count", info->cpus_physical);
    put_int(json, "cpu_count_logical", info->cpus_logical);
    put_memory(json, info);
    sl_json_end_object(json);
}

char *sl_system_info_text(const sl_system_info *info) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    sl_json_out json;
    if (!to)
        return NULL;
    sl_json_init(&json, to, 0);
    sl_system_info_json(&json, info);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
