/* SPDX-License-Identifier: MIT */
#include "cli/commands/system_info.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/counters.h"

#define PATH_CAP 1024

/* "python3" on PATH, as found (a virtual environment's) and resolved; false when there is none. */
static bool find_python(char found[PATH_CAP], char real[PATH_CAP]) {
    const char *path = getenv("PATH");
    while (path && *path) {
        char candidate[PATH_CAP], *resolved;
        size_t len = strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s/python3", (int)len, path);
        if (access(candidate, X_OK) == 0 && (resolved = realpath(candidate, NULL)) != NULL) {
            snprintf(found, PATH_CAP, "%s", candidate);
            snprintf(real, PATH_CAP, "%s", resolved);
            free(resolved);
            return true;
        }
        path += len + (path[len] == ':');
    }
    return false;
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

/* Looks where Debian, pip and virtual environments put packages. */
static void find_torch(sl_system_info *info, const char *python) {
    static const char *const places[] = {"lib/python%s/site-packages", "lib/python%s/dist-packages",
                                         "local/lib/python%s/dist-packages",
                                         "lib/python3/dist-packages"};
    char prefix[PATH_CAP], *cut;
    snprintf(prefix, sizeof prefix, "%s", python);
    for (int i = 0; i < 2; i++)
        if ((cut = strrchr(prefix, '/')) != NULL)
            *cut = '\0';
    for (size_t i = 0; i < SL_COUNT_OF(places) && !info->has_torch; i++) {
        char folder[64], file[PATH_CAP + 96];
        const char *version = strstr(places[i], "%s");
        if (version)
            snprintf(folder, sizeof folder, "%.*s%s%s", (int)(version - places[i]), places[i],
                     info->python_version, version + 2);
        else
            snprintf(folder, sizeof folder, "%s", places[i]);
        snprintf(file, sizeof file, "%s/%s/torch/version.py", prefix, folder);
        info->has_torch = access(file, R_OK) == 0;
        if (info->has_torch)
            read_version(file, info->torch_version);
    }
}

/* An interpreter that is called "python3" alone: its library folder has the number. */
static void find_minor(sl_system_info *info, const char *python) {
    char folder[PATH_CAP], *cut;
    snprintf(folder, sizeof folder, "%s", python);
    for (int i = 0; i < 2; i++)
        if ((cut = strrchr(folder, '/')) != NULL)
            *cut = '\0';
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/lib");
    DIR *dir = opendir(folder);
    int best = -1;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (strncmp(entry->d_name, "python3.", 8) == 0 && atoi(entry->d_name + 8) > best)
            best = atoi(entry->d_name + 8);
    if (dir)
        closedir(dir);
    if (best >= 0)
        snprintf(info->python_version, sizeof info->python_version, "3.%d", best);
}

static void read_python(sl_system_info *info) {
    char found[PATH_CAP], python[PATH_CAP];
    if (!find_python(found, python))
        return;
    const char *name = strstr(strrchr(python, '/'), "python");
    snprintf(info->python_version, sizeof info->python_version, "%.15s",
             name ? name + strlen("python") : "");
    if (!strchr(info->python_version, '.'))
        find_minor(info, python);
    find_torch(info, found);
    if (!info->has_torch)
        find_torch(info, python);
}

static void read_cards(sl_system_info *info) {
    const sl_counters_ops *ops = sl_counters_open(NULL);
    info->device_cnt = ops ? ops->count() : 0;
    info->has_cuda = info->device_cnt > 0;
    if (ops)
        ops->close();
}

/* Distinct pairs of socket and core; the logical count where the kernel does not tell. */
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

void sl_system_info_read(sl_system_info *info) {
    sl_host_sample host;
    *info = (sl_system_info){0};
    sl_machine_read(&info->machine);
    read_python(info);
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
