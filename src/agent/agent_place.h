/* SPDX-License-Identifier: MIT */
/* Where a recorded process runs, as labels: its number outside of its container, pod, namespace, container, and the
 * cards it sees, by the names that dcgm-exporter and OpenTelemetry use. Read from /proc once, when a recording is
 * found. What cannot be found out (another PID namespace, not permitted) is not there. */
#ifndef SL_AGENT_PLACE_H
#define SL_AGENT_PLACE_H

#include "agent/agent_labels.h"

/* The process that calls itself `pid` (in its own PID namespace) and has the file of this inode mapped. `proc` is
 * "/proc", in tests a copy of parts of it. Labels: pid, container_pid (where it differs), pod, namespace, container,
 * k8s_pod_uid, and for card N of the process "gpu:N" and "UUID:N". False when memory ran out. */
bool sl_agent_place_find(const char *proc, uint32_t pid, uint64_t inode, sl_agent_labels *place);

#endif
