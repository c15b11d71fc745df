/* SPDX-License-Identifier: MIT */
#include "cli/top/top_process.h"

#include <stdio.h>
#include <stdlib.h>

#include "read/slog/slog_process.h"

static sl_status read_process(sl_top_process *process, sl_error *err) {
    sl_log_reader *reader;
    sl_status status = sl_log_open(process->path, &reader, err);
    if (status < 0)
        return status;
    status = sl_log_load_names(reader, err);
    if (status >= 0)
        status = sl_slog_load_process(reader, process->trace, err);
    sl_log_reader_close(reader);
    return status;
}

static sl_status read_all(sl_top_process *processes, char *const *paths, size_t cnt,
                          sl_error *err) {
    for (size_t i = 0; i < cnt; i++) {
        sl_error own;
        processes[i].path = paths[i];
        processes[i].trace = sl_trace_new(paths[i], SL_SOURCE_SLOG);
        if (!processes[i].trace || read_process(&processes[i], &own) == SL_E_NOMEM)
            return sl_fail_no_memory(err, "the processes");
    }
    return SL_OK;
}

static sl_status place_all(sl_top_process *processes, size_t cnt, sl_error *err) {
    const sl_trace **traces = calloc(cnt, sizeof *traces);
    sl_process_place *places = calloc(cnt, sizeof *places);
    bool is_done = traces && places;
    for (size_t i = 0; is_done && i < cnt; i++)
        traces[i] = processes[i].trace;
    if (is_done)
        sl_process_tree_find(traces, cnt, places);
    for (size_t i = 0; is_done && i < cnt; i++)
        processes[i].place = places[i];
    free(traces);
    free(places);
    return is_done ? SL_OK : sl_fail_no_memory(err, "the processes");
}

sl_status sl_top_processes_find(char *const *paths, size_t cnt, sl_top_process **out,
                                sl_error *err) {
    sl_top_process *processes = calloc(cnt + 1, sizeof *processes);
    sl_status status =
        processes ? read_all(processes, paths, cnt, err) : sl_fail_no_memory(err, "the processes");
    if (status == SL_OK && cnt > 0)
        status = place_all(processes, cnt, err);
    if (status == SL_OK)
        *out = processes;
    else
        sl_top_processes_free(processes, cnt);
    return status;
}

void sl_top_processes_free(sl_top_process *processes, size_t cnt) {
    for (size_t i = 0; processes && i < cnt; i++)
        sl_trace_free(processes[i].trace);
    free(processes);
}

const char *sl_top_process_words(char buf[SL_TOP_ROLE_CAP], const sl_top_process *process,
                                 uint32_t pid) {
    const sl_process *own = &process->trace->process;
    const char *role = sl_process_role_words(process->place.role, 1);
    if (!own->is_known)
        snprintf(buf, SL_TOP_ROLE_CAP, "process %u", pid);
    else if (process->place.role == SL_PROCESS_RANK)
        snprintf(buf, SL_TOP_ROLE_CAP, "%s %d, process %u", role, (int)own->rank.value, pid);
    else if (own->rank.known)
        snprintf(buf, SL_TOP_ROLE_CAP, "%s %u of rank %d", role, pid, (int)own->rank.value);
    else
        snprintf(buf, SL_TOP_ROLE_CAP, "%s %u", role, pid);
    return buf;
}
