/* SPDX-License-Identifier: MIT */
/* `stormlog agent`: the figures of every recording on this machine, served and pushed. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/core/str.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/stop_signals.h"
#include "cli/export/profile_child.h"

#define URL_CAP   2048
#define TOKEN_CAP 4096

/* Texts that the options point to. */
typedef struct texts {
    char urls[SL_AGENT_SINKS_MAX][URL_CAP];
    char state[URL_CAP];
    char token[TOKEN_CAP], listen_token[TOKEN_CAP];
} texts;

static void say(void *self, const char *text) {
    SL_UNUSED(self);
    sl_cli_complain("%s", text);
}

/* Flushed: whoever started the agent waits for this line. */
static void print_ready(void *self, unsigned port) {
    const sl_agent_options *options = self;
    const char *scheme = options->tls_cert_file ? "https" : "http";
    const char *colon = strrchr(options->listen, ':');
    if (port)
        printf("serving %s://%.*s:%u/metrics\n", scheme, (int)(colon - options->listen),
               options->listen, port);
    else
        printf("serving /metrics on %s\n", options->listen);
    fflush(stdout);
}

/* ---- profiles ---- */

/* Of this command, for the callback below. */
static const sl_opts *own_opts;
static const sl_stop_flag *stop_flag;

/* What is wrong is said once, until it works again. */
static bool push_profiles(void *self, const sl_agent_profile_part *part) {
    static bool is_said;
    int code = sl_profile_child_run(own_opts, part, stop_flag);
    bool is_silent = code == 0 || code == SL_PROFILE_CHILD_NOTHING || is_said;
    if (!is_silent && !*stop_flag)
        sl_cli_complain("profiles of '%s' could not be sent (exit code %d); they are tried again "
                        "with the next ones",
                        part->path, code);
    if (code != SL_PROFILE_CHILD_NOTHING)
        is_said = code != 0;
    SL_UNUSED(self);
    return code == 0;
}

/* ---- sinks ---- */

/* A URL without a path gets the one that such servers have. */
static sl_status add_sink(sl_agent_options *options, texts *t, sl_agent_form form, const char *path,
                          const char *url, sl_error *err) {
    const char *host = strstr(url, "://");
    if (options->sink_cnt == SL_AGENT_SINKS_MAX)
        return sl_fail(err, SL_E_USAGE, "expected at most %d sinks", SL_AGENT_SINKS_MAX);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return sl_fail(err, SL_E_USAGE,
                       "expected a URL that begins with http:// or https://, found '%.80s'", url);
    size_t host_len = strcspn(host + 3, "/?#");
    bool has_path = host[3 + host_len] && strcmp(host + 3 + host_len, "/") != 0;
    size_t kept = has_path ? strlen(url) : (size_t)(host + 3 + host_len - url);
    char *to = t->urls[options->sink_cnt];
    if ((size_t)snprintf(to, URL_CAP, "%.*s%s", (int)kept, url, has_path ? "" : path) >= URL_CAP)
        return sl_fail(err, SL_E_USAGE, "a URL is longer than %d bytes", URL_CAP - 1);
    options->sinks[options->sink_cnt++] = (sl_agent_sink_options){.form = form, .url = to};
    return SL_OK;
}

static sl_status add_sinks(sl_agent_options *options, texts *t, const sl_opts *opts,
                           const char *name, sl_agent_form form, const char *path, sl_error *err) {
    size_t cursor = 0;
    for (const sl_opt_value *v; (v = sl_opts_next(opts, name, &cursor));)
        SL_TRY(add_sink(options, t, form, path, v->text, err));
    return SL_OK;
}

/* ---- files and labels ---- */

/* The first line: the token itself must not be on a command line, where everybody sees it. */
static sl_status read_token(const char *path, char to[TOKEN_CAP], sl_error *err) {
    FILE *file = fopen(path, "re");
    if (!file)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open the token file '%s'", path);
    if (!fgets(to, TOKEN_CAP, file))
        to[0] = '\0';
    fclose(file);
    to[strcspn(to, "\r\n")] = '\0';
    return to[0] ? SL_OK
                 : sl_fail(err, SL_E_USAGE, "'%s': expected a token in the first line, found none",
                           path);
}

static sl_status read_tokens(sl_agent_options *options, texts *t, const sl_opts *opts,
                             sl_error *err) {
    const char *push = sl_opts_text(opts, "token-file");
    const char *listen = sl_opts_text(opts, "listen-token-file");
    if (push)
        SL_TRY(read_token(push, t->token, err));
    if (listen)
        SL_TRY(read_token(listen, t->listen_token, err));
    options->listen_token = listen ? t->listen_token : NULL;
    for (size_t i = 0; i < options->sink_cnt; i++) {
        options->sinks[i].bearer_token = push ? t->token : NULL;
        options->sinks[i].ca_file = sl_opts_text(opts, "ca-file");
        options->sinks[i].unix_socket = sl_opts_text(opts, "push-socket");
    }
    return SL_OK;
}

/* Names that the series have already: another value would make two series one. */
static bool is_own(sl_str name) {
    static const char *const own[] = {"kind", "device", "gpu", "UUID", "pid"};
    for (size_t i = 0; i < SL_COUNT_OF(own); i++)
        if (sl_str_is(name, own[i]))
            return true;
    return false;
}

static sl_status read_labels(sl_agent_options *options, const sl_opts *opts, sl_error *err) {
    size_t cursor = 0;
    for (const sl_opt_value *v; (v = sl_opts_next(opts, "label", &cursor));) {
        const char *equals = strchr(v->text, '=');
        sl_str name = {v->text, equals ? (size_t)(equals - v->text) : 0};
        char own[132];
        if (!sl_agent_label_is_name(name) || is_own(name))
            return sl_fail(
                err, SL_E_USAGE,
                "--label: expected NAME=VALUE with a name of letters, digits and '_' that "
                "no series has, found '%.80s'",
                v->text);
        snprintf(own, sizeof own, "%.*s", (int)name.len, name.ptr);
        if (!sl_agent_labels_set(&options->labels, own, sl_str_of(equals + 1)))
            return sl_fail_no_memory(err, "labels");
    }
    return SL_OK;
}

/* systemd makes a folder for a service; otherwise the user's own. */
static sl_status find_state(texts *t, const sl_opts *opts, sl_error *err) {
    const char *given = sl_opts_text(opts, "state"), *service = getenv("STATE_DIRECTORY");
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (given || service)
        snprintf(t->state, sizeof t->state, "%s", given ? given : service);
    else if (xdg && *xdg)
        snprintf(t->state, sizeof t->state, "%s/stormlog/agent", xdg);
    else if (home && *home)
        snprintf(t->state, sizeof t->state, "%s/.local/state/stormlog/agent", home);
    else
        return sl_fail(err, SL_E_USAGE, "no folder for the cursors: HOME is not set; give --state");
    return SL_OK;
}

/* ---- the command ---- */

static void read_times(sl_agent_options *options, const sl_opts *opts) {
    const struct {
        const char *name;
        int64_t *to;
    } rows[] = {{"interval", &options->interval_ms}, {"batch", &options->batch_ms},
                {"scan", &options->scan_ms},         {"backfill", &options->backfill_ms},
                {"resend", &options->resend_ms},     {"linger", &options->linger_ms},
                {"timeout", &options->once_ms}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        *rows[i].to = sl_opts_number(opts, rows[i].name) / 1000;
    options->request_ms = (uint32_t)(sl_opts_number(opts, "request-timeout") / 1000);
}

static sl_status check(const sl_agent_options *options, sl_error *err) {
    if (options->interval_ms < 100 || options->interval_ms > 3600000)
        return sl_fail(err, SL_E_USAGE, "--interval: expected 100ms to 1h");
    if (options->batch_ms < 100 || options->scan_ms < 100)
        return sl_fail(err, SL_E_USAGE, "--batch and --scan: expected at least 100ms");
    if (options->request_ms < 10 || options->request_ms > 600000)
        return sl_fail(err, SL_E_USAGE, "--request-timeout: expected 10ms to 10min");
    if (!options->tls_cert_file != !options->tls_key_file)
        return sl_fail(err, SL_E_USAGE, "--tls-cert and --tls-key are needed together");
    if (options->profile && (options->profile_ms < 1000 || options->profile_ms > 86400000))
        return sl_fail(err, SL_E_USAGE, "--profile-every: expected 1s to 1d");
    if (options->is_once && options->sink_cnt == 0 && !options->profile)
        return sl_fail(err, SL_E_USAGE, "--once needs --push, --remote-write or --profiles");
    return SL_OK;
}

static sl_status read_options(sl_agent_options *options, texts *t, const sl_opts *opts,
                              sl_error *err) {
    const char *listen = sl_opts_text(opts, "listen");
    *options = (sl_agent_options){
        .folders = opts->operands.at,
        .folder_cnt = opts->operands.cnt,
        .state_folder = t->state,
        .proc = "/proc",
        .listen = strcmp(listen, "none") == 0 ? NULL : listen,
        .tls_cert_file = sl_opts_text(opts, "tls-cert"),
        .tls_key_file = sl_opts_text(opts, "tls-key"),
        .has_workers = sl_opts_flag(opts, "workers"),
        .is_once = sl_opts_flag(opts, "once"),
        .say = say,
        .ready = print_ready,
    };
    options->self = options;
    read_times(options, opts);
#define ADD(id, name, path) \
    SL_TRY(add_sinks(options, t, opts, name, SL_AGENT_FORM_##id, path, err));
    ADD(IMPORT, "push", "/api/v1/import/prometheus")
    ADD(REMOTE_WRITE, "remote-write", "/api/v1/write")
#undef ADD
    if (sl_opts_is_given(opts, "profiles")) {
        options->profile = push_profiles;
        options->profile_ms = sl_opts_number(opts, "profile-every") / 1000;
    }
    SL_TRY(read_tokens(options, t, opts, err));
    SL_TRY(read_labels(options, opts, err));
    SL_TRY(find_state(t, opts, err));
    return check(options, err);
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_agent_options options = {0};
    texts *t = calloc(1, sizeof *t);
    if (!t)
        return sl_fail_no_memory(err, "the options");
    sl_status status = read_options(&options, t, opts, err);
    if (status == SL_OK) {
        signal(SIGPIPE, SIG_IGN);
        /* Its threads wait most of the time: one heap for all, and large blocks back to the kernel at
         * once. */
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_MMAP_THRESHOLD, 1 << 17);
        own_opts = opts;
        stop_flag = sl_stop_signals_hold();
        status = sl_agent_run(&options, stop_flag, err);
        sl_stop_signals_release();
    }
    sl_agent_labels_fini(&options.labels);
    free(t);
    return status;
}

static const sl_opt options[] = {
    {.name = "push",
     .type = SL_OPT_STRING,
     .metavar = "URL",
     .is_repeated = true,
     .help = "VictoriaMetrics to push to; /api/v1/import/prometheus when the URL has no path"},
    {.name = "remote-write",
     .type = SL_OPT_STRING,
     .metavar = "URL",
     .is_repeated = true,
     .help = "Prometheus remote-write endpoint to push to; /api/v1/write when the URL has no path"},
    {.name = "profiles",
     .type = SL_OPT_STRING,
     .metavar = "URL",
     .help = "Pyroscope to push memory by line to: a profile per rank, card and --profile-every"},
    {.name = "profile-every",
     .type = SL_OPT_DURATION,
     .initial = "60s",
     .help = "length of a profile"},
    {.name = "listen",
     .type = SL_OPT_STRING,
     .metavar = "ADDRESS",
     .initial = "127.0.0.1:9437",
     .help = "where /metrics is served: ADDRESS:PORT, unix:PATH or none"},
    {.name = "listen-token-file",
     .type = SL_OPT_FILE,
     .help = "file with the bearer token that /metrics asks for; needed unless the address is "
             "loopback or a socket"},
    {.name = "tls-cert", .type = SL_OPT_FILE, .help = "certificate (PEM) to serve over HTTPS"},
    {.name = "tls-key", .type = SL_OPT_FILE, .help = "private key (PEM) of the certificate"},
    {.name = "token-file",
     .type = SL_OPT_FILE,
     .help = "file with the bearer token that is sent with every push"},
    {.name = "ca-file",
     .type = SL_OPT_FILE,
     .help = "certificates (PEM) that a sink's is checked against (default: the system's)"},
    {.name = "push-socket",
     .type = SL_OPT_FILE,
     .help = "unix socket to reach the sinks through, whatever host their URLs name"},
    {.name = "interval",
     .type = SL_OPT_DURATION,
     .initial = "1s",
     .help = "time between two points of a series"},
    {.name = "batch", .type = SL_OPT_DURATION, .initial = "10s", .help = "time between two pushes"},
    {.name = "request-timeout",
     .type = SL_OPT_DURATION,
     .initial = "10s",
     .help = "how long a sink may take to answer"},
    {.name = "label",
     .type = SL_OPT_STRING,
     .metavar = "NAME=VALUE",
     .is_repeated = true,
     .help = "label that every series gets"},
    {.name = "state",
     .type = SL_OPT_FILE,
     .metavar = "DIR",
     .help = "folder for the cursors (default: $STATE_DIRECTORY, or "
             "~/.local/state/stormlog/agent)"},
    {.name = "scan",
     .type = SL_OPT_DURATION,
     .initial = "5s",
     .help = "time between two searches for new recordings"},
    {.name = "backfill",
     .type = SL_OPT_DURATION,
     .initial = "1h",
     .help = "how far back a recording is sent that is seen for the first time"},
    {.name = "resend",
     .type = SL_OPT_DURATION,
     .initial = "30s",
     .help = "what is pushed again to VictoriaMetrics after it was unreachable, at least"},
    {.name = "linger",
     .type = SL_OPT_DURATION,
     .initial = "5min",
     .help = "how long a recording that has ended is still served"},
    {.name = "workers",
     .type = SL_OPT_FLAG,
     .help = "also export processes that a rank has started and that use no card, such as those of "
             "a DataLoader"},
    {.name = "once",
     .type = SL_OPT_FLAG,
     .help = "push what is there, then exit; for the end of a job"},
    {.name = "timeout",
     .type = SL_OPT_DURATION,
     .initial = "60s",
     .help = "limit of --once; exit code 4 when not everything was sent by then"},
};

const sl_cmd sl_cmd_agent = {
    .name = "agent",
    .operands = "[DIR...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "serve and push the memory of every rank on this machine",
    .description =
        "One agent per machine reads all recordings of this user and exports at most 24 series per "
        "rank: what fills the card, true peaks since the last export, the step, time to out of "
        "memory, failed requests and losses. A DIR is a run folder, or a folder of them; without "
        "one, the recordings of all running processes of this user are found. Recorded processes "
        "are never touched.\n\n"
        "The figures are served at /metrics for Prometheus, and pushed with their times to any "
        "number of sinks. What a sink has not taken yet is read from the recordings again, so an "
        "outage, a restart and a kill leave no gap. See docs/agent.md.",
    .examples = "stormlog agent --push http://127.0.0.1:8428\n"
                "  every recorded process of this user, to a VictoriaMetrics\n"
                "stormlog agent --once --remote-write https://mimir.example/push runs/job7\n"
                "  what a job left behind, at its end\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
