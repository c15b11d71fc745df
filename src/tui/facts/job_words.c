/* SPDX-License-Identifier: MIT */
#include "tui/facts/job_words.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/sl_base.h"
#include "base/text/term.h"

/* Bytes of an environment that are read: the variables of a scheduler come early enough in it. */
#define FILE_CAP 65536

/* What precedes the name in a control group, the most telling ones first. A name ends at "/", "." or the end of
 * the line, and is cut. */
static const struct {
    const char *mark, *shown;
    int name_max;
    bool is_hex;
} groups[] = {
    {"/job_", "slurm", 20, false},
    {"-pod", "pod", 8, true},
    {"/pod", "pod", 8, true},
    {"docker-", "docker", 12, true},
    {"/docker/", "docker", 12, true},
    {"libpod-", "podman", 12, true},
    {"cri-containerd-", "container", 12, true},
    {"crio-", "container", 12, true},
    {"/lxc/", "lxc", 32, false},
    {"/session-", "session", 12, false},
};

static const struct {
    const char *name, *shown;
} variables[] = {
    {"SLURM_JOB_ID=", "slurm"},
    {"PBS_JOBID=", "pbs"},
    {"LSB_JOBID=", "lsf"},
    {"FLUX_JOB_ID=", "flux"},
};

const char *sl_job_of_cgroup(char job[SL_JOB_CAP], const char *text) {
    job[0] = '\0';
    for (size_t i = 0; i < SL_COUNT_OF(groups); i++) {
        const char *at = strstr(text, groups[i].mark);
        if (!at)
            continue;
        at += strlen(groups[i].mark);
        int len = (int)strcspn(at, "/.\n");
        if (len == 0 || (groups[i].is_hex && strspn(at, "0123456789abcdef") < 4))
            continue;
        snprintf(job, SL_JOB_CAP, "%s %.*s", groups[i].shown,
                 len < groups[i].name_max ? len : groups[i].name_max, at);
        break;
    }
    return job;
}

/* The value of a variable; NULL when it is not set. */
static const char *find_variable(const char *text, size_t len, const char *name) {
    size_t name_len = strlen(name);
    for (const char *at = text; at < text + len; at += strlen(at) + 1)
        if (strncmp(at, name, name_len) == 0)
            return at + name_len;
    return NULL;
}

const char *sl_job_of_environment(char job[SL_JOB_CAP], const char *text, size_t len) {
    job[0] = '\0';
    for (size_t i = 0; i < SL_COUNT_OF(variables) && !*job; i++) {
        const char *value = find_variable(text, len, variables[i].name);
        if (value && *value)
            snprintf(job, SL_JOB_CAP, "%s %.40s", variables[i].shown, value);
    }
    return job;
}

/* Terminated; 0 when it may not be read. */
static size_t read_proc(int pid, const char *name, char text[FILE_CAP]) {
    char path[64];
    size_t used = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t cnt;
         fd >= 0 && used + 1 < FILE_CAP && (cnt = read(fd, text + used, FILE_CAP - 1 - used)) > 0;)
        used += (size_t)cnt;
    if (fd >= 0)
        close(fd);
    text[used] = '\0';
    return used;
}

/* Whether the process has a host name of its own: then it is in a container. */
static bool has_own_host(int pid) {
    char path[64], own[64] = "", other[64] = "";
    snprintf(path, sizeof path, "/proc/%d/ns/uts", pid);
    bool is_known = readlink("/proc/self/ns/uts", own, sizeof own - 1) > 0 &&
                    readlink(path, other, sizeof other - 1) > 0;
    return is_known && strcmp(own, other) != 0;
}

const char *sl_job_of_process(char job[SL_JOB_CAP], int pid) {
    static char text[FILE_CAP]; /* the main thread alone asks */
    char group[SL_JOB_CAP] = "";
    const char *host = NULL;
    if (read_proc(pid, "cgroup", text))
        sl_job_of_cgroup(group, text);
    size_t len = read_proc(pid, "environ", text);
    sl_job_of_environment(job, text, len);
    if (!*job)
        memcpy(job, group, SL_JOB_CAP);
    if (len && has_own_host(pid))
        host = find_variable(text, len, "HOSTNAME=");
    size_t used = strlen(job);
    if (host && *host)
        snprintf(job + used, SL_JOB_CAP - used, "%s@%s", used ? " " : "", host);
    sl_term_clean(job);
    return job;
}
