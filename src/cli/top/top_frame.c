/* SPDX-License-Identifier: MIT */
#include "cli/top/top_frame.h"

#include <stdlib.h>
#include <string.h>

#include "api/live/live_failure.h"
#include "api/live_line.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/top/top_host.h"
#include "export/report/report_words.h"
#include "read/torch/native_name.h"

#define LINE_CAP      512
#define PLACE_COLUMNS (sl_term_columns() - 25)

/* A line of code and what is live through it. */
typedef struct holder {
    char text[LINE_CAP];
    uint64_t bytes, blocks;
} holder;

typedef SL_VEC(holder) holders;

typedef struct picture {
    sl_log_reader *reader;         /* borrowed */
    const sl_top_process *process; /* borrowed */
    sl_log_tables tables;
    sl_log_counters counters;
    sl_log_marks marks;
    sl_log_ooms ooms;
    sl_log_alerts alerts;
    sl_slog_facts *facts; /* owned */
    sl_top_end end;       /* of a finished recording */
    const sl_top_options *options;
    FILE *to;
} picture;

/* --- The user's line of a stack --------------------------------------------------------------- */

static void put_frame(char text[LINE_CAP], const sl_log_reader *reader, const sl_fmt_frame *frame) {
    sl_str file = sl_log_get_string(reader, frame->file);
    const size_t shown = 44; /* the end of a path says more than its front */
    bool is_cut = file.len > shown;
    char line[16] = "", name[SL_NATIVE_NAME_CAP];
    sl_str function = sl_live_line_function(reader, frame, name);
    if (frame->line)
        snprintf(line, sizeof line, ":%u", frame->line);
    snprintf(text, LINE_CAP, "%s%.*s%s in %.*s", is_cut ? "..." : "",
             (int)(is_cut ? shown : file.len), file.ptr + (is_cut ? file.len - shown : 0), line,
             (int)(function.len < 100 ? function.len : 100), function.ptr);
}

static void find_line(char text[LINE_CAP], const sl_log_reader *reader, uint32_t stack) {
    sl_fmt_frame line = {0};
    bool is_found = sl_live_line_find(reader, stack, &line);
    if (stack && is_found)
        put_frame(text, reader, &line);
    else
        snprintf(text, LINE_CAP, "(no Python stack)");
}

static int compare_holders(const void *a, const void *b) {
    const holder *x = a, *y = b;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Adds a site to the holder of its line; false when memory ran out. */
static bool add_site(holders *list, const sl_log_reader *reader, const sl_log_site *site) {
    holder row = {.bytes = site->live_bytes, .blocks = site->live_cnt};
    find_line(row.text, reader, site->stack);
    for (size_t i = 0; i < list->cnt; i++)
        if (strcmp(list->at[i].text, row.text) == 0) {
            list->at[i].bytes += row.bytes;
            list->at[i].blocks += row.blocks;
            return true;
        }
    return sl_vec_push(list, row);
}

/* The largest holders at the end of the work. */
static void print_end_holders(const picture *p, const sl_run_device *device) {
    sl_arena arena = SL_ARENA_INIT;
    sl_holdings held = {0};
    const sl_replay *replay;
    const sl_sites *lines;
    char bytes[SL_HUMAN_CAP], blocks[SL_HUMAN_CAP], place[SL_WORDS_CAP];
    bool ok = sl_run_replay(device, &replay, NULL) == SL_OK &&
              sl_run_lines(device->input, &lines, NULL) == SL_OK &&
              sl_sites_holdings(lines, replay, sl_replay_end(replay), p->options->line_cnt, &arena,
                                &held);
    for (size_t i = 0; ok && i < held.cnt; i++) {
        sl_words_site(place, held.at[i].site, PLACE_COLUMNS);
        sl_term_printf(p->to, "  %10s %10s  %s\n", sl_human_bytes(bytes, held.at[i].bytes),
                       sl_human_count(blocks, held.at[i].blocks), place);
    }
    sl_arena_fini(&arena);
}

static void print_holders(const picture *p, int device) {
    const sl_run_device *finished = sl_top_end_device(&p->end, device);
    if (finished) {
        print_end_holders(p, finished);
        return;
    }
    holders list = {0};
    bool has_room = true;
    char bytes[SL_HUMAN_CAP], blocks[SL_HUMAN_CAP];
    for (size_t i = 0; i < p->tables.sites.cnt && has_room; i++) {
        const sl_log_site *site = &p->tables.sites.at[i];
        if (site->domain == SL_DOMAIN_BLOCK && site->device == device && site->live_bytes)
            has_room = add_site(&list, p->reader, site);
    }
    if (list.cnt)
        qsort(list.at, list.cnt, sizeof list.at[0], compare_holders);
    for (size_t i = 0; i < list.cnt && i < p->options->line_cnt; i++)
        sl_term_printf(p->to, "  %10s %10s  %s\n", sl_human_bytes(bytes, list.at[i].bytes),
                       sl_human_count(blocks, list.at[i].blocks), list.at[i].text);
    sl_vec_free(&list);
}

/* --- Devices ------------------------------------------------------------------------------------ */

static void print_row(const picture *p, const char *name, sl_maybe_u64 value) {
    char bytes[SL_HUMAN_CAP];
    sl_term_printf(p->to, "  %10s  %s\n",
                   value.known ? sl_human_bytes(bytes, value.value) : "unknown", name);
}

/* A library or a tag that holds nothing has no row. */
static bool is_empty(const sl_ledger_row *row) {
    return (row->kind == SL_LEDGER_LIBRARY || row->has_tag) && row->bytes.known &&
           row->bytes.value == 0;
}

static void print_ledger(const picture *p, int device) {
    sl_live_ledger ledger;
    char used[SL_HUMAN_CAP], total[SL_HUMAN_CAP], label[SL_LEDGER_LABEL_CAP];
    const sl_run_device *finished = sl_top_end_device(&p->end, device);
    bool has_end = finished && sl_top_end_ledger(finished, &ledger);
    if (finished && !has_end)
        sl_live_ledger_fini(&ledger);
    if (!has_end &&
        !sl_live_ledger_fill(&ledger, device, &p->tables, &p->counters, p->reader, p->facts))
        fputs("  out of memory for the ledger\n", p->to);
    const sl_ledger_figures *figures = &ledger.figures;
    if (figures->card_used.known && figures->card_total.known)
        fprintf(p->to, "  %10s  of %s in use on the card\n",
                sl_human_bytes(used, figures->card_used.value),
                sl_human_bytes(total, figures->card_total.value));
    for (size_t i = 0; i < ledger.rows.cnt; i++)
        if (!is_empty(&ledger.rows.at[i]))
            print_row(p, sl_ledger_label(label, &ledger.rows.at[i]), ledger.rows.at[i].bytes);
    sl_live_ledger_fini(&ledger);
}

static void print_host(const picture *p) {
    sl_top_host_row rows[SL_TOP_HOST_LIMIT];
    sl_top_host_fill(rows, &p->counters, &p->end);
    for (size_t i = 0; i < SL_TOP_HOST_LIMIT; i++)
        if (rows[i].is_counted)
            print_row(p, rows[i].name, rows[i].bytes);
}

/* When memory will be out, and what would fail if it were now; of a process that runs. */
static void print_outlook(const picture *p, int device) {
    char text[SL_FORECAST_TEXT_CAP], what[SL_FAILURE_TEXT_CAP];
    const char *red = sl_term_sgr(p->options->has_color, SL_STYLE_BAD);
    const char *plain = sl_term_sgr(p->options->has_color, SL_STYLE_PLAIN);
    sl_live_forecast live;
    sl_live_failure failure;
    if (sl_log_get_ending(p->reader) != SL_LOG_LIVE)
        return;
    if (sl_live_forecast_read(p->reader, &p->counters, &p->tables, device, &live, NULL) >= 0 &&
        live.forecast.is_expected)
        fprintf(p->to, "  %s%s%s\n", red,
                sl_forecast_text(text, &live.forecast, sl_str_of(live.line)), plain);
    if (sl_live_failure_find(p->reader, &p->counters, &p->tables, device, &failure, NULL) >= 0 &&
        failure.is_known)
        fprintf(p->to, "  %s\n", sl_live_failure_text(what, &failure));
}

static void print_device(const picture *p, int device) {
    const char *bold = sl_term_sgr(p->options->has_color, SL_STYLE_BOLD);
    const char *plain = sl_term_sgr(p->options->has_color, SL_STYLE_PLAIN);
    if (device < 0)
        fprintf(p->to, "\n%sHost memory%s\n", bold, plain);
    else
        fprintf(p->to, "\n%sDevice %d%s\n", bold, device, plain);
    if (device < 0)
        print_host(p);
    else
        print_ledger(p, device);
    print_outlook(p, device);
    fprintf(p->to, "\n  %10s %10s  %s\n", "live", "blocks", "line");
    print_holders(p, device);
}

/* Devices that have blocks or driver memory, ascending; the host comes first. */
static void print_devices(const picture *p) {
    bool is_seen[256] = {false};
    for (size_t i = 0; i < p->tables.sites.cnt; i++)
        is_seen[(uint8_t)(p->tables.sites.at[i].device + 1)] = true;
    for (int i = 0; i < 256; i++)
        if (is_seen[i])
            print_device(p, i - 1);
}

/* --- The head ------------------------------------------------------------------------------------ */

static uint64_t last_time_ns(const picture *p) {
    const sl_fmt_state *state = sl_log_state(p->reader);
    return state->closed_ns ? state->closed_ns : state->heartbeat_ns;
}

/* Of a finished recording those that every view shows; of a live one what was marked so far. */
static size_t count_steps(const picture *p) {
    size_t cnt = 0;
    for (size_t i = 0; p->end.run && i < p->end.run->inputs[0].device_cnt; i++) {
        const sl_steps *steps;
        if (sl_run_steps(&p->end.run->inputs[0].devices[i], &steps, NULL) == SL_OK &&
            steps->borders.cnt > 0)
            return steps->ended_cnt;
    }
    for (size_t i = 0; i < p->marks.cnt; i++)
        cnt += p->marks.at[i].kind == SL_EV_STEP;
    return cnt;
}

/* The newest few, newest last. */
static void print_alerts(const picture *p) {
    const size_t shown = 3;
    char time[SL_HUMAN_CAP];
    for (size_t i = p->alerts.cnt > shown ? p->alerts.cnt - shown : 0; i < p->alerts.cnt; i++) {
        const sl_fmt_alert *alert = &p->alerts.at[i];
        sl_str text = sl_log_get_string(p->reader, (uint32_t)(alert->text_word >> 32));
        int device = (int32_t)(uint32_t)alert->device_word;
        fprintf(p->to, "  alert after %s",
                sl_human_duration_us(time, (int64_t)(alert->time_ns / 1000)));
        if (device >= 0)
            fprintf(p->to, ", device %d", device);
        fputs(": ", p->to);
        sl_term_put(p->to, text.ptr, text.len);
        putc('\n', p->to);
    }
}

static void print_losses(const picture *p) {
    char count[SL_HUMAN_CAP];
    const sl_fmt_state *state = sl_log_state(p->reader);
    for (uint32_t kind = 0; kind < SL_HEALTH_LIMIT; kind++)
        if (state->health[kind] && sl_health_is_loss((sl_health_kind)kind))
            fprintf(p->to, "  %10s  %s\n", sl_human_count(count, state->health[kind]),
                    sl_health_meaning((sl_health_kind)kind));
}

static void print_head(const picture *p) {
    char events[SL_HUMAN_CAP], steps[SL_HUMAN_CAP], time[SL_HUMAN_CAP], role[SL_TOP_ROLE_CAP];
    const sl_fmt_header *header = sl_log_header(p->reader);
    uint64_t event_cnt = 0;
    for (size_t i = 0; i < p->tables.sites.cnt; i++)
        event_cnt += p->tables.sites.at[i].alloc_cnt + p->tables.sites.at[i].free_cnt;
    sl_term_printf(p->to, "%.60s\n", header->cmdline);
    fprintf(p->to, "  %s, %s, %s", sl_top_process_words(role, p->process, header->pid),
            sl_log_ending_name(sl_log_get_ending(p->reader)),
            sl_human_duration_us(time, (int64_t)(last_time_ns(p) / 1000)));
    uint64_t step_cnt = count_steps(p);
    fprintf(p->to, ", %s allocs and frees, %s step%s", sl_human_count(events, event_cnt),
            sl_human_count(steps, step_cnt), sl_plural(step_cnt));
    if (p->ooms.cnt)
        fprintf(p->to, ", %zu out of memory", p->ooms.cnt);
    fputc('\n', p->to);
    print_alerts(p);
    print_losses(p);
}

static sl_status load(picture *p, sl_error *err) {
    SL_TRY(sl_log_load_names(p->reader, err));
    SL_TRY(sl_log_load_tables(p->reader, &p->tables, err));
    SL_TRY(sl_log_load_counters(p->reader, &p->counters, err));
    SL_TRY(sl_log_load_marks(p->reader, &p->marks, err));
    SL_TRY(sl_log_load_alerts(p->reader, &p->alerts, err));
    SL_TRY(sl_slog_facts_new(p->reader, &p->facts, err));
    sl_slog_see_tables(p->facts, &p->tables);
    return sl_log_load_ooms(p->reader, &p->ooms, err);
}

sl_status sl_top_print(sl_log_reader *reader, const sl_top_process *process,
                       const sl_top_options *options, FILE *to, sl_error *err) {
    picture p = {.reader = reader, .process = process, .options = options, .to = to};
    sl_status status = load(&p, err);
    if (status == SL_OK)
        status = sl_top_end_open(&p.end, process->path, reader, err);
    if (status == SL_OK) {
        print_head(&p);
        print_devices(&p);
    }
    sl_log_tables_fini(&p.tables);
    sl_vec_free(&p.counters);
    sl_vec_free(&p.marks);
    sl_vec_free(&p.ooms);
    sl_vec_free(&p.alerts);
    sl_slog_facts_free(p.facts);
    sl_top_end_close(&p.end);
    return status;
}
