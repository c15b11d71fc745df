/* SPDX-License-Identifier: MIT */
/* Time to out of memory, for the newest point of a recording. It reads whole curves and every step, so it is asked
 * twice a minute, of a few recordings at a time, through a reader of its own whose memory goes away again. */
#include "agent/agent_impl.h"
#include "api/live/live_forecast.h"
#include "base/core/order.h"

#define EVERY_MS 30000

static sl_status read_devices(sl_agent_rank *rank, sl_log_reader *reader,
                              const sl_log_counters *counters, sl_error *err) {
    for (size_t i = 0; i < rank->subjects.cnt; i++) {
        sl_agent_subject *subject = &rank->subjects.at[i];
        sl_live_forecast live;
        if (subject->is_process)
            continue;
        SL_TRY(sl_live_forecast_read(reader, counters, NULL, subject->device, &live, err));
        subject->oom_seconds =
            (sl_maybe_f64){live.forecast.seconds.value, live.forecast.is_expected};
    }
    return SL_OK;
}

static sl_status read_forecast(sl_agent_rank *rank, sl_error *err) {
    sl_log_reader *reader;
    sl_log_counters counters = {0};
    SL_TRY(sl_log_open(rank->path, &reader, err));
    sl_status status = sl_log_load_names(reader, err);
    if (status >= 0)
        status = sl_log_load_counters(reader, &counters, err);
    if (status >= 0)
        status = read_devices(rank, reader, &counters, err);
    sl_vec_free(&counters);
    sl_log_reader_close(reader);
    return status;
}

static void forget(sl_agent_rank *rank) {
    for (size_t i = 0; i < rank->subjects.cnt; i++)
        rank->subjects.at[i].oom_seconds = (sl_maybe_f64){0};
}

/* A forecast that cannot be made is none. */
void sl__agent_forecast(sl_agent *agent) {
    int64_t now_ms = sl__agent_mono_ms();
    size_t most = 1 + agent->members.cnt * (size_t)agent->options->scan_ms / EVERY_MS;
    for (size_t i = 0; i < agent->members.cnt && most; i++) {
        sl_agent_member *member = agent->members.at[i];
        sl_error err = SL_ERROR_INIT;
        if (member->forecast_ms > now_ms || member->is_broken)
            continue;
        member->forecast_ms = now_ms + EVERY_MS;
        most--;
        if (member->rank->has_ended || read_forecast(member->rank, &err) < 0)
            forget(member->rank);
    }
}
