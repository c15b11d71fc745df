/* SPDX-License-Identifier: MIT */
#include "cli/core/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/cpus.h"

static sl_maybe_u64 total_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0)
        return (sl_maybe_u64){0};
    return sl_known_u64((uint64_t)pages * (uint64_t)page_bytes);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug …": the first word that
 * starts with a digit and holds a dot. */
static void read_nvidia_version(char version[64]) {
    char line[256], *rest = line;
    FILE *file = fopen("/proc/driver/nvidia/version", "re");
    version[0] = '\0';
    if (!file)
        return;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    snprintf(version, 64, "version not understood");
    for (char *word; (word = strsep(&rest, " \t\n")) != NULL;) {
        if (*word >= '0' && *word <= '9' && strchr(word, '.')) {
            snprintf(version, 64, "%.63s", word);
            return;
        }
    }
}

static size_t count_nvidia_devices(void) {
    size_t cnt = 0;
    DIR *dir = opendir("/proc/driver/nvidia/gpus");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        cnt += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return cnt;
}

void sl_machine_read(sl_machine *machine) {
    struct utsname name;
    *machine = (sl_machine){.cpus = (long)sl_usable_cpus(), .memory_bytes = total_memory()};
    if (uname(&name) == 0) {
        snprintf(machine->system, sizeof machine->system, "%s", name.sysname);
        snprintf(machine->kernel, sizeof machine->kernel, "%s", name.release);
        snprintf(machine->arch, sizeof machine->arch, "%s", name.machine);
    }
    read_nvidia_version(machine->nvidia_version);
    machine->nvidia_devices = count_nvidia_devices();
}
