/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "base/core/clock.h"
#include "base/core/order.h"
#include "net/http_server.h"

/* A request under way at the end is waited for this long; its cursor stays where it is if it takes longer. */
#define END_S          3
#define PAGES_EVERY_MS 10000
#define ONCE_WAIT_MS   1000

int64_t sl__agent_mono_ms(void) {
    return (int64_t)(sl_clock_mono_ns() / 1000000);
}

int64_t sl__agent_wall_ms(void) {
    return (int64_t)(sl_clock_ns(CLOCK_REALTIME) / 1000000);
}

void sl__agent_say(sl_agent *agent, const char *fmt, ...) {
    char text[SL_ERROR_TEXT_CAP + 256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    agent->options->say(agent->options->self, text);
}

void sl__agent_save(sl_agent *agent) {
    sl_error err = SL_ERROR_INIT;
    char *text = NULL;
    size_t len = 0;
    pthread_mutex_lock(&agent->save_mutex);
    pthread_mutex_lock(&agent->mutex);
    sl_status status = sl_agent_state_print(&agent->state, &text, &len, &err);
    pthread_mutex_unlock(&agent->mutex);
    if (status == SL_OK)
        status = sl_agent_state_write(agent->options->state_folder, text, len, &err);
    free(text);
    if (status < 0) {
        pthread_mutex_lock(&agent->mutex);
        if (agent->save_failure_cnt++ == 0)
            sl__agent_say(agent, "cannot keep the cursors: %s; after a restart data is sent again",
                          err.text);
        pthread_mutex_unlock(&agent->mutex);
    }
    pthread_mutex_unlock(&agent->save_mutex);
}

/* ---- waiting ---- */

/* Until the time has passed or the agent ends; true when it ends. */
static bool wait_for(sl_agent *agent, int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&agent->mutex);
    while (!agent->is_stopping &&
           pthread_cond_timedwait(&agent->wake, &agent->mutex, &until) != ETIMEDOUT)
        continue;
    bool is_stopping = agent->is_stopping;
    pthread_mutex_unlock(&agent->mutex);
    return is_stopping;
}

/* With --once it ends when everything was sent, and does not wait for more. */
static void *run_sink(void *self) {
    sl_agent_sink *sink = self;
    bool is_once = sink->agent->options->is_once;
    int64_t wait;
    do {
        wait = sl__agent_push(sink);
        if (is_once && sink->is_idle)
            return NULL;
        if (is_once)
            wait = sink->failures ? sl_min_i64(wait, ONCE_WAIT_MS) : 0;
    } while (!wait_for(sink->agent, wait));
    return NULL;
}

static void *run_profiler(void *self) {
    sl_agent *agent = self;
    uint64_t round = 0;
    do
        sl__agent_profile_round(agent, ++round);
    while (!wait_for(agent, sl__agent_profile_wait_ms(agent)));
    return NULL;
}

/* ---- the loop ---- */

static sl_status look_again(sl_agent *agent, sl_error *err) {
    SL_TRY(sl__agent_look(agent, err));
    pthread_mutex_lock(&agent->mutex);
    sl__agent_forecast(agent);
    sl_agent_state_prune(&agent->state, sl__agent_wall_ms());
    pthread_mutex_unlock(&agent->mutex);
    return SL_OK;
}

/* A folder that is gone for a while is said once, and looked for again. */
static void loop(sl_agent *agent) {
    int64_t pages_ms = sl__agent_mono_ms(); /* after the first round, when everything is loaded */
    bool is_said = false;
    while (!*agent->stop) {
        sl_error err = SL_ERROR_INIT;
        sl_status status = look_again(agent, &err);
        if (status < 0 && !is_said)
            sl__agent_say(agent, "%s", err.text);
        is_said = status < 0;
        for (int64_t end = sl__agent_mono_ms() + agent->options->scan_ms;
             !*agent->stop && sl__agent_mono_ms() < end;)
            wait_for(agent, 100);
        if (sl__agent_mono_ms() >= pages_ms) {
            sl__agent_release_pages();
            pages_ms = sl__agent_mono_ms() + PAGES_EVERY_MS;
        }
    }
}

static sl_status start_sinks(sl_agent *agent, sl_error *err) {
    for (size_t i = 0; i < agent->options->sink_cnt; i++) {
        sl_agent_sink *sink = &agent->sinks[i];
        if (pthread_create(&sink->thread, NULL, run_sink, sink) != 0)
            return sl_fail(err, SL_E_SYSTEM, "cannot start a thread for a sink");
        sink->is_started = true;
    }
    bool needs_profiler = agent->options->profile_ms && !agent->options->is_once;
    agent->has_profiler =
        needs_profiler && pthread_create(&agent->profiler, NULL, run_profiler, agent) == 0;
    if (needs_profiler && !agent->has_profiler)
        return sl_fail(err, SL_E_SYSTEM, "cannot start a thread for profiles");
    return SL_OK;
}

/* True when every thread has ended, so that what they use may be freed. */
static bool stop_sinks(sl_agent *agent) {
    struct timespec until;
    bool is_ended = true;
    pthread_mutex_lock(&agent->mutex);
    agent->is_stopping = true;
    pthread_cond_broadcast(&agent->wake);
    pthread_mutex_unlock(&agent->mutex);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    for (size_t i = 0; i < agent->options->sink_cnt; i++)
        if (agent->sinks[i].is_started)
            is_ended &= pthread_timedjoin_np(agent->sinks[i].thread, NULL, &until) == 0;
    if (agent->has_profiler)
        is_ended &= pthread_timedjoin_np(agent->profiler, NULL, &until) == 0;
    return is_ended;
}

/* ---- once ---- */

/* The first sink that has not got everything; NULL. */
static const sl_agent_sink *find_unsent(const sl_agent *agent) {
    for (size_t i = 0; i < agent->options->sink_cnt; i++)
        if (!agent->sinks[i].is_idle)
            return &agent->sinks[i];
    return NULL;
}

static bool is_all_sent(sl_agent *agent) {
    pthread_mutex_lock(&agent->mutex);
    bool is_all = !find_unsent(agent);
    pthread_mutex_unlock(&agent->mutex);
    return is_all;
}

static sl_status say_unsent(sl_agent *agent, sl_error *err) {
    char when[64];
    sl_status status = SL_OK;
    snprintf(when, sizeof when, "within %lld s", (long long)(agent->options->once_ms / 1000));
    if (*agent->stop)
        snprintf(when, sizeof when, "before a signal stopped it");
    pthread_mutex_lock(&agent->mutex);
    const sl_agent_sink *sink = find_unsent(agent);
    if (sink)
        status = sl_fail(err, SL_E_NETWORK, "not everything was sent %s: %s%s", when,
                         sink->last_error[0] ? "" : "too slow: ",
                         sink->last_error[0] ? sink->last_error : sink->options.url);
    pthread_mutex_unlock(&agent->mutex);
    return status;
}

/* The sinks at the same time: one that is down must not keep the data of the job from the others. */
static sl_status send_once(sl_agent *agent, bool *is_ended, sl_error *err) {
    int64_t end_ms = sl__agent_mono_ms() + agent->options->once_ms;
    sl_status status = start_sinks(agent, err);
    while (status == SL_OK && !*agent->stop && sl__agent_mono_ms() < end_ms && !is_all_sent(agent))
        wait_for(agent, 50);
    if (status == SL_OK && agent->options->profile_ms)
        sl__agent_profile_round(agent, 1);
    *is_ended = stop_sinks(agent);
    if (status == SL_OK && agent->options->profile_ms && !sl__agent_is_profiled(agent))
        return sl_fail(err, SL_E_NETWORK, "not all profiles were sent");
    return status == SL_OK ? say_unsent(agent, err) : status;
}

static sl_status serve(sl_agent *agent, sl_http_server **server, sl_error *err) {
    const sl_agent_options *o = agent->options;
    sl_http_server_options options = {.listen = o->listen,
                                      .bearer_token = o->listen_token,
                                      .tls_cert_file = o->tls_cert_file,
                                      .tls_key_file = o->tls_key_file,
                                      .path = "/metrics",
                                      .content_type = "text/plain; version=0.0.4; charset=utf-8",
                                      .page = sl__agent_write_page,
                                      .self = agent};
    SL_TRY(sl_http_server_start(&options, server, err));
    if (o->ready)
        o->ready(o->self, sl_http_server_port(*server));
    return SL_OK;
}

static sl_status run_opened(sl_agent *agent, bool *is_ended, sl_error *err) {
    sl_http_server *server = NULL;
    SL_TRY(sl__agent_look(agent, err));
    if (agent->options->is_once)
        return send_once(agent, is_ended, err);
    sl_status status = agent->options->listen ? serve(agent, &server, err) : SL_OK;
    if (status == SL_OK)
        status = start_sinks(agent, err);
    if (status == SL_OK)
        loop(agent);
    *is_ended = stop_sinks(agent);
    sl_http_server_stop(server);
    return status;
}

static sl_status open_all(sl_agent *agent, sl_error *err) {
    SL_TRY(sl_agent_state_lock(agent->options->state_folder, &agent->lock_fd, err));
    SL_TRY(sl_agent_state_load(&agent->state, agent->options->state_folder, err));
    for (size_t i = 0; i < agent->options->sink_cnt; i++)
        SL_TRY(sl__agent_sink_open(agent, i, err));
    return SL_OK;
}

static void close_all(sl_agent *agent) {
    for (size_t i = 0; i < agent->options->sink_cnt; i++)
        sl__agent_sink_close(&agent->sinks[i]);
    sl__agent_close_members(agent);
    sl_agent_state_fini(&agent->state);
    sl_agent_scan_fini(&agent->scan);
    if (agent->lock_fd >= 0)
        close(agent->lock_fd);
    free(agent);
}

static sl_agent *new_agent(const sl_agent_options *options, const sl_stop_flag *stop) {
    pthread_condattr_t attr;
    sl_agent *agent = calloc(1, sizeof *agent);
    if (!agent)
        return NULL;
    agent->options = options;
    agent->stop = stop;
    agent->lock_fd = -1;
    pthread_mutex_init(&agent->mutex, NULL);
    pthread_mutex_init(&agent->save_mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr,
                              CLOCK_MONOTONIC); /* a wall clock that is set must not stop it */
    pthread_cond_init(&agent->wake, &attr);
    pthread_condattr_destroy(&attr);
    return agent;
}

sl_status sl_agent_run(const sl_agent_options *options, const sl_stop_flag *stop, sl_error *err) {
    sl_agent *agent = new_agent(options, stop);
    bool is_ended = true;
    if (!agent)
        return sl_fail_no_memory(err, "the agent");
    sl_status status = open_all(agent, err);
    if (status == SL_OK)
        status = run_opened(agent, &is_ended, err);
    if (is_ended)
        close_all(agent);
    return status;
}
