/* SPDX-License-Identifier: MIT */
/* Which job or container a process belongs to, from what /proc shows without special rights: its control group,
 * and for processes of the same user its environment. */
#ifndef SL_JOB_WORDS_H
#define SL_JOB_WORDS_H

#include <stddef.h>

#define SL_JOB_CAP 64

/* "slurm 4711", "docker 0123456789ab", "pod 1a2b3c4d", "session 5"; "" when nothing is known. A container's own
 * host name is added, as "@name", where the environment shows it. Returns job. */
const char *sl_job_of_process(char job[SL_JOB_CAP], int pid);

/* The same from the contents of /proc/PID/cgroup. */
const char *sl_job_of_cgroup(char job[SL_JOB_CAP], const char *text);
/* The same from those of /proc/PID/environ. */
const char *sl_job_of_environment(char job[SL_JOB_CAP], const char *text, size_t len);

#endif
