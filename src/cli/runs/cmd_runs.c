/* SPDX-License-Identifier: MIT */
/* `stormlog runs`: what was recorded here, and cleaning it up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "api/run_folder.h"
#include "base/text/human.h"
#include "base/text/json_out.h"
#include "base/text/term.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/progress.h"
#include "cli/core/shared_options.h"
#include "cli/run/run_verdict.h"
#include "cli/runs/run_list.h"
#include "cli/runs/run_prune.h"

#define SECOND_US    INT64_C(1000000)
/* Narrower, the name of a run has a line of its own. */
#define WIDE_COLUMNS 60
#define COMMAND_MIN  12
/* From here on the list suggests to prune; the number is that of the suggestion. */
#define MANY_RUNS    10

/* ---- the list ---- */

/* "3 d" for three days and four hours: enough to choose by. */
static const char *say_age(char buf[SL_HUMAN_CAP], int64_t age_s) {
    if (age_s < 1)
        return strcpy(buf, "0 s");
    sl_human_duration_us(buf, age_s * SECOND_US);
    char *space = strchr(buf, ' ');
    char *second = space ? strchr(space + 1, ' ') : NULL;
    if (second)
        *second = '\0';
    char *point = strchr(buf, '.');
    if (point) /* "12.0 s" */
        memmove(point, space, strlen(space) + 1);
    return buf;
}

/* One word: the verdict, or why there is none. */
static const char *say_verdict(const sl_run_row *row, const sl_run_verdict *verdict) {
    if (row->state == SL_RUN_BROKEN || row->state == SL_RUN_EMPTY)
        return sl_run_state_name(row->state);
    if (row->state == SL_RUN_RUNNING)
        return "running";
    return !verdict ? "-" : verdict->sentence[0] ? sl_verdict_name(verdict->verdict) : "broken";
}

static void print_head(size_t columns) {
    if (columns >= WIDE_COLUMNS)
        printf("%-13s %9s %7s  %s\n", "verdict", "size", "age", "run, command");
}

/* The name is never cut: it is what one copies. */
static void print_row(const sl_run_row *row, const sl_run_verdict *verdict, int64_t now_s) {
    char size[SL_HUMAN_CAP], age[SL_HUMAN_CAP];
    size_t columns = sl_term_columns();
    const char *words = row->problem[0] ? row->problem : row->command;
    size_t used =
        (size_t)printf("%-13s %9s %7s", say_verdict(row, verdict), sl_human_bytes(size, row->bytes),
                       say_age(age, now_s - row->start_s));
    if (columns < WIDE_COLUMNS) {
        sl_term_printf(stdout, "\n  %s", row->name);
        used = 2 + sl_term_width(row->name, strlen(row->name));
    } else {
        sl_term_printf(stdout, "  %s", row->name);
        used += 2 + sl_term_width(row->name, strlen(row->name));
    }
    if (used + 2 + COMMAND_MIN > columns) {
        printf("\n   ");
        used = 3;
    }
    size_t room = columns - used - 2, len = strlen(words);
    bool is_cut = sl_term_width(words, len) > room;
    size_t shown = is_cut ? sl_term_fit(words, len, room - 3) : len;
    if (*words)
        sl_term_printf(stdout, "  %.*s%s", (int)shown, words, is_cut ? "..." : "");
    putchar('\n');
}

/* What to type next, where there is something to do. */
static const char *say_hint(size_t run_cnt) {
    if (run_cnt == 0)
        return " 'stormlog run -- CMD' records one.";
    return run_cnt > MANY_RUNS
               ? " 'stormlog runs prune --keep 10' removes the older ones; 'stormlog "
                 "compact' makes recordings smaller."
               : "";
}

static void print_end(const sl_run_list *list, const char *folder) {
    char text[SL_RUN_PATH_CAP + 300], size[SL_HUMAN_CAP];
    snprintf(text, sizeof text, "%zu run%s, %s in %s.%s", list->rows.cnt, sl_plural(list->rows.cnt),
             sl_human_bytes(size, list->bytes), folder, say_hint(list->rows.cnt));
    if (list->rows.cnt)
        putchar('\n');
    sl_term_wrap(stdout, &(sl_wrap){0}, text);
    if (list->others_cnt)
        printf("Skipped: %zu run%s of other users.\n", list->others_cnt,
               sl_plural(list->others_cnt));
}

static void json_row(sl_json_out *json, const sl_run_row *row, const sl_run_verdict *verdict,
                     int64_t now_s) {
    bool is_judged = verdict && verdict->sentence[0];
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "path", row->path);
    sl_json_key_cstr(json, "state", sl_run_state_name(row->state));
    sl_json_key_cstr(json, "verdict", is_judged ? sl_verdict_name(verdict->verdict) : NULL);
    sl_json_key_cstr(json, "headline", is_judged ? verdict->sentence : NULL);
    sl_json_key_u64(json, "bytes", row->bytes);
    sl_json_key_i64(json, "start_time_s", row->start_s);
    sl_json_key_i64(json, "age_s", now_s - row->start_s);
    sl_json_key_cstr(json, "command", row->command[0] ? row->command : NULL);
    sl_json_key_u64(json, "recordings", row->recording_cnt);
    sl_json_key_u64(json, "unreadable_recordings", row->unreadable_cnt);
    sl_json_key_cstr(json, "problem", row->problem[0] ? row->problem : NULL);
    sl_json_end_object(json);
}

/* A run of which no header can be read has no verdict either. */
static const sl_run_verdict *judge(const sl_run_row *row, bool is_wanted) {
    static sl_run_verdict verdict; /* too large for a stack frame; one at a time */
    if (!is_wanted || row->recording_cnt == row->unreadable_cnt)
        return NULL;
    sl_run_verdict_of(&verdict, row->path);
    return &verdict;
}

/* Row by row, so that the newest are there before the oldest are read. */
static void list_rows(const sl_run_list *list, size_t cnt, bool is_judged, sl_json_out *json) {
    int64_t now_s = time(NULL);
    sl_progress progress;
    sl_progress_begin(&progress, SL_PROGRESS_COUNT, "judging", "runs");
    for (size_t i = 0; i < cnt; i++) {
        sl_progress_update(&progress, i, cnt);
        const sl_run_verdict *verdict = judge(list->rows.at[i], is_judged);
        sl_progress_hide();
        if (json)
            json_row(json, list->rows.at[i], verdict, now_s);
        else
            print_row(list->rows.at[i], verdict, now_s);
        fflush(stdout);
        sl_progress_show();
    }
    sl_progress_end(&progress);
}

static int list(const sl_opts *opts, const sl_run_list *runs, sl_error *err) {
    bool is_judged = !sl_opts_flag(opts, "no-verdict");
    size_t cnt = runs->rows.cnt;
    if (sl_opts_is_given(opts, "last") && (size_t)sl_opts_number(opts, "last") < cnt)
        cnt = (size_t)sl_opts_number(opts, "last");
    if (strcmp(sl_opts_text(opts, "format"), "txt") == 0) {
        if (cnt)
            print_head(sl_term_columns());
        list_rows(runs, cnt, is_judged, NULL);
        print_end(runs, sl_opts_text(opts, "dir"));
        return 0;
    }
    sl_json_out json;
    sl_json_init(&json, stdout, 2);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", "stormlog.runs/1");
    sl_json_key_cstr(&json, "folder", sl_opts_text(opts, "dir"));
    sl_json_key_u64(&json, "total_runs", runs->rows.cnt);
    sl_json_key_u64(&json, "total_bytes", runs->bytes);
    sl_json_key_u64(&json, "runs_of_others", runs->others_cnt);
    sl_json_key(&json, "runs");
    sl_json_begin_array(&json);
    list_rows(runs, cnt, is_judged, &json);
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

/* ---- prune ---- */

static sl_prune_rules rules_of(const sl_opts *opts) {
    return (sl_prune_rules){
        .has_keep = sl_opts_is_given(opts, "keep"),
        .keep_cnt = (size_t)sl_opts_number(opts, "keep"),
        .has_age = sl_opts_is_given(opts, "older-than"),
        .older_s = sl_opts_number(opts, "older-than") / SECOND_US,
        .has_size = sl_opts_is_given(opts, "max-size"),
        .size_bytes = sl_opts_get(opts, "max-size")->bytes,
        .now_s = time(NULL),
    };
}

static void say_plan(const sl_run_list *list, const sl_prune_fate *fates,
                     const sl_prune_rules *rules, bool is_dry) {
    char size[SL_HUMAN_CAP], age[SL_HUMAN_CAP], buf[160];
    uint64_t bytes = 0;
    size_t cnt = 0;
    for (size_t i = 0; i < list->rows.cnt; i++) {
        const sl_run_row *row = list->rows.at[i];
        say_age(age, rules->now_s - row->start_s);
        if (fates[i] == SL_PRUNE_PROTECTED)
            sl_term_printf(stdout, "keep    %s: %s\n", row->path,
                           sl_run_protection(row, rules->now_s, buf));
        if (fates[i] != SL_PRUNE_REMOVE)
            continue;
        sl_term_printf(stdout, "remove  %s (%s, %s old)\n", row->path,
                       sl_human_bytes(size, row->bytes), age);
        bytes += row->bytes;
        cnt++;
    }
    if (cnt)
        printf("%s %zu of %zu run%s, %s\n", is_dry ? "would remove" : "removing", cnt,
               list->rows.cnt, sl_plural(list->rows.cnt), sl_human_bytes(size, bytes));
    else
        printf("nothing to remove: %zu run%s, %s\n", list->rows.cnt, sl_plural(list->rows.cnt),
               sl_human_bytes(size, list->bytes));
    fflush(stdout);
}

/* Goes on after a failure; the last one is the command's. */
static sl_status remove_all(const sl_run_list *list, const sl_prune_fate *fates, sl_error *err) {
    sl_status worst = SL_OK;
    for (size_t i = list->rows.cnt; i-- > 0;) {
        sl_error failed = SL_ERROR_INIT;
        if (fates[i] != SL_PRUNE_REMOVE || sl_run_remove(list->rows.at[i], &failed) == SL_OK)
            continue;
        if (worst < 0)
            sl_cli_complain("%s", err->text);
        *err = failed;
        worst = failed.code;
    }
    return worst;
}

static int prune(const sl_opts *opts, const sl_run_list *list, sl_error *err) {
    sl_prune_rules rules = rules_of(opts);
    bool is_dry = sl_opts_flag(opts, "dry-run");
    if (!rules.has_keep && !rules.has_age && !rules.has_size)
        return sl_fail(err, SL_E_USAGE,
                       "'prune' needs a rule: --keep N, --older-than 30d or --max-size 5GiB");
    sl_prune_fate *fates = calloc(list->rows.cnt + 1, sizeof *fates);
    if (!fates)
        return sl_fail_no_memory(err, "the list of runs");
    sl_run_prune_plan(list, &rules, fates);
    say_plan(list, fates, &rules, is_dry);
    sl_status status = is_dry ? SL_OK : remove_all(list, fates, err);
    if (!is_dry)
        sl_run_fix_latest(sl_opts_text(opts, "dir"), list, fates);
    free(fates);
    return status;
}

/* ---- the command ---- */

/* Options of one of the two that were given to the other. */
static sl_status check_options(const sl_opts *opts, bool is_prune, sl_error *err) {
    static const struct {
        const char *name;
        bool is_prune;
    } rows[] = {{"keep", true},  {"older-than", true},  {"max-size", true}, {"dry-run", true},
                {"last", false}, {"no-verdict", false}, {"format", false}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (rows[i].is_prune != is_prune && sl_opts_is_typed(opts, rows[i].name))
            return sl_fail(err, SL_E_USAGE, "'--%s' is an option of 'runs %s'", rows[i].name,
                           rows[i].is_prune ? "prune" : "list");
    return SL_OK;
}

static int run(const sl_opts *opts, sl_error *err) {
    const char *what = opts->operands.cnt ? opts->operands.at[0] : "list";
    const char *folder = sl_opts_text(opts, "dir");
    bool is_prune = strcmp(what, "prune") == 0;
    struct stat info;
    sl_run_list runs;
    if (!is_prune && strcmp(what, "list") != 0)
        return sl_fail(err, SL_E_USAGE, "unknown '%s'; expected list or prune", what);
    SL_TRY(check_options(opts, is_prune, err));
    if (strlen(folder) > SL_RUN_PATH_CAP - 300)
        return sl_fail(err, SL_E_USAGE, "the folder's name is too long");
    /* Nothing has been recorded here yet: an empty list, unless a folder was named. */
    if (!sl_opts_is_given(opts, "dir") && stat(folder, &info) != 0)
        runs = (sl_run_list){0};
    else
        SL_TRY(sl_run_list_read(&runs, folder, err));
    int result = (is_prune ? prune : list)(opts, &runs, err);
    sl_run_list_fini(&runs);
    return result;
}

static const sl_opt options[] = {
    {.name = "dir",
     .short_name = 'C',
     .type = SL_OPT_FILE,
     .metavar = "DIR",
     .initial = SL_RUNS_FOLDER,
     .help = "folder that contains the runs"},
    SL_SHARED_FORMAT("list: output format"),
    {.name = "last",
     .short_name = 'n',
     .type = SL_OPT_INT,
     .min = 1,
     .max = 1000000,
     .help = "list: only the newest N runs"},
    {.name = "no-verdict",
     .type = SL_OPT_FLAG,
     .help = "list: skip the verdicts, which is faster with large recordings"},
    {.name = "keep",
     .type = SL_OPT_INT,
     .max = 1000000,
     .setter = SL_SET_BY_USER,
     .help = "prune: keep the newest N runs"},
    {.name = "older-than",
     .type = SL_OPT_DURATION,
     .setter = SL_SET_BY_USER,
     .help = "prune: only runs older than this, such as 30d"},
    {.name = "max-size",
     .type = SL_OPT_SIZE,
     .setter = SL_SET_BY_USER,
     .help = "prune: only the oldest runs, until the others need at most this much space"},
    {.name = "dry-run",
     .type = SL_OPT_FLAG,
     .help = "prune: print what would be removed and remove nothing"},
};

const sl_cmd sl_cmd_runs = {
    .name = "runs",
    .operands = "[list|prune]",
    .operand_max = 1,
    .operand_choices = "list|prune",
    .summary = "list recorded runs, or remove old ones",
    .description =
        "'runs' and 'runs list' print your runs in this folder, newest first: the verdict of "
        "'stormlog analyze', the space on disk, the age, the name and the command. A run that is "
        "empty, damaged or still being written is marked as such. Every recording is analyzed for "
        "its verdict; --no-verdict skips that.\n\n"
        "'runs prune' prints and removes the runs that match every given rule. It never removes a "
        "run that is still being written, a run of another user, or a folder with a file that "
        "stormlog did not write. To make recordings smaller instead, use 'stormlog compact'.",
    .examples = "stormlog runs\n"
                "stormlog runs prune --keep 10 --dry-run\n"
                "  what would be removed\n"
                "stormlog runs prune --older-than 30d --keep 3\n"
                "  runs older than a month, except the newest three\n"
                "stormlog runs prune --max-size 5GiB\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
