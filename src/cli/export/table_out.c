/* SPDX-License-Identifier: MIT */
#include "cli/export/table_out.h"

#include <stdlib.h>

#include "api/run_folder.h"
#include "base/core/str.h"
#include "base/files/file_atomic.h"
#include "cli/core/cli.h"
#include "cli/core/inputs.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "cli/export/export_input.h"
#include "cli/export/run_roles.h"

typedef struct table_job {
    const sl_opts *opts;
    const sl_exporter *exporter;
    FILE *to;
    size_t written_cnt; /* inputs with rows */
    sl_error first;     /* why the first one that was skipped has none */
} table_job;

/* A process of a run need not have used the chosen device, nor any. */
static bool has_rows(const sl_opts *opts, const sl_run_input *input) {
    sl_device_choice choice = sl_shared_device(opts);
    sl_span span;
    return sl_run_span(input, NULL, &span) &&
           (!choice.is_one || sl_run_find_device(input, choice.device));
}

static sl_status write_rows(table_job *job, const sl_run_input *input, const char *run,
                            sl_process_role role, sl_error *err) {
    sl_export_options options;
    SL_TRY(sl_export_prepare(job->opts, input, &options, err));
    options.run = run;
    options.role = role == SL_PROCESS_NONE ? NULL : sl_process_role_name(role);
    options.is_continued = job->written_cnt > 0;
    SL_TRY(job->exporter->write(input, &options, job->to, err));
    job->written_cnt++;
    return SL_OK;
}

static sl_status add_recording(table_job *job, const sl_recordings *list, size_t idx,
                               const char *run, sl_process_role role, sl_error *err) {
    const char *path = list->paths.at[idx];
    sl_inputs inputs;
    sl_error failed = SL_ERROR_INIT;
    if (sl_inputs_load(&inputs, &path, 1, &failed) < 0) {
        if (job->first.code == 0)
            job->first = failed;
        if (list->is_folder && failed.code != SL_E_NOMEM)
            sl_cli_complain("skipped: %s", failed.text);
        *err = failed;
        return list->is_folder && failed.code != SL_E_NOMEM ? SL_OK : failed.code;
    }
    sl_status status = SL_OK;
    if (has_rows(job->opts, &inputs.run->inputs[0]))
        status = write_rows(job, &inputs.run->inputs[0], run, role, err);
    else if (job->first.code == 0)
        sl_fail(&job->first, SL_E_USAGE, "no rows: '%s' has no events of the chosen device", path);
    sl_inputs_fini(&inputs);
    return status;
}

static sl_status add_path(table_job *job, const char *path, sl_error *err) {
    sl_recordings list;
    SL_TRY(sl_recordings_find(&list, path, SL_FIND_INPUTS, err));
    /* The folder's own name, also where it was given as "." or through a link such as `latest`. */
    char *full = list.is_folder ? realpath(sl_latest_path(path), NULL) : NULL;
    const char *run = full ? sl_base_name(full) : NULL;
    sl_left_out_say(&list.left_out, path);
    sl_process_place *places = calloc(list.paths.cnt + 1, sizeof *places);
    sl_status status = places ? sl_run_roles_find(&list, places, err)
                              : sl_fail_no_memory(err, "the processes of the run");
    for (size_t i = 0; status >= 0 && i < list.paths.cnt; i++)
        status = add_recording(job, &list, i, run, places[i].role, err);
    free(places);
    free(full);
    sl_recordings_fini(&list);
    return status;
}

static sl_status add_all(table_job *job, sl_path_span paths, sl_error *err) {
    for (size_t i = 0; i < paths.cnt; i++)
        SL_TRY(add_path(job, paths.at[i], err));
    if (job->written_cnt)
        return SL_OK;
    *err = job->first;
    return job->first.code;
}

sl_status sl_table_out_write(const sl_opts *opts, const sl_exporter *exporter, sl_path_span paths,
                             sl_error *err) {
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    table_job job = {.opts = opts, .exporter = exporter, .to = out.stream, .first = SL_ERROR_INIT};
    sl_status status = add_all(&job, paths, err);
    return sl_file_out_end(&out, status, err);
}
