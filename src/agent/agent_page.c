/* SPDX-License-Identifier: MIT */
/* The page of /metrics: the newest figures of every recording, peaks since the same client asked last, and how the
 * agent itself is. */
#include <inttypes.h>
#include <string.h>

#include "agent/agent_impl.h"

typedef SL_VEC(sl_agent_points) all_points;

/* The place of a client; the one that was not seen for longest makes room. */
static size_t find_client(sl_agent *agent, const char *client) {
    for (size_t i = 0; i < SL_AGENT_CLIENTS_MAX; i++)
        if (strcmp(agent->clients[i], client) == 0)
            return i;
    size_t taken = agent->next_client++ % SL_AGENT_CLIENTS_MAX;
    snprintf(agent->clients[taken], sizeof agent->clients[taken], "%s", client);
    for (size_t i = 0; i < agent->members.cnt; i++)
        agent->members.at[i]->clients[taken].at_ms = 0;
    return taken;
}

/* A client that is new sees peaks since one interval ago, not since the beginning. */
static sl_status read_member(const sl_agent *agent, sl_agent_member *member, size_t client,
                             sl_agent_points *points, sl_error *err) {
    sl_agent_walk *walk = &member->clients[client];
    SL_TRY(sl_agent_rank_refresh(member->rank, err));
    if (walk->at_ms == 0)
        walk->at_ms = sl_agent_rank_newest_ms(member->rank) - agent->options->interval_ms;
    SL_TRY(sl_agent_rank_now(member->rank, walk, points, err));
    walk->at_ms = points->next_ms;
    return SL_OK;
}

static bool read_members(sl_agent *agent, size_t client, all_points *all) {
    for (size_t i = 0; i < agent->members.cnt; i++) {
        sl_agent_points points = {0};
        sl_error err = SL_ERROR_INIT;
        if (!agent->members.at[i]->is_broken && !sl__agent_is_worker(agent, agent->members.at[i]) &&
            read_member(agent, agent->members.at[i], client, &points, &err) < 0)
            points.cnt = 0; /* the next look says what is wrong with it */
        if (!sl_vec_push(all, points)) {
            sl_agent_points_fini(&points);
            return false;
        }
    }
    return true;
}

static void write_series(const sl_agent *agent, const all_points *all, sl_agent_series series,
                         FILE *to) {
    sl_agent_text_family(to, series);
    for (size_t i = 0; i < all->cnt; i++)
        for (size_t s = 0; all->at[i].cnt && s < all->at[i].subject_cnt; s++) {
            const sl_agent_rank *rank = agent->members.at[i]->rank;
            sl_maybe_f64 value = sl_agent_point_values(&all->at[i], 0, s)[series];
            if (value.known)
                sl_agent_text_sample(to, series,
                                     series == SL_AGENT_INFO ? &rank->info
                                                             : &rank->subjects.at[s].labels,
                                     value.value, 0);
        }
}

/* name, type, help, value. */
#define SINK_FAMILIES(X)                                                                        \
    X("pushed_samples_total", "counter", "Samples that the sink has taken.", sink->sample_cnt)  \
    X("refused_samples_total", "counter", "Samples that the sink will never take.",             \
      sink->refused_cnt)                                                                        \
    X("requests_total", "counter", "Requests sent.", sink->request_cnt)                         \
    X("retries_total", "counter", "Requests that failed and are tried again.", sink->retry_cnt) \
    X("sent_bytes_total", "counter", "Bytes sent, with headers.", sink->sent_bytes)             \
    X("last_success_seconds", "gauge", "When the sink last took something, since 1970.",        \
      (uint64_t)sink->success_ms / 1000)

static void write_sinks(const sl_agent *agent, FILE *to) {
#define WRITE(name, type, help, value)                                                        \
    if (agent->options->sink_cnt)                                                             \
        fprintf(to, "# HELP stormlog_agent_%s %s\n# TYPE stormlog_agent_%s %s\n", name, help, \
                name, type);                                                                  \
    for (size_t i = 0; i < agent->options->sink_cnt; i++) {                                   \
        const sl_agent_sink *sink = &agent->sinks[i];                                         \
        if (strcmp(type, "gauge") == 0 && (value) == 0) /* it has not happened yet */         \
            continue;                                                                         \
        fprintf(to, "stormlog_agent_%s{sink=\"%zu\",form=\"%s\"} %" PRIu64 "\n", name, i,     \
                sl_agent_form_name(sink->options.form), (uint64_t)(value));                   \
    }
    SINK_FAMILIES(WRITE)
#undef WRITE
}

static void write_agent(const sl_agent *agent, FILE *to) {
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } rows[] = {
        {"recordings", "gauge", "Recordings that are open.", agent->members.cnt},
        {"unreadable_total", "counter", "Recordings that could not be read.",
         agent->unreadable_cnt},
        {"cursor_failures_total", "counter", "Times the cursors could not be written.",
         agent->save_failure_cnt},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        fprintf(
            to,
            "# HELP stormlog_agent_%s %s\n# TYPE stormlog_agent_%s %s\nstormlog_agent_%s %" PRIu64
            "\n",
            rows[i].name, rows[i].help, rows[i].name, rows[i].type, rows[i].name, rows[i].value);
    write_sinks(agent, to);
}

sl_status sl__agent_write_page(void *self, const char *client, FILE *to, sl_error *err) {
    sl_agent *agent = self;
    all_points all = {0};
    pthread_mutex_lock(&agent->mutex);
    bool has_room = read_members(agent, find_client(agent, client), &all);
    for (int series = 0; has_room && series < SL_AGENT_SERIES_CNT; series++)
        write_series(agent, &all, (sl_agent_series)series, to);
    write_agent(agent, to);
    pthread_mutex_unlock(&agent->mutex);
    for (size_t i = 0; i < all.cnt; i++)
        sl_agent_points_fini(&all.at[i]);
    sl_vec_free(&all);
    return has_room ? SL_OK : sl_fail_no_memory(err, "the metrics");
}
