/* SPDX-License-Identifier: MIT */
#include "cli/export/push_out.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/core/cli.h"
#include "cli/core/inputs.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "cli/core/stop_signals.h"
#include "cli/export/export_input.h"
#include "cli/ship/secret_file.h"
#include "ship/profile_push.h"

typedef struct push_job {
    const sl_opts *opts;
    const sl_exporter *exporter;
    const char *url;
    sl_http *http;
    sl_ship_patience patience;
    const sl_run_input *input;
    sl_profile_name name; /* of the device that is being sent */
    size_t sent_cnt;
    uint64_t sent_bytes;
} push_job;

/* ---- labels ---- */

static sl_status check_labels(const sl_opts *opts, sl_error *err) {
    const sl_opt_value *value;
    for (size_t at = 0; (value = sl_opts_next(opts, "label", &at)) != NULL;) {
        size_t len = strcspn(value->text, "=");
        if (!value->text[len] || !sl_profile_key_is_good((sl_str){value->text, len}))
            return sl_fail(
                err, SL_E_USAGE,
                "--label: expected KEY=VALUE with a KEY of letters, digits, '_' and '.', "
                "found '%s'",
                value->text);
    }
    return SL_OK;
}

static void label_number(sl_profile_name *name, const char *key, sl_maybe_i32 value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value.value);
    sl_profile_name_label(name, key, value.known ? sl_str_of(text) : (sl_str){0});
}

/* As the metrics of a node have them (docs/engines.md), so that both can be joined. */
static void make_name(push_job *job, int device) {
    const sl_process *process = &job->input->trace->process;
    sl_profile_name *name = &job->name;
    const sl_opt_value *value;
    sl_profile_name_begin(name, sl_opts_text(job->opts, "service"));
    if (process->is_known) {
        sl_profile_name_label(name, "Hostname", sl_str_of(process->host));
        sl_profile_name_label(name, "job", sl_str_of(process->job));
        label_number(name, "rank", process->rank);
        label_number(name, "local_rank", process->local_rank);
    }
    label_number(name, "gpu", (sl_maybe_i32){device, device >= 0});
    sl_profile_name_label(name, "device", device < 0 ? SL_STR("host") : (sl_str){0});
    for (size_t at = 0; (value = sl_opts_next(job->opts, "label", &at)) != NULL;) {
        char key[128];
        size_t len = strcspn(value->text, "=");
        snprintf(key, sizeof key, "%.*s", (int)len, value->text);
        sl_profile_name_label(name, key, sl_str_of(value->text + len + 1));
    }
    sl_profile_name_end(name);
}

/* ---- profiles ---- */

static sl_status push_bytes(push_job *job, const char *bytes, size_t len, int64_t from_us,
                            int64_t until_us, sl_error *err) {
    sl_profile profile = {
        .name = &job->name, .from_us = from_us, .until_us = until_us, .bytes = {bytes, len}};
    SL_TRY(sl_profile_push(job->http, job->url, &profile, &job->patience, err));
    job->sent_cnt++;
    job->sent_bytes += len;
    return SL_OK;
}

static sl_status push_one(push_job *job, const sl_export_options *options, int64_t from_us,
                          int64_t until_us, sl_error *err) {
    char *bytes = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&bytes, &len);
    if (!to)
        return sl_fail_no_memory(err, "a profile");
    sl_status status = job->exporter->write(job->input, options, to, err);
    if (fclose(to) != 0 && status >= 0)
        status = sl_fail_no_memory(err, "a profile");
    if (status >= 0)
        status = push_bytes(job, bytes, len, from_us, until_us, err);
    free(bytes);
    return status;
}

static sl_status push_intervals(push_job *job, const sl_run_device *device,
                                const sl_export_options *options, sl_error *err) {
    const sl_replay *replay;
    sl_interval_walk walk;
    sl_interval interval;
    sl_export_options own = *options;
    own.interval = &interval;
    SL_TRY(sl_run_replay(device, &replay, err));
    SL_TRY(sl_interval_walk_init(&walk, replay, options->every_us, err));
    while (sl_interval_walk_next(&walk, &interval)) {
        if (!sl_export_wants_time(options, interval.from_us))
            continue;
        SL_TRY(push_one(job, &own, interval.from_us, interval.until_us, err));
    }
    return SL_OK;
}

static sl_status push_device(push_job *job, const sl_run_device *device, sl_error *err) {
    sl_export_options options;
    sl_span span;
    SL_TRY(sl_export_prepare(job->opts, job->input, &options, err));
    if (!sl_run_span(job->input, device, &span))
        return SL_OK;
    options.has_device = true;
    options.device = device->events->device;
    make_name(job, options.device);
    if (options.every_us > 0)
        return push_intervals(job, device, &options, err);
    return push_one(job, &options, span.first_us, span.last_us, err);
}

static sl_status push_input(push_job *job, const sl_run_input *input, sl_error *err) {
    size_t sent_before = job->sent_cnt;
    job->input = input;
    SL_TRY(sl_export_check_events(input, "a pprof profile", err));
    if (!input->trace->has_time)
        return sl_fail(err, SL_E_FORMAT, "cannot push '%s': its events have no times",
                       input->trace->path);
    for (size_t i = 0; i < input->device_cnt; i++)
        if (sl_inputs_check_device(input, sl_shared_device(job->opts), NULL) == SL_OK)
            SL_TRY(push_device(job, &input->devices[i], err));
    size_t cnt = job->sent_cnt - sent_before;
    sl_term_printf(stdout, "%s: %zu profile%s sent\n", input->trace->path, cnt, sl_plural(cnt));
    return SL_OK;
}

static sl_status push_path(push_job *job, const char *path, sl_error *err) {
    sl_recordings list;
    SL_TRY(sl_recordings_find(&list, path, SL_FIND_INPUTS, err));
    sl_left_out_say(&list.left_out, path);
    sl_status status = SL_OK;
    for (size_t i = 0; status >= 0 && i < list.paths.cnt; i++) {
        const char *recording = list.paths.at[i];
        sl_inputs inputs;
        sl_error failed = SL_ERROR_INIT;
        if (sl_inputs_load(&inputs, &recording, 1, &failed) < 0) {
            if (!list.is_folder) {
                *err = failed;
                status = failed.code;
            } else
                sl_cli_complain("skipped: %s", failed.text);
            continue;
        }
        status = push_input(job, &inputs.run->inputs[0], err);
        sl_inputs_fini(&inputs);
    }
    sl_recordings_fini(&list);
    return status;
}

sl_status sl_push_out(const sl_opts *opts, const sl_exporter *exporter, sl_path_span paths,
                      sl_error *err) {
    char *token;
    push_job job = {.opts = opts,
                    .exporter = exporter,
                    .url = sl_opts_text(opts, "push"),
                    .patience = {.try_cnt = (unsigned)sl_opts_number(opts, "tries")}};
    SL_TRY(check_labels(opts, err));
    SL_TRY(sl_secret_read(sl_opts_text(opts, "token-file"), &token, err));
    sl_http_options options = {.bearer_token = token, .ca_file = sl_opts_text(opts, "ca-file")};
    signal(SIGPIPE, SIG_IGN);
    options.stop = job.patience.stop = sl_stop_signals_hold();
    sl_status status = sl_http_open(&job.http, &options, err);
    for (size_t i = 0; status >= 0 && i < paths.cnt; i++)
        status = push_path(&job, paths.at[i], err);
    sl_http_close(job.http);
    sl_secret_free(token);
    sl_stop_signals_release();
    sl_stop_signals_obey();
    return status;
}
