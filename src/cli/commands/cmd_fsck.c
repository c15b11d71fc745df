/* SPDX-License-Identifier: MIT */
/* Checks a recording and reports what it contains, what is missing and what is damaged. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/json_out.h"
#include "base/text/term.h"
#include "cli/core/cmd_list.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "log/read/log_fsck.h"

#define EXIT_DAMAGED 3

static const char *const replay_names[] = {
    [SL_FSCK_REPLAY_EQUAL] = "equal",
    [SL_FSCK_REPLAY_DIFFERS] = "differs",
    [SL_FSCK_REPLAY_LOST] = "not possible",
    [SL_FSCK_REPLAY_LIVE] = "not checked",
};

static const char *const replay_texts[] = {
    [SL_FSCK_REPLAY_EQUAL] = "replaying the events gives the same live blocks and totals",
    [SL_FSCK_REPLAY_DIFFERS] = "replaying the events gives different live blocks or totals",
    [SL_FSCK_REPLAY_LOST] = "not every event is left to replay",
    [SL_FSCK_REPLAY_LIVE] = "not replayed: the recording is still being written",
};

static const char *const ending_texts[] = {
    [SL_LOG_CLOSED] = "closed by its process",
    [SL_LOG_LIVE] = "still being written",
    [SL_LOG_KILLED] = "cut short: the process ended without closing it",
    [SL_LOG_LEFT] = "complete: the process ended by _exit, without closing it",
    [SL_LOG_UNCLEAR] = "not closed; this file system cannot tell whether the process still runs",
};

/* ---- text ---- */

static const char *count(uint64_t n) {
    static char ring[8][SL_HUMAN_CAP]; /* enough for one printf */
    static unsigned next;
    return sl_human_count(ring[next++ % 8], n);
}

#define LABEL_COLUMNS 11

/* "label      text", wrapped to the terminal's width. */
static void put_row(const char *label, const char *fmt, ...) SL_PRINTF(2, 3);

static void put_row(const char *label, const char *fmt, ...) {
    char text[SL_ERROR_TEXT_CAP], first[LABEL_COLUMNS + 1];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    snprintf(first, sizeof first, "%-*s", LABEL_COLUMNS, label);
    sl_term_wrap(stdout, &(sl_wrap){.first = first, .rest = "           "}, text);
}

static void print_identity(const sl_log_reader *log, const sl_fsck_report *r) {
    const sl_fmt_header *h = sl_log_header(log);
    char duration[SL_HUMAN_CAP], rank[32] = "", world[32] = "";
    if (sl_log_rank(log) >= 0)
        snprintf(rank, sizeof rank, ", rank %d", sl_log_rank(log));
    if (sl_log_world_size(log) >= 0)
        snprintf(world, sizeof world, " of %lld", (long long)sl_log_world_size(log));
    put_row("format", "%u.%u, written by %.31s", h->version_major, h->version_minor, h->writer);
    put_row("process", "%u on %.127s%s%s", h->pid, h->host[0] ? h->host : "an unnamed host", rank,
            world);
    put_row("ending", "%s, %s after its start", ending_texts[r->ending],
            sl_human_duration_us(duration, (int64_t)(r->duration_ns / 1000)));
}

static void print_contents(const sl_fsck_report *r) {
    char bytes[SL_HUMAN_CAP];
    put_row("events", "%s in the ring, %s overwritten, %s damaged, %s in flight at the end",
            count(r->events), count(r->lost), count(r->torn), count(r->in_flight));
    put_row("totals",
            "%s site%s, %s live block%s, %s live; %s completed from events in flight, %s uncertain",
            count(r->sites), sl_plural(r->sites), count(r->live_blocks), sl_plural(r->live_blocks),
            sl_human_bytes(bytes, r->live_bytes), count(r->repaired_sites),
            count(r->uncertain_sites));
    put_row("replay", "%s", replay_texts[r->replay]);
    put_row("lists",
            "%s mark%s (%s overwritten), %s alert%s (%s), %s out-of-memory (%s), %s thread%s",
            count(r->marks), sl_plural(r->marks), count(r->marks_lost), count(r->alerts),
            sl_plural(r->alerts), count(r->alerts_lost), count(r->ooms), count(r->ooms_lost),
            count(r->threads), sl_plural(r->threads));
}

/* Columns of the table of regions; a narrower terminal gets a sentence per region. */
#define TABLE_COLUMNS 68

static void print_section(const char *name, const sl_fsck_section *s) {
    if (sl_term_columns() < TABLE_COLUMNS)
        put_row(name, "%s used, %s reserved, capacity %s, %s incomplete", count(s->used),
                count(s->reserved), count(s->cap), count(s->incomplete));
    else
        printf("%-10s %14s %14s %14s %11s\n", name, count(s->used), count(s->reserved),
               count(s->cap), count(s->incomplete));
}

static void print_sections(const sl_fsck_report *r) {
    putchar('\n');
    if (sl_term_columns() >= TABLE_COLUMNS)
        printf("%-10s %14s %14s %14s %11s\n", "region", "used", "reserved", "capacity",
               "incomplete");
    for (size_t i = 0; i < r->sections.cnt; i++) {
        const sl_fsck_section *s = &r->sections.at[i];
        char name[32];
        if (s->kind == SL_SECTION_LIVE)
            snprintf(name, sizeof name, "live %" PRIu32, s->level);
        else
            snprintf(name, sizeof name, "%s", sl_section_name(s->kind));
        print_section(name, s);
    }
}

static void print_health(const sl_fsck_report *r) {
    bool is_first = true;
    for (int i = 0; i < SL_HEALTH_LIMIT; i++) {
        char first[64];
        if (r->health[i] == 0)
            continue;
        snprintf(first, sizeof first, "%-17s %14s  ", sl_health_name((sl_health_kind)i),
                 count(r->health[i]));
        if (is_first)
            putchar('\n');
        sl_term_wrap(stdout, &(sl_wrap){.first = first, .rest = "    "},
                     sl_health_meaning((sl_health_kind)i));
        is_first = false;
    }
}

static void print_problems(const sl_fsck_report *r) {
    char text[SL_ERROR_TEXT_CAP + 32];
    putchar('\n');
    if (r->problems.cnt == 0)
        printf("no damage found\n");
    for (size_t i = 0; i < r->problems.cnt; i++) {
        snprintf(text, sizeof text, "damage (%s): %s", r->problems.at[i].rule,
                 r->problems.at[i].text);
        sl_term_wrap(stdout, &(sl_wrap){.rest = "  "}, text);
    }
}

static void print_text(const char *path, const sl_log_reader *log, const sl_fsck_report *r) {
    sl_term_printf(stdout, "%-*s%s\n", LABEL_COLUMNS, "recording", path); /* whole: to be copied */
    print_identity(log, r);
    print_contents(r);
    print_sections(r);
    print_health(r);
    print_problems(r);
}

/* ---- JSON ---- */

static void json_sections(sl_json_out *json, const sl_fsck_report *r) {
    sl_json_key(json, "regions");
    sl_json_begin_array(json);
    for (size_t i = 0; i < r->sections.cnt; i++) {
        const sl_fsck_section *s = &r->sections.at[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "name", sl_section_name(s->kind));
        sl_json_key_u64(json, "level", s->level);
        sl_json_key_u64(json, "used", s->used);
        sl_json_key_u64(json, "reserved", s->reserved);
        sl_json_key_u64(json, "capacity", s->cap);
        sl_json_key_u64(json, "incomplete", s->incomplete);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void json_problems(sl_json_out *json, const sl_fsck_report *r) {
    sl_json_key(json, "problems");
    sl_json_begin_array(json);
    for (size_t i = 0; i < r->problems.cnt; i++) {
        const sl_fsck_problem *p = &r->problems.at[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "rule", p->rule);
        sl_json_key(json, "position");
        if (p->position >= 0)
            sl_json_i64(json, p->position);
        else
            sl_json_null(json);
        sl_json_key_cstr(json, "text", p->text);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void json_contents(sl_json_out *json, const sl_fsck_report *r) {
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"duration_ns", r->duration_ns},
        {"events", r->events},
        {"overwritten", r->lost},
        {"damaged", r->torn},
        {"in_flight", r->in_flight},
        {"sites", r->sites},
        {"completed_sites", r->repaired_sites},
        {"uncertain_sites", r->uncertain_sites},
        {"live_blocks", r->live_blocks},
        {"live_bytes", r->live_bytes},
        {"marks", r->marks},
        {"marks_overwritten", r->marks_lost},
        {"alerts", r->alerts},
        {"alerts_overwritten", r->alerts_lost},
        {"ooms", r->ooms},
        {"ooms_overwritten", r->ooms_lost},
        {"threads", r->threads},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        sl_json_key_u64(json, rows[i].key, rows[i].value);
}

static void print_json(sl_json_out *json, const char *path, const sl_fsck_report *r) {
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "schema", "stormlog.fsck/1");
    sl_json_key_cstr(json, "path", path);
    sl_json_key_cstr(json, "ending", sl_log_ending_name(r->ending));
    sl_json_key_cstr(json, "replay", replay_names[r->replay]);
    json_contents(json, r);
    sl_json_key(json, "health");
    sl_json_begin_object(json);
    for (int i = 0; i < SL_HEALTH_LIMIT; i++)
        sl_json_key_u64(json, sl_health_name((sl_health_kind)i), r->health[i]);
    sl_json_end_object(json);
    json_sections(json, r);
    json_problems(json, r);
    sl_json_end_object(json);
}

/* ---- the command ---- */

/* Exit code of this recording, or a failure. json NULL = text. */
static int check(sl_log_reader *log, const char *path, sl_json_out *json, sl_error *err) {
    sl_fsck_report report;
    sl_status status = sl_log_fsck(log, &report, err);
    if (status < 0)
        return sl_error_prefix(err, "cannot check '%s'", path);
    if (json)
        print_json(json, path, &report);
    else
        print_text(path, log, &report);
    int code = report.problems.cnt > 0 ? EXIT_DAMAGED : 0;
    sl_log_fsck_fini(&report);
    return code;
}

static int check_file(const char *path, sl_json_out *json, sl_error *err) {
    sl_log_reader *log;
    if (sl_log_open(path, &log, err) < 0)
        return sl_error_prefix(err, "cannot read '%s'", path);
    int code = check(log, path, json, err);
    sl_log_reader_close(log);
    return code;
}

/* Checks all recordings, also after one that cannot be read: finding that one is the purpose. */
static int check_all(const sl_recordings *list, sl_json_out *json, sl_error *err) {
    int worst = 0;
    for (size_t i = 0; i < list->paths.cnt; i++) {
        sl_error failed = SL_ERROR_INIT;
        if (i && !json)
            printf("\n");
        int code = check_file(list->paths.at[i], json, &failed);
        if (code < 0 && worst >= 0)
            *err = failed;
        if (worst >= 0 && (code < 0 || code > worst))
            worst = code;
    }
    return worst;
}

static int run(const sl_opts *opts, sl_error *err) {
    bool is_json = strcmp(sl_opts_text(opts, "format"), "json") == 0;
    sl_recordings list;
    sl_json_out json;
    SL_TRY(sl_recordings_find(&list, opts->operands.at[0], SL_FIND_RECORDINGS, err));
    sl_json_init(&json, stdout, 2);
    if (is_json && list.is_folder)
        sl_json_begin_array(&json);
    int code = check_all(&list, is_json ? &json : NULL, err);
    if (is_json && list.is_folder)
        sl_json_end_array(&json);
    sl_recordings_fini(&list);
    sl_status status = is_json && code >= 0 ? sl_json_finish(&json, err) : SL_OK;
    return status < 0 ? (int)status : code;
}

static const sl_opt options[] = {
    SL_SHARED_FORMAT("output format"),
};

const sl_cmd sl_cmd_fsck = {
    .name = "fsck",
    .operands = "FILE|DIR",
    .operand_min = 1,
    .operand_max = 1,
    .summary = "check a recording and report what is missing from it",
    .description =
        "Reads every region of a recording, compares totals, live blocks and events, and reports "
        "what was overwritten, dropped, or in flight when the process ended. None of that is "
        "damage: the exit code is 0. Damage is listed with its byte position; the exit code is "
        "then 3. The rules are numbered as in docs/format.md. In a run folder every recording is "
        "checked; the JSON is then an array.",
    .examples = "stormlog fsck run.slog\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
