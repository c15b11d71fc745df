/* SPDX-License-Identifier: MIT */
/* The merge for people: on a terminal, and as Markdown. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "ranks/fleet_format.h"
#include "ranks/fleet_impl.h"
#include "run/process_tree.h"

/* A table of this many ranks is shown whole. */
#define ROWS_WHOLE  16u
#define CHAIN_MAX   12u
#define GROUPS_MAX  12u
#define RANGES_MAX  12u
#define NOTES_MAX   20u
#define TABLE_WIDTH 78u

static void put_row(FILE *to, const char *label, const char *text) {
    char first[24];
    snprintf(first, sizeof first, "%-9s", label);
    sl_term_wrap(to, &(sl_wrap){.first = first, .rest = "         "}, text);
}

static void put_more(FILE *to, size_t cnt) {
    char text[48];
    snprintf(text, sizeof text, "and %zu more", cnt);
    put_row(to, "", text);
}

/* What is said about a rank in the table: the first event of it, else how it ended. */
static const char *status_of(const sl_fleet *fleet, const sl_fleet_row *row) {
    for (size_t i = 0; i < fleet->events.cnt; i++)
        if (fleet->events.at[i].rank == row->rank)
            return sl_rank_fault_name(fleet->events.at[i].fault);
    return row->of->source == SL_SOURCE_SLOG ? sl_process_end_name(row->of->end) : "";
}

static bool has_event(const sl_fleet *fleet, int32_t rank) {
    for (size_t i = 0; i < fleet->events.cnt; i++)
        if (fleet->events.at[i].rank == rank)
            return true;
    return false;
}

/* Of a large fleet: ranks with an event, the largest and smallest peak, and the clock that is furthest off. */
static bool *choose_rows(const sl_fleet *fleet, bool is_all) {
    bool *is_shown = calloc(fleet->rows.cnt + 1, sizeof *is_shown);
    size_t most = 0, least = 0, off = 0, shown = 0;
    bool takes_all = is_all || fleet->rows.cnt <= ROWS_WHOLE;
    for (size_t i = 0; is_shown && i < fleet->rows.cnt; i++) {
        const sl_fleet_row *r = fleet->rows.at;
        is_shown[i] = takes_all || (shown < ROWS_WHOLE && has_event(fleet, r[i].rank));
        shown += is_shown[i];
        most = r[i].of->peak_bytes.value > r[most].of->peak_bytes.value ? i : most;
        least = r[i].of->peak_bytes.value < r[least].of->peak_bytes.value ? i : least;
        off = llabs(r[i].offset_ns) > llabs(r[off].offset_ns) ? i : off;
    }
    if (is_shown && fleet->rows.cnt)
        is_shown[0] = is_shown[most] = is_shown[least] = is_shown[off] = true;
    return is_shown;
}

sl_fleet_row_texts sl__fleet_row_texts(const sl_fleet *fleet, const sl_fleet_row *row) {
    sl_fleet_row_texts t = {.peak = "-", .last = "-", .clock = "-", .steps = "-"};
    const sl_rank_summary *s = row->of;
    snprintf(t.rank, sizeof t.rank, "%d", (int)row->rank);
    snprintf(t.host, sizeof t.host, "%.16s", s->host[0] ? s->host : "-");
    sl_term_clean(t.host);
    if (s->has_steps)
        snprintf(t.steps, sizeof t.steps, "%" PRIu64, s->last_step);
    if (s->peak_bytes.known)
        sl_human_bytes(t.peak, s->peak_bytes.value);
    sl_maybe_u64 last = sl__rank_last_step_bytes(s);
    if (last.known)
        sl_human_bytes(t.last, last.value);
    if (row->has_offset)
        snprintf(t.clock, sizeof t.clock, "%+.3f s", (double)row->offset_ns / 1e9);
    snprintf(t.status, sizeof t.status, "%s", status_of(fleet, row));
    return t;
}

static void print_rows(FILE *to, const sl_fleet *fleet, bool is_all) {
    bool *is_shown = choose_rows(fleet, is_all);
    bool is_narrow = sl_term_columns() < TABLE_WIDTH;
    size_t left = 0;
    if (!is_narrow)
        fprintf(to, "%6s  %-16s %9s %10s %10s %11s  %s\n", "rank", "host",
                fleet->is_by_step ? "last step" : "steps", "peak", "last", "clock", "status");
    for (size_t i = 0; is_shown && i < fleet->rows.cnt; i++) {
        sl_fleet_row_texts t = sl__fleet_row_texts(fleet, &fleet->rows.at[i]);
        left += !is_shown[i];
        if (!is_shown[i])
            continue;
        char text[400];
        snprintf(text, sizeof text,
                 is_narrow ? "rank %s on %s: last step %s, peak %s, last %s, clock %s, %s"
                           : "%6s  %-16s %9s %10s %10s %11s  %s",
                 t.rank, t.host, t.steps, t.peak, t.last, t.clock, t.status);
        if (is_narrow)
            sl_term_wrap(to, &(sl_wrap){.rest = "    "}, text);
        else
            fprintf(to, "%s\n", text);
    }
    if (left)
        fprintf(to, "and %zu more rank%s (--all shows them)\n", left, sl_plural(left));
    fputc('\n', to);
    free(is_shown);
}

/* Missing ranks have a row of their own: by the hundred they would hide the rest of the chain. */
static size_t chain_length(const sl_fleet *fleet) {
    size_t cnt = 0;
    for (size_t i = 0; i < fleet->events.cnt; i++)
        cnt += fleet->events.at[i].fault != SL_RANK_FAULT_MISSING;
    return cnt;
}

static const char *followers_text(sl_fleet *fleet) {
    char after[SL_HUMAN_CAP];
    const char *text = sl_arena_printf(
        &fleet->arena, "%zu rank%s made no further step and ended %s later, or after that",
        fleet->followers, sl_plural(fleet->followers),
        sl_human_duration_us(after, fleet->follow_ns / 1000));
    return text ? text : "";
}

static void print_chain(FILE *to, sl_fleet *fleet) {
    size_t shown = 0, length = chain_length(fleet);
    for (size_t i = 0; i < fleet->events.cnt && shown < CHAIN_MAX; i++) {
        const sl_fleet_event *e = &fleet->events.at[i];
        if (e->fault == SL_RANK_FAULT_MISSING)
            continue;
        const char *text = sl_fleet_event_text(&fleet->arena, fleet, e);
        double since = (double)(e->time_ns - fleet->base_ns) / 1e9;
        const char *line =
            e->has_time
                ? sl_arena_printf(&fleet->arena, "%.1f s  rank %d: %s", since, (int)e->rank, text)
                : sl_arena_printf(&fleet->arena, "rank %d: %s", (int)e->rank, text);
        put_row(to, shown++ ? "" : "chain", line ? line : "");
    }
    if (length > shown)
        put_more(to, length - shown);
    if (fleet->followers)
        put_row(to, "", followers_text(fleet));
}

static void print_groups(FILE *to, sl_fleet *fleet) {
    char level[SL_HUMAN_CAP], peak[SL_HUMAN_CAP];
    for (size_t g = 0; g < fleet->groups.cnt && g < GROUPS_MAX && fleet->groups.cnt > 1; g++) {
        const sl_fleet_group *group = &fleet->groups.at[g];
        const char *text = sl_arena_printf(
            &fleet->arena, "%zu rank%s at %s, peak %s: %s", group->ranks.cnt,
            sl_plural(group->ranks.cnt),
            sl_human_bytes(level, (uint64_t)sl_max_i64(0, group->level_bytes)),
            sl_human_bytes(peak, (uint64_t)sl_max_i64(0, group->peak_bytes)),
            sl_fleet_ranges(&fleet->arena, group->ranks.at, group->ranks.cnt, RANGES_MAX));
        put_row(to, g ? "" : "groups", text ? text : "");
    }
}

static void print_nccl(FILE *to, sl_fleet *fleet) {
    char least[SL_HUMAN_CAP], most[SL_HUMAN_CAP];
    for (size_t i = 0; i < fleet->nccl.cnt && i < 8; i++) {
        const sl_fleet_nccl *n = &fleet->nccl.at[i];
        const char *text = sl_arena_printf(&fleet->arena, "%s to %s on %zu rank%s, made at %s",
                                           sl_human_bytes(least, n->least_bytes),
                                           sl_human_bytes(most, n->most_bytes), n->rank_cnt,
                                           sl_plural(n->rank_cnt), n->line);
        put_row(to, i ? "" : "NCCL", text ? text : "");
    }
}

/* The known tool's answer, where there are samples for it. */
static void print_suspect(FILE *to, sl_fleet *fleet) {
    const sl_ranks *ranks = fleet->by_samples;
    char grown[SL_HUMAN_CAP], lead[SL_HUMAN_CAP];
    if (!ranks || ranks->suspects.cnt == 0)
        return;
    const sl_rank_suspect *top = &ranks->suspects.at[0];
    const char *text = sl_arena_printf(
        &fleet->arena,
        "rank %d rose first: %s in %zu sample%s, %s before the onset (confidence %s)", top->rank,
        sl_human_bytes_delta(grown, top->peak_delta_bytes), top->spike_window_samples,
        sl_plural(top->spike_window_samples), sl_human_duration_us(lead, top->lead_ns / 1000),
        sl_rank_confidence_name(top->confidence));
    put_row(to, "samples", text ? text : "");
}

void sl_fleet_text(FILE *to, sl_fleet *fleet, bool is_all) {
    char events[SL_HUMAN_CAP];
    const char *title = sl_arena_printf(
        &fleet->arena, "%zu of %d rank%s%s%s, %s event%s, aligned by %s", fleet->rows.cnt,
        (int)fleet->world_size, sl_plural((uint64_t)fleet->world_size),
        fleet->job[0] ? " of job " : "", fleet->job, sl_human_count(events, fleet->event_cnt),
        sl_plural(fleet->event_cnt), fleet->is_by_step ? "step" : "first reading");
    sl_term_wrap(to, &(sl_wrap){.first = "", .rest = ""}, title ? title : "");
    fputc('\n', to);
    print_rows(to, fleet, is_all);
    put_row(to, "first", sl_fleet_sentence(fleet));
    print_chain(to, fleet);
    put_row(to, "missing",
            fleet->missing.cnt
                ? sl_fleet_ranges(&fleet->arena, fleet->missing.at, fleet->missing.cnt, RANGES_MAX)
                : "none");
    print_groups(to, fleet);
    print_nccl(to, fleet);
    print_suspect(to, fleet);
    for (size_t i = 0; i < fleet->notes.cnt && i < NOTES_MAX; i++)
        put_row(to, i ? "" : "notes", fleet->notes.at[i]);
    if (fleet->notes.cnt > NOTES_MAX)
        put_more(to, fleet->notes.cnt - NOTES_MAX);
}

/* ---- Markdown ---- */

/* A cell: cleaned, without what would end it or be an instruction to the renderer. */
static void put_cell(FILE *to, const char *text) {
    static const char special[] = "|\\`*_<>[]#";
    while (*text) {
        size_t len = strcspn(text, special);
        sl_term_put(to, text, len);
        text += len;
        if (*text)
            fprintf(to, "\\%c", *text++);
    }
}

static void put_md_rows(FILE *to, const sl_fleet *fleet, bool is_all) {
    bool *is_shown = choose_rows(fleet, is_all);
    size_t left = 0;
    fputs("| rank | host | last step | peak | last | clock | status |\n"
          "| ---: | --- | ---: | ---: | ---: | ---: | --- |\n",
          to);
    for (size_t i = 0; is_shown && i < fleet->rows.cnt; i++) {
        if (!is_shown[i])
            continue;
        sl_fleet_row_texts t = sl__fleet_row_texts(fleet, &fleet->rows.at[i]);
        fprintf(to, "| %s | ", t.rank);
        put_cell(to, t.host);
        fprintf(to, " | %s | %s | %s | %s | %s |\n", t.steps, t.peak, t.last, t.clock, t.status);
    }
    fputc('\n', to);
    for (size_t i = 0; is_shown && i < fleet->rows.cnt; i++)
        left += !is_shown[i];
    if (left)
        fprintf(to, "and %zu more rank%s\n\n", left, sl_plural(left));
    free(is_shown);
}

static void put_md_item(FILE *to, const char *text) {
    fputs("- ", to);
    put_cell(to, text);
    fputc('\n', to);
}

static void put_md_chain(FILE *to, sl_fleet *fleet) {
    size_t shown = 0, length = chain_length(fleet);
    for (size_t i = 0; i < fleet->events.cnt && shown < CHAIN_MAX; i++) {
        const sl_fleet_event *e = &fleet->events.at[i];
        if (e->fault == SL_RANK_FAULT_MISSING)
            continue;
        fprintf(to, "- rank %d: ", (int)e->rank);
        put_cell(to, sl_fleet_event_text(&fleet->arena, fleet, e));
        fputc('\n', to);
        shown++;
    }
    if (length > shown)
        fprintf(to, "- and %zu more\n", length - shown);
    if (fleet->followers)
        put_md_item(to, followers_text(fleet));
}

void sl_fleet_md(FILE *to, sl_fleet *fleet, bool is_all) {
    fprintf(to, "### %zu of %d rank%s", fleet->rows.cnt, (int)fleet->world_size,
            sl_plural((uint64_t)fleet->world_size));
    if (fleet->job[0]) {
        fputs(" of job ", to);
        put_cell(to, fleet->job);
    }
    fputs("\n\n**First:** ", to);
    put_cell(to, sl_fleet_sentence(fleet));
    fputs("\n\n", to);
    put_md_rows(to, fleet, is_all);
    put_md_chain(to, fleet);
    if (fleet->missing.cnt)
        fprintf(to, "- missing: %s\n",
                sl_fleet_ranges(&fleet->arena, fleet->missing.at, fleet->missing.cnt, RANGES_MAX));
    for (size_t i = 0; i < fleet->notes.cnt && i < NOTES_MAX; i++)
        put_md_item(to, fleet->notes.at[i]);
    if (fleet->notes.cnt > NOTES_MAX)
        fprintf(to, "- and %zu more\n", fleet->notes.cnt - NOTES_MAX);
}
