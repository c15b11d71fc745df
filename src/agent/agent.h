/* SPDX-License-Identifier: MIT */
/* The node's agent: finds the recordings of this user on this machine, serves their figures at /metrics, and pushes
 * them to any number of sinks. The recordings are the queue: nothing is buffered, and what has not arrived is read
 * again. A sink has a thread of its own, so that one that is slow or gone does not hold up the others. */
#ifndef SL_AGENT_H
#define SL_AGENT_H

#include "agent/agent_encode.h"
#include "base/core/progress_fn.h"

#define SL_AGENT_SINKS_MAX 4

typedef struct sl_agent_sink_options {
    sl_agent_form form;
    const char *url;
    const char *bearer_token; /* NULL = none */
    const char *user_password;
    const char *ca_file;
    const char *unix_socket;
} sl_agent_sink_options;

/* The profiles of a recording that are to be sent: those of the intervals that begin in [since, until]. */
typedef struct sl_agent_profile_part {
    const char *path;
    bool has_since, has_until; /* otherwise from its beginning, to its end */
    int64_t since_us, until_us;
} sl_agent_profile_part;

/* The texts are borrowed until sl_agent_run returns. */
typedef struct sl_agent_options {
    const char *const *folders; /* where recordings are; none = those of running processes */
    size_t folder_cnt;
    const char *state_folder;
    const char *proc; /* "/proc" */
    sl_agent_sink_options sinks[SL_AGENT_SINKS_MAX];
    size_t sink_cnt;
    const char *listen; /* NULL = nothing is served */
    const char *listen_token, *tls_cert_file, *tls_key_file;
    sl_agent_labels labels; /* the user's own; borrowed */
    int64_t interval_ms;    /* between two points */
    int64_t batch_ms;       /* between two requests */
    int64_t scan_ms;        /* between two searches for recordings */
    int64_t backfill_ms;    /* how far back a recording is sent that is seen for the first time */
    int64_t resend_ms;      /* what is sent again after a sink was gone: import only */
    int64_t linger_ms;      /* how long a recording that has ended is still served */
    uint32_t request_ms;    /* limit of a request */
    bool has_workers;       /* export workers of ranks, too */
    int64_t profile_ms;     /* length of a profile; 0 = none are sent */
    /* Sends them; false: they are asked for again. Called from one thread, which may wait. */
    bool (*profile)(void *self, const sl_agent_profile_part *part);
    bool is_once;    /* send what is there, then end … */
    int64_t once_ms; /* … at the latest after this time */
    /* A line for whoever watches: an error of a sink, a recording that cannot be read. Called from any thread, one call
     * at a time. */
    void (*say)(void *self, const char *text);
    /* The server listens; port 0 for a unix socket. May be NULL. */
    void (*ready)(void *self, unsigned port);
    void *self;
} sl_agent_options;

/* Runs until *stop, or until everything is sent where is_once. SL_E_NETWORK when is_once and a sink did not take it
 * all. */
sl_status sl_agent_run(const sl_agent_options *options, const sl_stop_flag *stop, sl_error *err);

#endif
