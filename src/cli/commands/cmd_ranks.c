/* SPDX-License-Identifier: MIT */
/* Several ranks side by side, from telemetry: files, or folders of them. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/order.h"
#include "base/files/file_atomic.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/core/cmd_list.h"
#include "cli/core/shared_options.h"
#include "memprof/compat_report.h"
#include "read/core/source.h"
#include "read/core/source_bundle.h"
#include "telemetry/telemetry_read.h"

typedef SL_VEC(char *) path_list;

static bool is_data_file(const char *name) {
    static const char *const ends[] = {".json",     ".jsonl",    ".csv",   ".json.gz",
                                       ".json.zst", ".jsonl.gz", ".csv.gz"};
    for (size_t i = 0; i < SL_COUNT_OF(ends); i++) {
        size_t len = strlen(name), end = strlen(ends[i]);
        if (len > end && strcmp(name + len - end, ends[i]) == 0 && name[0] != '.')
            return true;
    }
    return false;
}

static sl_status add_path(path_list *list, const char *folder, const char *name, sl_error *err) {
    char *path;
    int len = folder ? asprintf(&path, "%s/%s", folder, name) : asprintf(&path, "%s", name);
    if (len < 0)
        return sl_fail_no_memory(err, "a path");
    if (sl_vec_push(list, path))
        return SL_OK;
    free(path);
    return sl_fail_no_memory(err, "a path");
}

/* A pipe may have such a name, too; opening it would wait for a writer. */
static bool is_regular(int folder_fd, const char *name) {
    struct stat info;
    return fstatat(folder_fd, name, &info, 0) == 0 && S_ISREG(info.st_mode);
}

/* The telemetry files of a folder, one level deep, in order of their names. */
static sl_status add_folder(path_list *list, const char *folder, sl_error *err) {
    size_t first = list->cnt;
    DIR *dir = opendir(folder);
    sl_status status = SL_OK;
    if (!dir)
        return sl_fail_errno(err, SL_E_OPEN, "cannot read '%s'", folder);
    for (struct dirent *entry; status == SL_OK && (entry = readdir(dir)) != NULL;)
        if (is_data_file(entry->d_name) && is_regular(dirfd(dir), entry->d_name))
            status = add_path(list, folder, entry->d_name, err);
    closedir(dir);
    if (status == SL_OK && list->cnt == first)
        status = sl_fail(err, SL_E_OPEN, "'%s' contains no telemetry file (.json, .jsonl, .csv)",
                         folder);
    if (list->cnt > first)
        qsort(list->at + first, list->cnt - first, sizeof *list->at, sl_order_texts);
    return status;
}

static sl_status collect(const sl_opts *opts, path_list *list, sl_error *err) {
    for (size_t i = 0; i < opts->operands.cnt; i++) {
        const char *path = opts->operands.at[i];
        struct stat info;
        bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
        if (is_folder && !sl_bundle_is(path))
            SL_TRY(add_folder(list, path, err));
        else
            SL_TRY(add_path(list, NULL, path, err));
    }
    return SL_OK;
}

/* A bundle's events are inside it. */
static sl_status load_path(const char *path, sl_telemetry *set, bool skips_bad, sl_error *err) {
    sl_tm_load_options options = {.skips_bad = skips_bad};
    char events[2048];
    if (!sl_bundle_is(path))
        return sl_telemetry_load(path, &options, set, err);
    options.convert.reads_bundle_names = true;
    snprintf(events, sizeof events, "%s/events.json", path);
    return sl_telemetry_load(events, &options, set, err);
}

/* Trackers that only note changes give no samples; their states are samples for our purpose. */
static void take_states_as_samples(sl_telemetry *set) {
    uint32_t sample = sl_strtab_intern(&set->strings, "sample", 6);
    for (size_t i = 0; i < set->records.cnt; i++)
        if (sl_tm_is_sample(sl_tm_text(set, set->records.at[i].event_type)))
            return;
    for (size_t i = 0; sample != SL_STR_NONE && i < set->records.cnt; i++)
        set->records.at[i].event_type = sample;
}

/* Columns of the table; a narrower terminal gets a sentence per rank. */
#define TABLE_COLUMNS 73

static void print_row(FILE *to, const sl_rank_row *r) {
    char first[SL_HUMAN_CAP], last[SL_HUMAN_CAP], peak[SL_HUMAN_CAP], text[200];
    bool is_narrow = sl_term_columns() < TABLE_COLUMNS;
    snprintf(text, sizeof text,
             is_narrow ? "rank %d: samples %zu, first %s, last %s, peak %s, starts after %.3f ms"
                       : "%6d %9zu %12s %12s %12s %11.3f ms",
             r->rank, r->sample_cnt, sl_human_bytes(first, (uint64_t)r->first_used_bytes),
             sl_human_bytes(last, (uint64_t)r->last_used_bytes),
             sl_human_bytes(peak, (uint64_t)r->peak_used_bytes), (double)r->offset_ns / 1e6);
    if (is_narrow)
        sl_term_wrap(to, &(sl_wrap){.rest = "    "}, text);
    else
        fprintf(to, "%s\n", text);
}

static void print_table(FILE *to, const sl_ranks *ranks) {
    if (sl_term_columns() >= TABLE_COLUMNS)
        fprintf(to, "%6s %9s %12s %12s %12s %14s\n", "rank", "samples", "first", "last", "peak",
                "starts after");
    for (size_t i = 0; i < ranks->rows.cnt; i++)
        print_row(to, &ranks->rows.at[i]);
    putc('\n', to);
}

static void put_row(FILE *to, const char *label, const char *text) {
    char first[16];
    snprintf(first, sizeof first, "%-9s", label);
    sl_term_wrap(to, &(sl_wrap){.first = first, .rest = "         "}, text);
}

static void put_missing(FILE *to, const sl_ranks *ranks) {
    char text[SL_ERROR_TEXT_CAP] = "none";
    for (size_t i = 0, used = 0; i < ranks->missing.cnt && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? ", " : "",
                                 ranks->missing.at[i]);
    put_row(to, "missing", text);
}

/* The first rank to diverge, its growth, and how long before the others. */
static void put_suspect(FILE *to, const sl_ranks *ranks) {
    char text[SL_ERROR_TEXT_CAP], grown[SL_HUMAN_CAP], lead[SL_HUMAN_CAP];
    if (ranks->suspects.cnt == 0) {
        put_row(to, "first", "no rank diverged from the others");
        return;
    }
    const sl_rank_suspect *top = &ranks->suspects.at[0];
    snprintf(
        text, sizeof text,
        "rank %d diverged first: %s in %zu sample%s, %s before the onset (confidence %s; "
        "time %" PRId64 " ns on its own clock, %" PRId64 " ns aligned)",
        top->rank, sl_human_bytes_delta(grown, top->peak_delta_bytes), top->spike_window_samples,
        sl_plural(top->spike_window_samples), sl_human_duration_us(lead, top->lead_ns / 1000),
        sl_rank_confidence_name(top->confidence), top->first_spike_ns, top->aligned_first_spike_ns);
    put_row(to, "first", text);
}

static void print_words(FILE *to, const sl_ranks *ranks) {
    char text[64];
    put_missing(to, ranks);
    if (ranks->has_onset) {
        snprintf(text, sizeof text, "%" PRId64 " ns (aligned)", ranks->onset_ns);
        put_row(to, "onset", text);
    }
    put_suspect(to, ranks);
    for (size_t i = 0; i < ranks->notes.cnt; i++)
        put_row(to, i ? "" : "notes", ranks->notes.at[i]);
}

static sl_status write_answer(const sl_opts *opts, const sl_ranks *ranks, sl_error *err) {
    sl_file_out out;
    sl_status status = SL_OK;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    if (strcmp(sl_opts_text(opts, "format"), "json") == 0) {
        sl_json_out json;
        sl_json_init(&json, out.stream, 2);
        sl_compat_ranks_json(&json, ranks);
        status = sl_json_finish(&json, err);
    } else {
        print_table(out.stream, ranks);
        print_words(out.stream, ranks);
    }
    if (status < 0) {
        sl_file_out_abandon(&out);
        return status;
    }
    return sl_file_out_commit(&out, err);
}

static sl_status compare(const sl_opts *opts, sl_telemetry *set, const path_list *paths,
                         sl_error *err) {
    sl_ranks *ranks;
    for (size_t i = 0; i < paths->cnt; i++)
        SL_TRY(load_path(paths->at[i], set, sl_opts_flag(opts, "skip-bad"), err));
    take_states_as_samples(set);
    SL_TRY(sl_ranks_new(set, &ranks, err));
    sl_status status = write_answer(opts, ranks, err);
    sl_ranks_free(ranks);
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    path_list paths = {0};
    sl_telemetry *set = sl_telemetry_new();
    sl_status status = set ? collect(opts, &paths, err) : sl_fail_no_memory(err, "the records");
    if (status == SL_OK)
        status = compare(opts, set, &paths, err);
    for (size_t i = 0; i < paths.cnt; i++)
        free(paths.at[i]);
    sl_vec_free(&paths);
    sl_telemetry_free(set);
    return status;
}

static const sl_opt options[] = {
    SL_SHARED_FORMAT("output format: for people or for programs"),
    SL_SHARED_OUTPUT,
    {.name = "skip-bad", .type = SL_OPT_FLAG, .help = "skip bad records"},
};

const sl_cmd sl_cmd_ranks = {
    .name = "ranks",
    .operands = "PATH...",
    .operand_min = 1,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "compare ranks and find the one that grew first",
    .description = "PATH is a telemetry file (JSON, JSON lines, CSV), an OOM bundle, or a folder "
                   "of them. The ranks are aligned by their first samples. A rank is a suspect if "
                   "its memory rose by 64 MiB or by 10 % of its peak before all others, or at the "
                   "same time as the second one. Missing ranks are listed.",
    .examples = "stormlog ranks rank0.json rank1.json\n"
                "stormlog ranks runs/telemetry --format json\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
