/* SPDX-License-Identifier: MIT */
/* Paths -> summaries -> rows -> what is wrong with them. */
#include "ranks/fleet.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cpus.h"
#include "base/core/order.h"
#include "ranks/fleet_impl.h"

/* Jobs that a note names. */
#define JOBS_NAMED 4u

static const struct {
    const char *name, *words;
} faults[SL_RANK_FAULT_LIMIT] = {
#define SL_RANK_FAULT_ROW(enumerator, text, words) {text, words},
    SL_RANK_FAULT_MAP(SL_RANK_FAULT_ROW)
#undef SL_RANK_FAULT_ROW
};

const char *sl_rank_fault_name(sl_rank_fault fault) {
    return faults[fault].name;
}

const char *sl_rank_fault_words(sl_rank_fault fault) {
    return faults[fault].words;
}

const char *sl_fleet_ranges(sl_arena *arena, const int32_t *ranks, size_t cnt, size_t most) {
    char text[1024] = "";
    size_t len = 0, shown = 0, i = 0;
    while (i < cnt && shown < most && len + 40 < sizeof text) {
        size_t from = i;
        while (i + 1 < cnt && ranks[i + 1] == ranks[i] + 1)
            i++;
        len += (size_t)snprintf(text + len, sizeof text - len, i > from ? "%s%d-%d" : "%s%d",
                                shown ? ", " : "", ranks[from], ranks[i]);
        shown++;
        i++;
    }
    if (i < cnt)
        snprintf(text + len, sizeof text - len, " and %zu more", cnt - i);
    const char *kept = sl_arena_copy(arena, text, strlen(text));
    return kept ? kept : "";
}

const char *sl__fleet_reason(const char *error, const char *path) {
    static const char words[] = "cannot read '";
    size_t len = strlen(path);
    const char *rest = error + sizeof words - 1;
    bool is_named = strncmp(error, words, sizeof words - 1) == 0 && strncmp(rest, path, len) == 0 &&
                    strncmp(rest + len, "': ", 3) == 0;
    return is_named ? rest + len + 3 : error;
}

sl_fleet_event *sl__fleet_add_event(sl_fleet *fleet, const sl_fleet_event *event) {
    return sl_vec_push(&fleet->events, *event) ? &fleet->events.at[fleet->events.cnt - 1] : NULL;
}

/* ---- which file is which rank ---- */

static int compare_files(const void *a, const void *b) {
    const sl_rank_summary *x = *(sl_rank_summary *const *)a, *y = *(sl_rank_summary *const *)b;
    if (x->rank.value != y->rank.value)
        return x->rank.value < y->rank.value ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* The rank in the name: of a recording in that of its file, of others also in the nearest folder's. Beside recordings
 * that a launcher gave a rank, one without is a launcher or a helper, whatever its name. */
static bool rank_by_name(const sl_rank_summary *s, bool has_launcher, int32_t *rank) {
    const char *slash = strrchr(s->path, '/');
    if (s->source != SL_SOURCE_SLOG)
        return sl_rank_of_path(s->path + s->named_from, rank);
    return !has_launcher && sl_rank_of_path(slash ? slash + 1 : s->path, rank);
}

static bool is_rank_taken(const sl_fleet *fleet, int32_t rank) {
    for (size_t i = 0; i < fleet->files.cnt; i++)
        if (fleet->files.at[i]->rank.known && fleet->files.at[i]->rank.value == rank)
            return true;
    return false;
}

/* Beside recordings of ranks a snapshot without one may be of any of them. */
static void leave_out_unnamed(sl_fleet *fleet, sl_rank_summary *s) {
    s->is_left_out = true;
    if (s->source != SL_SOURCE_SLOG)
        sl_fleet_note(fleet, "'%.200s' is left out: neither it nor its name has a rank", s->path);
}

static void number_rest(sl_fleet *fleet, bool has_launcher, bool has_ranks) {
    int32_t next = 0;
    size_t guessed = 0;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        sl_rank_summary *s = fleet->files.at[i];
        if (s->rank.known || s->is_left_out)
            continue;
        if (has_launcher || (has_ranks && s->source == SL_SOURCE_SLOG)) {
            leave_out_unnamed(fleet, s);
            continue;
        }
        while (has_ranks && is_rank_taken(fleet, next))
            next++;
        s->rank = (sl_maybe_i32){next++, true};
        s->is_rank_guessed = true;
        guessed++;
    }
    if (guessed)
        sl_fleet_note(fleet,
                      "%zu file%s not name a rank; they are numbered in the order of their names",
                      guessed, guessed == 1 ? " does" : "s do");
}

/* Ranks that no file reports: from the file's name, then the lowest that is free. */
static void guess_ranks(sl_fleet *fleet) {
    bool has_ranks = false, has_launcher = false;
    for (size_t i = 0; i < fleet->files.cnt; i++)
        has_launcher |=
            fleet->files.at[i]->source == SL_SOURCE_SLOG && fleet->files.at[i]->rank.known;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        sl_rank_summary *s = fleet->files.at[i];
        if (!s->rank.known && rank_by_name(s, has_launcher, &s->rank.value))
            s->rank.known = s->is_rank_guessed = true;
        has_ranks |= s->rank.known;
    }
    number_rest(fleet, has_launcher, has_ranks);
}

static bool is_job_seen(const sl_fleet *fleet, size_t before, const char *job) {
    for (size_t i = 0; i < before; i++)
        if (strcmp(fleet->files.at[i]->job, job) == 0)
            return true;
    return false;
}

/* "'a', 'b' and 3 more": the jobs of the files but one. */
static const char *list_jobs(sl_fleet *fleet, const char *without, size_t *job_cnt) {
    char text[512] = "";
    size_t len = 0, left = 0;
    *job_cnt = 0;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        const char *job = fleet->files.at[i]->job;
        if (!job[0] || strcmp(job, without) == 0 || is_job_seen(fleet, i, job))
            continue;
        if (++*job_cnt > JOBS_NAMED)
            left++;
        else
            len +=
                (size_t)snprintf(text + len, sizeof text - len, "%s'%.60s'", len ? ", " : "", job);
    }
    if (left)
        snprintf(text + len, sizeof text - len, " and %zu more", left);
    const char *kept = sl_arena_copy(&fleet->arena, text, strlen(text));
    return kept ? kept : "";
}

/* The job with most files, or the one that was asked for. */
static sl_status choose_job(sl_fleet *fleet, const char *wanted, sl_error *err) {
    const char *best = NULL;
    size_t best_cnt = 0, others = 0;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        size_t cnt = 0;
        const char *job = fleet->files.at[i]->job;
        if (!job[0] || (best && strcmp(best, job) == 0))
            continue;
        for (size_t k = 0; k < fleet->files.cnt; k++)
            cnt += strcmp(fleet->files.at[k]->job, job) == 0;
        if (cnt > best_cnt)
            best_cnt = cnt, best = job;
    }
    fleet->job = wanted ? wanted : best ? best : "";
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        sl_rank_summary *s = fleet->files.at[i];
        bool is_other = best ? strcmp(s->job, fleet->job) != 0 : wanted != NULL;
        /* A file that names no job may be of any. */
        if (!is_other || (!s->job[0] && !wanted))
            continue;
        s->is_left_out = true;
        others++;
    }
    if (wanted && others == fleet->files.cnt) {
        const char *jobs = list_jobs(fleet, "", &(size_t){0});
        return sl_fail(err, SL_E_USAGE, "no file is of job '%s'%s%s", wanted,
                       jobs[0] ? "; there is " : "", jobs);
    }
    fleet->job = sl_arena_copy(&fleet->arena, fleet->job, strlen(fleet->job));
    if (!fleet->job)
        return sl_fail_no_memory(err, "the job");
    if (others && !wanted) {
        size_t job_cnt = 0;
        const char *jobs = list_jobs(fleet, fleet->job, &job_cnt);
        sl_fleet_note(fleet, "%zu file%s of %s (%s); --job compares those", others,
                      others == 1 ? " is" : "s are", job_cnt == 1 ? "another job" : "other jobs",
                      jobs);
    }
    return SL_OK;
}

/* Of two files of one rank: a child is less than its parent, one with steps more than one without, then the newer
 * start, then the one with more events. */
static bool is_better(const sl_rank_summary *a, const sl_rank_summary *b) {
    bool is_same_host = strcmp(a->host, b->host) == 0;
    if (is_same_host && a->parent_pid && a->parent_pid == b->pid)
        return false;
    if (is_same_host && b->parent_pid && b->parent_pid == a->pid)
        return true;
    if (a->has_steps != b->has_steps)
        return a->has_steps;
    return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->event_cnt > b->event_cnt;
}

static bool is_relative(const sl_rank_summary *a, const sl_rank_summary *b) {
    return strcmp(a->host, b->host) == 0 && a->pid &&
           (a->parent_pid == b->pid || b->parent_pid == a->pid ||
            (a->parent_pid && a->parent_pid == b->parent_pid && a->has_steps != b->has_steps));
}

static void drop_doubles(sl_fleet *fleet) {
    sl_rank_summary *kept = NULL;
    size_t doubles = 0;
    int32_t first = -1, last = -1;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        sl_rank_summary *s = fleet->files.at[i];
        if (s->is_left_out)
            continue;
        if (!kept || kept->rank.value != s->rank.value) {
            kept = s;
            continue;
        }
        bool is_double = !is_relative(kept, s);
        sl_rank_summary *loser = is_better(s, kept) ? kept : s;
        loser->is_left_out = true;
        kept = loser == s ? kept : s;
        if (!is_double || last == s->rank.value)
            continue;
        last = s->rank.value;
        first = doubles++ == 0 ? last : first;
    }
    if (doubles)
        sl_fleet_note(fleet,
                      "%zu rank%s more than one recording (such as rank %d); the newest with "
                      "steps counts",
                      doubles, doubles == 1 ? " has" : "s have", (int)first);
}

static sl_status add_rows(sl_fleet *fleet, sl_error *err) {
    int32_t claimed = 0, least = INT32_MAX;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        const sl_rank_summary *s = fleet->files.at[i];
        if (s->is_left_out || !s->rank.known)
            continue;
        if (s->rank.value < 0 || s->rank.value >= SL_RANKS_WORLD_MAX ||
            s->world_size.value > SL_RANKS_WORLD_MAX)
            return sl_fail(err, SL_E_LIMIT, "'%s': rank %d of %d: at most %d ranks are compared",
                           s->path, (int)s->rank.value, (int)s->world_size.value,
                           SL_RANKS_WORLD_MAX);
        sl_fleet_row row = {.rank = s->rank.value, .of = s, .group = SL_IDX_NONE};
        if (!sl_vec_push(&fleet->rows, row))
            return sl_fail_no_memory(err, "the ranks");
        fleet->event_cnt += s->event_cnt;
        fleet->world_size = sl_max_i64(fleet->world_size, s->rank.value + 1) & INT32_MAX;
        if (s->world_size.known) {
            claimed = claimed > s->world_size.value ? claimed : s->world_size.value;
            least = least < s->world_size.value ? least : s->world_size.value;
        }
    }
    if (claimed > least && least > 1)
        sl_fleet_note(fleet, "the files name world sizes from %d to %d; the largest counts",
                      (int)least, (int)claimed);
    fleet->world_size = fleet->world_size > claimed ? fleet->world_size : claimed;
    return SL_OK;
}

static sl_status list_missing(sl_fleet *fleet, sl_error *err) {
    size_t row = 0;
    for (int32_t rank = 0; rank < fleet->world_size; rank++) {
        if (row < fleet->rows.cnt && fleet->rows.at[row].rank == rank)
            row++;
        else if (!sl_vec_push(&fleet->missing, rank))
            return sl_fail_no_memory(err, "the missing ranks");
    }
    return SL_OK;
}

sl_status sl__fleet_choose(sl_fleet *fleet, const sl_fleet_options *options, sl_error *err) {
    size_t cut = 0;
    guess_ranks(fleet);
    if (fleet->files.cnt > 1)
        qsort(fleet->files.at, fleet->files.cnt, sizeof *fleet->files.at, compare_files);
    SL_TRY(choose_job(fleet, options->job, err));
    drop_doubles(fleet);
    SL_TRY(add_rows(fleet, err));
    SL_TRY(list_missing(fleet, err));
    for (size_t i = 0; i < fleet->rows.cnt; i++)
        cut += fleet->rows.at[i].of->is_cut;
    if (cut)
        sl_fleet_note(fleet,
                      "%zu file%s cut within the raw events; steps, totals and curves are complete",
                      cut, cut == 1 ? " is" : "s are");
    return SL_OK;
}

/* ---- all of it ---- */

static sl_status take_files(sl_fleet *fleet, sl_fleet_paths *paths, sl_error *err) {
    for (size_t i = 0; i < paths->files.cnt; i++) {
        sl_fleet_path *file = &paths->files.at[i];
        if (!file->summary) {
            fleet->unreadable_cnt++;
            sl_fleet_note(fleet, "'%.200s' is left out: %.300s", file->path,
                          sl__fleet_reason(file->err.text, file->path));
            continue;
        }
        file->summary->path = sl_arena_copy(&file->summary->arena, file->path, strlen(file->path));
        if (!file->summary->path || !sl_vec_push(&fleet->files, file->summary))
            return sl_fail_no_memory(err, "the ranks");
        file->summary = NULL; /* the fleet's */
    }
    return SL_OK;
}

static sl_status merge(sl_fleet *fleet, const sl_fleet_options *options, sl_telemetry *set,
                       sl_error *err) {
    SL_TRY(sl__fleet_choose(fleet, options, err));
    SL_TRY(sl__fleet_align(fleet, err));
    SL_TRY(sl__fleet_find_groups(fleet, err));
    SL_TRY(sl__fleet_find_divergence(fleet, err));
    SL_TRY(sl__fleet_find_failures(fleet, err));
    SL_TRY(sl__fleet_find_cause(fleet, options, err));
    SL_TRY(sl__fleet_find_nccl(fleet, err));
    return sl__fleet_find_figures(fleet, set, err);
}

static sl_status read_and_merge(sl_fleet *fleet, sl_fleet_paths *paths,
                                const sl_fleet_options *options, sl_error *err) {
    sl_telemetry *set = sl_telemetry_new();
    if (!set)
        return sl_fail_no_memory(err, "the samples");
    unsigned threads = options->thread_cnt ? options->thread_cnt : sl_usable_cpus();
    sl_status status = sl__fleet_paths_read(paths, threads, err);
    if (status == SL_OK)
        status = take_files(fleet, paths, err);
    if (status == SL_OK)
        status = sl__fleet_add_telemetry(fleet, paths, set, options, err);
    if (status == SL_OK && fleet->files.cnt == 0 && fleet->unreadable_cnt)
        status = sl_fail(err, SL_E_READ, "no file could be read; the first: %.330s",
                         fleet->notes.cnt ? fleet->notes.at[0] : "");
    if (status == SL_OK)
        status = merge(fleet, options, set, err);
    sl_telemetry_free(set);
    return status;
}

sl_status sl_fleet_read(const char *const *paths, size_t cnt, const sl_fleet_options *options,
                        sl_fleet **out, sl_error *err) {
    static const sl_fleet_options none;
    sl_fleet_paths found = {0};
    sl_error local = SL_ERROR_INIT;
    err = err ? err : &local;
    sl_fleet *fleet = calloc(1, sizeof *fleet);
    if (!fleet)
        return sl_fail_no_memory(err, "the ranks");
    fleet->job = "";
    sl_status status = sl__fleet_paths_find(&found, paths, cnt, err);
    if (status == SL_OK)
        status = read_and_merge(fleet, &found, options ? options : &none, err);
    sl__fleet_paths_fini(&found);
    if (status == SL_OK)
        *out = fleet;
    else
        sl_fleet_free(fleet);
    return status;
}

void sl_fleet_free(sl_fleet *fleet) {
    if (!fleet)
        return;
    for (size_t i = 0; i < fleet->files.cnt; i++) {
        sl_rank_summary_fini(fleet->files.at[i]);
        free(fleet->files.at[i]);
    }
    for (size_t i = 0; i < fleet->groups.cnt; i++) {
        sl_vec_free(&fleet->groups.at[i].ranks);
        sl_vec_free(&fleet->groups.at[i].members);
        free(fleet->groups.at[i].medians);
        free(fleet->groups.at[i].peaks);
    }
    sl_vec_free(&fleet->files);
    sl_vec_free(&fleet->rows);
    sl_vec_free(&fleet->missing);
    sl_vec_free(&fleet->groups);
    sl_vec_free(&fleet->events);
    sl_vec_free(&fleet->nccl);
    sl_vec_free(&fleet->notes);
    free(fleet->bin_times);
    sl_ranks_free(fleet->by_samples);
    sl_arena_fini(&fleet->arena);
    free(fleet);
}
