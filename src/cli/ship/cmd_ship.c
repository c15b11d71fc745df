/* SPDX-License-Identifier: MIT */
/* Recordings to a shared folder or an S3 server, compacted, with an index. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run_folder.h"
#include "base/core/str.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/recordings.h"
#include "cli/core/stop_signals.h"
#include "cli/ship/net_options.h"
#include "cli/ship/ship_cache.h"
#include "log/compact/log_compact.h"
#include "log/read/log_reader.h"
#include "ship/ship_fetch.h"

typedef struct ship_job {
    sl_ship_target *target;
    const sl_stop_flag *stop;
    const char *where;
    char run[SL_SHIP_NAME_CAP], index_key[SL_SHIP_KEY_CAP], host[SL_SHIP_TEXT_CAP];
    char state_folder[SL_SHIP_CACHE_CAP];
    sl_ship_index index; /* of this host */
    bool is_changed;     /* against what is there */
    bool is_source_bad;  /* the recording is why the last one failed, not the target */
} ship_job;

/* ---- one recording ---- */

static int64_t or_unknown(int64_t value) {
    return value < 0 ? -1 : value;
}

/* Who the recording is of, for readers that only want to know that. */
static sl_status describe(const char *path, sl_ship_entry *entry, sl_error *err) {
    sl_log_reader *log;
    if (sl_log_open(path, &log, err) < 0)
        return sl_error_prefix(err, "cannot ship '%s'", path);
    const sl_fmt_header *header = sl_log_header(log);
    snprintf(entry->host, sizeof entry->host, "%.*s", (int)sizeof header->host - 1, header->host);
    snprintf(entry->job, sizeof entry->job, "%.*s", (int)sizeof header->job - 1, header->job);
    entry->rank = or_unknown(sl_log_rank(log));
    entry->world_size = or_unknown(sl_log_world_size(log));
    entry->pid = header->pid;
    entry->start_us = (int64_t)(header->start_wall_ns / 1000);
    sl_log_reader_close(log);
    return SL_OK;
}

/* Whether the target has this content under this name already. */
static bool is_there(ship_job *job, const sl_ship_entry *entry, const char *key) {
    const sl_ship_entry *old = sl_ship_index_find(&job->index, entry->name);
    uint64_t bytes;
    return old && strcmp(old->sha256, entry->sha256) == 0 &&
           sl_ship_size(job->target, key, &bytes, NULL) == SL_OK && bytes == entry->bytes;
}

/* The same name, but of another process or start: a run of the same name was shipped before. */
static sl_status refuse_other(const ship_job *job, const sl_ship_entry *entry, sl_error *err) {
    const sl_ship_entry *old = sl_ship_index_find(&job->index, entry->name);
    if (!old || old->start_us < 0 || old->pid < 0 ||
        (old->start_us == entry->start_us && old->pid == entry->pid))
        return SL_OK;
    return sl_fail(err, SL_E_BUSY,
                   "cannot ship '%s': the run '%s' there has another recording of that name "
                   "(process %lld%s%s); give another run with --name",
                   entry->name, job->run, (long long)old->pid, old->job[0] ? " of job " : "",
                   old->job);
}

static void print_put(const char *name, const sl_ship_entry *entry, const sl_ship_put *put) {
    char size[SL_HUMAN_CAP], before[SL_HUMAN_CAP];
    sl_human_bytes(size, entry->bytes);
    if (!put)
        sl_term_printf(stdout, "%s: %s, already there\n", name, size);
    else if (put->resumed_bytes)
        sl_term_printf(stdout, "%s: %s, of which %s were there from an earlier attempt\n", name,
                       size, sl_human_bytes(before, put->resumed_bytes));
    else
        sl_term_printf(stdout, "%s: %s\n", name, size);
}

static sl_status put_open(ship_job *job, const char *name, int fd, sl_ship_entry *entry,
                          sl_error *err) {
    char key[SL_SHIP_KEY_CAP];
    struct stat info;
    sl_ship_put put;
    if (fstat(fd, &info) != 0)
        return sl_fail_errno(err, SL_E_READ, "cannot examine '%s'", name);
    entry->bytes = (uint64_t)info.st_size;
    snprintf(entry->name, sizeof entry->name, "%s", name);
    snprintf(key, sizeof key, "%s/%s", job->run, name);
    SL_TRY(refuse_other(job, entry, err));
    SL_TRY(sl_ship_hash(fd, 0, entry->bytes, entry->sha256, err));
    if (is_there(job, entry, key)) {
        print_put(name, entry, NULL);
        return SL_OK;
    }
    sl_ship_file file = {.key = key, .fd = fd, .bytes = entry->bytes, .sha256 = entry->sha256};
    SL_TRY(sl_ship_put_file(job->target, &file, &put, err));
    SL_TRY(sl_ship_index_put(&job->index, entry, err));
    job->is_changed = true;
    print_put(name, entry, &put);
    return SL_OK;
}

static sl_status put_path(ship_job *job, const char *name, const char *path, sl_ship_entry *entry,
                          sl_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", path);
    sl_status status = put_open(job, name, fd, entry, err);
    close(fd);
    return status;
}

/* The compact form is made beside the notes about uploads; the recording itself is only read. */
static sl_status put_recording(ship_job *job, const char *path, bool is_named, sl_error *err) {
    const char *name = sl_base_name(path);
    char *compact = NULL;
    sl_compact_options options = {.stop = job->stop};
    sl_compact_result result;
    sl_ship_entry entry = {.rank = -1, .world_size = -1, .pid = -1, .start_us = -1};
    job->is_source_bad = true;
    if (!sl_ship_name_is_good(sl_str_of(name)))
        return sl_fail(err, is_named ? SL_E_USAGE : SL_E_REFUSED,
                       "'%s' cannot be shipped under its name: expected NAME.slog of letters, "
                       "digits and ._-+@=,",
                       path);
    SL_TRY(describe(path, &entry, err));
    job->is_source_bad = false;
    if (asprintf(&compact, "%s/compact-%d.slog", job->state_folder, (int)getpid()) < 0)
        return sl_fail_no_memory(err, "a path");
    sl_status status = sl_log_compact_to(path, compact, &options, &result, err);
    if (status < 0)
        sl_error_prefix(err, "cannot compact '%s'", path);
    else if (result.outcome == SL_COMPACT_LIVE && is_named)
        status = sl_fail(
            err, SL_E_BUSY,
            "cannot ship '%s': its process still writes to it; wait until it has ended", path);
    else if (result.outcome == SL_COMPACT_LIVE)
        sl_term_printf(stdout, "%s: still being written, not shipped\n", name);
    else
        status =
            put_path(job, name, result.outcome == SL_COMPACT_DONE ? compact : path, &entry, err);
    unlink(compact);
    free(compact);
    return status;
}

/* ---- the index ---- */

static sl_status load_index(ship_job *job, sl_error *err) {
    char *text;
    size_t len;
    sl_status status =
        sl_ship_get_text(job->target, job->index_key, SL_SHIP_INDEX_MAX, &text, &len, err);
    if (status == SL_E_OPEN)
        return SL_OK;
    SL_TRY(status);
    /* One that was cut short or damaged is made anew: what it had is shipped again. */
    sl_error bad = SL_ERROR_INIT;
    if (sl_ship_index_read(&job->index, job->index_key, text, len, &bad) < 0) {
        sl_cli_complain("the index there is not used: %s", bad.text);
        sl_ship_index_fini(&job->index);
    }
    free(text);
    return SL_OK;
}

static sl_status save_index(ship_job *job, sl_error *err) {
    char *text = NULL;
    size_t len = 0;
    if (!job->is_changed)
        return SL_OK;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        return sl_fail_no_memory(err, "the index");
    sl_status status = sl_ship_index_write(&job->index, job->host, to, err);
    if (fclose(to) != 0 && status == SL_OK)
        status = sl_fail_no_memory(err, "the index");
    if (status == SL_OK)
        status = sl_ship_put_text(job->target, job->index_key, (sl_str){text, len}, err);
    free(text);
    return status;
}

/* ---- all of them ---- */

/* Continues after a recording that is damaged, cannot be opened or has a bad name; ends when the target fails. */
static sl_status put_all(ship_job *job, const sl_recordings *list, sl_error *err) {
    sl_status worst = SL_OK;
    for (size_t i = 0; i < list->paths.cnt && !*job->stop; i++) {
        sl_error failed = SL_ERROR_INIT;
        sl_status status = put_recording(job, list->paths.at[i], !list->is_folder, &failed);
        if (status >= 0)
            continue;
        if (worst < 0)
            sl_cli_complain("%s", err->text);
        *err = failed;
        worst = status;
        if (!job->is_source_bad && sl_status_exit_code(status) != 3)
            break;
    }
    return worst;
}

/* What arrived is in the index, also when something else did not. */
static sl_status ship(ship_job *job, const sl_recordings *list, sl_error *err) {
    sl_error failed = SL_ERROR_INIT;
    SL_TRY(load_index(job, err));
    sl_status status = put_all(job, list, err);
    sl_status saved = save_index(job, &failed);
    if (status >= 0 && saved < 0) {
        *err = failed;
        status = saved;
    }
    if (status >= 0 && !*job->stop)
        sl_term_printf(stdout, "read it with: stormlog ranks %s%s%s\n", job->where,
                       job->where[strlen(job->where) - 1] == '/' ? "" : "/", job->run);
    return status;
}

/* The name of the run folder, or of the folder that the recording is in. */
static sl_status name_run(ship_job *job, const char *given, const char *path, bool is_folder,
                          sl_error *err) {
    char *full = realpath(sl_latest_path(path), NULL);
    if (!full)
        return sl_fail_errno(err, SL_E_OPEN, "cannot read '%s'", path);
    char *slash = !is_folder ? strrchr(full, '/') : NULL;
    if (slash)
        *slash = '\0';
    const char *name = given ? given : sl_base_name(full);
    bool is_good = sl_ship_run_is_good(sl_str_of(name));
    if (is_good)
        snprintf(job->run, sizeof job->run, "%s", name);
    else
        sl_fail(err, SL_E_USAGE,
                "'%.100s' cannot be the name of a run at the target: expected letters, digits and "
                "._-+@=,; give one with --name",
                name);
    free(full);
    return is_good ? SL_OK : SL_E_USAGE;
}

/* Two ship commands of one host would write the same index; the second one waits. */
static int lock_state(const ship_job *job) {
    int fd = open(job->state_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && !*job->stop)
        sl_ship_wait_ms(100, job->stop);
    return fd;
}

static sl_status prepare(ship_job *job, const sl_opts *opts, bool is_folder, sl_error *err) {
    char index_name[SL_SHIP_NAME_CAP];
    job->where = opts->operands.at[1];
    SL_TRY(name_run(job, sl_opts_text(opts, "name"), opts->operands.at[0], is_folder, err));
    if (gethostname(job->host, sizeof job->host - 1) != 0 || !*job->host)
        snprintf(job->host, sizeof job->host, "unknown");
    sl_ship_index_name(index_name, job->host);
    snprintf(job->index_key, sizeof job->index_key, "%s/%s", job->run, index_name);
    return sl_ship_cache("ship", job->state_folder, err);
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_recordings list;
    ship_job *job = calloc(1, sizeof *job);
    if (!job)
        return sl_fail_no_memory(err, "shipping");
    sl_status status = sl_recordings_find(&list, opts->operands.at[0], SL_FIND_RECORDINGS, err);
    if (status < 0) {
        free(job);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    job->stop = sl_stop_signals_hold();
    status = prepare(job, opts, list.is_folder, err);
    int lock = status == SL_OK ? lock_state(job) : -1;
    const char *ca_file = sl_opts_text(opts, "ca-file");
    sl_ship_target_options options = {
        .endpoint = sl_opts_text(opts, "endpoint"),
        .ca_file = ca_file ? ca_file : getenv("AWS_CA_BUNDLE"),
        .state_folder = job->state_folder,
        .patience = {.try_cnt = (unsigned)sl_opts_number(opts, "tries"), .stop = job->stop}};
    if (status == SL_OK)
        status = sl_ship_target_open(&job->target, job->where, &options, err);
    if (status == SL_OK)
        status = ship(job, &list, err);
    sl_ship_target_close(job->target);
    sl_ship_index_fini(&job->index);
    sl_recordings_fini(&list);
    if (lock >= 0)
        close(lock);
    free(job);
    sl_stop_signals_release();
    sl_stop_signals_obey();
    return status;
}

static const sl_opt options[] = {
    {.name = "name",
     .type = SL_OPT_STRING,
     .metavar = "RUN",
     .setter = SL_SET_BY_NOBODY,
     .help = "folder of the run at the target (default: the name of the run folder)"},
    {.name = "endpoint",
     .type = SL_OPT_STRING,
     .metavar = "URL",
     .help = "the S3 server (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else Amazon's)"},
    SL_NET_CA_FILE,
    SL_NET_TRIES,
};

const sl_cmd sl_cmd_ship = {
    .name = "ship",
    .operands = "PATH TARGET",
    .operand_min = 2,
    .operand_max = 2,
    .takes_urls = true,
    .summary = "copy finished recordings to a shared folder or S3",
    .description =
        "PATH is a run folder or a recording. TARGET is a folder that exists, or "
        "s3://BUCKET/PREFIX "
        "on any S3 server. The recordings arrive compacted and compressed (see 'stormlog compact') "
        "as TARGET/RUN/NAME.slog, with TARGET/RUN/index-HOST.json, which has their sizes and "
        "SHA-256 sums. The recordings here are only read. What is there already is not sent again; "
        "a transfer that was interrupted goes on where it stopped. A recording that is still being "
        "written is left out.\n\n"
        "Every command takes s3://BUCKET/PREFIX/RUN as a PATH: it is fetched into "
        "~/.cache/stormlog and compared with the sums of the index.\n\n"
        "The keys for S3 are taken from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        "AWS_SESSION_TOKEN, or from ~/.aws/credentials (AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE); "
        "the region from AWS_REGION. See docs/engines.md.",
    .examples = "stormlog ship latest /shared/runs\n"
                "stormlog ship latest s3://team/runs --endpoint https://minio:9000\n"
                "stormlog ranks s3://team/runs/20261116-101500-train\n"
                "  what was shipped, from any machine\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
