/* SPDX-License-Identifier: MIT */
/* What the files of the agent share. */
#ifndef SL_AGENT_IMPL_H
#define SL_AGENT_IMPL_H

#include <pthread.h>

#include "agent/agent.h"
#include "agent/agent_scan.h"
#include "agent/agent_state.h"
#include "net/http.h"
#include "net/http_retry.h"

#define SL_AGENT_CLIENTS_MAX 8

/* Up to where a recording has arrived at a sink. */
typedef struct sl_agent_progress {
    sl_agent_walk walk;
    int64_t older_ms, safe_ms; /* where it was one and two times resend_ms ago */
    bool is_done;
} sl_agent_progress;

/* A recording that is open. */
typedef struct sl_agent_member {
    sl_agent_rank *rank;    /* owned */
    uint64_t device, inode; /* of the file */
    sl_agent_progress sinks[SL_AGENT_SINKS_MAX];
    sl_agent_walk clients[SL_AGENT_CLIENTS_MAX]; /* of those who ask for /metrics */
    int64_t ended_ms;                            /* when its end was seen, monotonic; 0 = it runs */
    int64_t forecast_ms;                         /* when the next forecast is due, monotonic */
    int64_t profiled_us;                         /* intervals that begin before this are sent */
    uint64_t profile_round;                      /* when they were asked for last */
    bool is_profiled;                            /* all of them, of one that has ended */
    bool is_broken;                              /* it could not be read any more */
    bool has_parent;                             /* a process of the same rank started it */
    unsigned busy;                               /* requests under way that it is part of */
} sl_agent_member;

/* A file that is not to be opened again. */
typedef struct sl_agent_seen {
    uint64_t device, inode;
    int64_t born_ns;         /* 0 = not known */
    int64_t size, changed_s; /* when it could not be read */
    uint64_t round;          /* in which it was there last */
    unsigned failures;       /* a file that is just being made is tried again */
    bool is_settled;
    bool is_unreadable; /* and that was said */
} sl_agent_seen;

typedef struct sl_agent sl_agent;

typedef struct sl_agent_sink {
    sl_agent *agent;
    size_t idx;
    sl_agent_sink_options options;
    uint64_t id;
    sl_http *http;
    sl_agent_encoder *encoder;
    pthread_t thread;
    bool is_started;
    /* guarded by the agent's mutex */
    size_t next_member; /* the first of the next request */
    size_t limit;       /* points of all recordings in a request; smaller after a refusal */
    unsigned failures;  /* in a row */
    int64_t rolled_ms;  /* when `safe_ms` moved last, monotonic */
    bool is_idle;       /* everything there is has arrived */
    uint64_t sample_cnt, refused_cnt, retry_cnt, request_cnt, sent_bytes;
    int64_t success_ms;                      /* of the last request that was taken, since 1970 */
    char last_error[SL_ERROR_TEXT_CAP + 64]; /* the last that was said, so that it is said once */
} sl_agent_sink;

struct sl_agent {
    const sl_agent_options *options;
    const sl_stop_flag *stop;
    pthread_mutex_t mutex; /* everything below */
    pthread_cond_t wake;
    pthread_mutex_t save_mutex; /* the state file; taken without the other */
    SL_VEC(sl_agent_member *) members;
    SL_VEC(sl_agent_seen) seen;
    uint64_t round; /* scans so far */
    sl_agent_state state;
    sl_agent_scan scan;
    sl_agent_sink sinks[SL_AGENT_SINKS_MAX];
    char clients[SL_AGENT_CLIENTS_MAX][64];
    size_t next_client;
    uint64_t unreadable_cnt, save_failure_cnt;
    bool is_stopping;
    pthread_t profiler;
    bool has_profiler; /* the thread is started */
    int lock_fd;
};

/* Milliseconds of the two clocks. */
int64_t sl__agent_mono_ms(void);
int64_t sl__agent_wall_ms(void);

void sl__agent_say(sl_agent *agent, const char *fmt, ...) SL_PRINTF(2, 3);

/* A worker of a rank (a DataLoader's, say) that has no memory on a card: it would multiply the series of its rank. */
bool sl__agent_is_worker(const sl_agent *agent, const sl_agent_member *member);

/* Looks for new recordings, refreshes those that are open, closes what is over. The mutex is taken inside. */
sl_status sl__agent_look(sl_agent *agent, sl_error *err);
void sl__agent_close_members(sl_agent *agent);

/* Sends one request of a sink, if there is something to send. Milliseconds to wait before the next. */
int64_t sl__agent_push(sl_agent_sink *sink);
sl_status sl__agent_sink_open(sl_agent *agent, size_t idx, sl_error *err);
void sl__agent_sink_close(sl_agent_sink *sink);

/* Keeps the cursors; a failure is said and counted. */
void sl__agent_save(sl_agent *agent);

/* The page of /metrics: sl_http_page_fn. */
sl_status sl__agent_write_page(void *agent, const char *client, FILE *to, sl_error *err);

/* Computes the forecasts that are due. The mutex is held. */
void sl__agent_forecast(sl_agent *agent);

/* Asks for the profiles of all recordings that are due, each at most once per round. */
void sl__agent_profile_round(sl_agent *agent, uint64_t round);
/* Whether those of every recording were sent at least once. */
bool sl__agent_is_profiled(sl_agent *agent);
/* Until the next interval is complete. */
int64_t sl__agent_profile_wait_ms(const sl_agent *agent);

/* Gives pages of libraries back that were needed only to start. */
void sl__agent_release_pages(void);

#endif
