/* SPDX-License-Identifier: MIT */
#include "memprof/watch/watch_session.h"

#include <string.h>

double sl_watch_shown(const sl_watch *watch, int64_t bytes) {
    return (double)bytes / (watch->counters ? 1073741824.0 : 1048576.0);
}

const char *sl_watch_unit(const sl_watch *watch) {
    return watch->counters ? "GB" : "MB";
}

void sl_watch_print_own(const sl_watch_options *options) {
    if (!options->pid && !options->command)
        printf("Watching this process itself; --pid PID or -- CMD watch another one.\n");
}

/* Passes calls on to the caller's options, records after they were logged. */
typedef struct relay {
    sl_watch_session *session;
    const sl_watch_options *to;
} relay;

static void on_record(void *ctx, const sl_telemetry *set, const sl_tm_record *record) {
    const relay *r = ctx;
    sl_watch_log_put(&r->session->log, set, record);
    if (r->to->on_record)
        r->to->on_record(r->to->ctx, set, record);
}

static void on_second(void *ctx, const sl_watch *watch) {
    const relay *r = ctx;
    r->to->on_second(r->to->ctx, watch);
}

static int exit_code(const sl_watch *watch) {
    bool is_own_end = watch->options.command && watch->end == SL_WATCH_GONE;
    return is_own_end ? sl_watch_exit_code(watch) : 0;
}

int sl_watch_session_run(sl_watch_session *session, const char *output,
                         const sl_watch_options *options, sl_status (*finish)(void *, sl_error *),
                         sl_error *err) {
    relay r = {session, options};
    sl_watch_options own = *options;
    own.on_record = on_record;
    own.on_second = on_second;
    own.ctx = &r;
    SL_TRY(sl_watch_log_open(&session->log, output, err));
    int result = sl_watch_run(&session->watch, &own, err);
    if (result == SL_OK)
        result = finish(options->ctx, err);
    if (result == SL_OK)
        result = exit_code(&session->watch);
    if (session->watch.record_cnt == 0)
        sl_watch_log_close(&session->log);
    sl_watch_fini(&session->watch);
    return result;
}

sl_status sl_watch_session_save(sl_watch_session *session, const sl_opts *opts, sl_error *err) {
    bool is_json = strcmp(sl_opts_text(opts, "format"), "json") == 0;
    return sl_watch_log_finish(&session->log, is_json ? SL_TM_FORM_JSON : SL_TM_FORM_CSV, err);
}
