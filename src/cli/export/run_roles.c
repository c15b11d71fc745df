/* SPDX-License-Identifier: MIT */
#include "cli/export/run_roles.h"

#include <stdlib.h>

#include "read/slog/slog_process.h"

/* A trace with a process and nothing else. A file that cannot be opened stays without one: whoever
 * loads it will say why. */
static sl_trace *peek(const char *path) {
    sl_trace *trace = sl_trace_new(path, SL_SOURCE_SLOG);
    sl_log_reader *log;
    if (!trace || sl_log_open(path, &log, NULL) < 0)
        return trace;
    if (sl_log_load_names(log, NULL) < 0 || sl_slog_load_process(log, trace, NULL) < 0)
        trace->process = (sl_process){0};
    sl_log_reader_close(log);
    return trace;
}

sl_status sl_run_roles_find(const sl_recordings *list, sl_process_place *places, sl_error *err) {
    size_t cnt = list->paths.cnt, made = 0;
    sl_trace **traces = calloc(cnt + 1, sizeof(sl_trace *));
    while (traces && made < cnt && (traces[made] = peek(list->paths.at[made])) != NULL)
        made++;
    bool is_done = traces && made == cnt;
    if (is_done)
        sl_process_tree_find((const sl_trace *const *)traces, cnt, places);
    for (size_t i = 0; i < made; i++)
        sl_trace_free(traces[i]);
    free(traces);
    return is_done ? SL_OK : sl_fail_no_memory(err, "the processes of the run");
}
