/* SPDX-License-Identifier: MIT */
/* Overview: the machine, its cards, what is open, and the runs of this folder. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text/human.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

#define BAR_W 24

static void put_used_bar(sl_grid *grid, sl_rect row, sl_maybe_u64 used, sl_maybe_u64 total) {
    if (!used.known || !total.known || !total.value || row.w < 4)
        return;
    double share = (double)used.value / (double)total.value;
    sl_bar_part part = {(double)used.value, share > 0.95  ? SL_INK_BAD
                                            : share > 0.8 ? SL_INK_WARN
                                                          : SL_INK_SERIES_1};
    sl_put_bar(grid, row, &part, 1, (double)total.value);
}

static void put_memory(sl_grid *grid, sl_rect row, const char *name, sl_maybe_u64 used,
                       sl_maybe_u64 total) {
    char used_text[SL_TABLE_TEXT_CAP], total_text[SL_TABLE_TEXT_CAP];
    sl_rect label = sl_rect_take_left(&row, 8);
    sl_put_text(grid, label, SL_INK_TEXT, name);
    if (row.w > BAR_W + 24) {
        put_used_bar(grid, sl_rect_take_left(&row, BAR_W), used, total);
        sl_rect_take_left(&row, 1);
    }
    sl_put(grid, row, SL_INK_TEXT, "%s of %s", sl_view_bytes(used_text, used),
           sl_view_bytes(total_text, total));
}

static void put_machine(sl_grid *grid, sl_rect *area, const sl_tui_machine *machine) {
    sl_rect row = sl_rect_take_top(area, 1);
    sl_maybe_u64 used = {machine->memory_total.value - machine->memory_available.value,
                         machine->memory_total.known && machine->memory_available.known};
    sl_put_part(grid, &row, SL_INK_TITLE, "%s", machine->host);
    sl_put(grid, row, SL_INK_DIM, "  %s, %ld processors", machine->system, machine->cpus);
    put_memory(grid, sl_rect_take_top(area, 1), "memory", used, machine->memory_total);
}

static void put_card(sl_grid *grid, sl_rect row, const sl_tui_card *card) {
    char name[24];
    sl_rect figures = row.w > 100 ? sl_rect_take_right(&row, 30) : (sl_rect){0};
    snprintf(name, sizeof name, "card %d", card->number);
    put_memory(grid, row, name, card->used, card->total);
    if (card->utilization_pct.known)
        sl_put_part(grid, &figures, SL_INK_DIM, "%3d %% busy  ", (int)card->utilization_pct.value);
    if (card->temperature_c.known)
        sl_put_part(grid, &figures, SL_INK_DIM, "%d C  ", (int)card->temperature_c.value);
    if (card->power_mw.known)
        sl_put_part(grid, &figures, SL_INK_DIM, "%d W", (int)(card->power_mw.value / 1000));
}

static void put_cards(sl_grid *grid, sl_rect *area, const sl_tui_machine *machine) {
    size_t shown = machine->card_cnt;
    int room = area->h / 2;
    if (shown == 0) {
        sl_put(grid, sl_rect_take_top(area, 1), SL_INK_DIM, "no card: %s", machine->no_cards);
        return;
    }
    for (size_t i = 0; i < shown && (int)i < room; i++)
        put_card(grid, sl_rect_take_top(area, 1), &machine->cards[i]);
    if ((int)shown > room)
        sl_put(grid, sl_rect_take_top(area, 1), SL_INK_DIM, "%zu card%s in all", shown,
               sl_plural(shown));
}

static void put_open(sl_grid *grid, sl_rect *area, const sl_screen *screen) {
    const sl_tui_source *source = sl_screen_source(screen);
    char length[SL_HUMAN_CAP];
    if (!source)
        return;
    sl_put_path(grid, sl_rect_take_top(area, 1), SL_INK_TITLE, source->name);
    if (screen->whole && screen->whole->verdict) {
        sl_rect rows = *area;
        rows.h = area->h > 8 ? 2 : 1;
        sl_rect_take_top(area, sl_put_wrapped(grid, rows,
                                              sl_view_verdict_ink(screen->whole->verdict_rank),
                                              screen->whole->verdict));
    }
    for (size_t i = 0; i < source->processes.cnt && i < 4 && area->h > 4; i++) {
        const sl_tui_process *process = &source->processes.at[i];
        bool has_length = process->length_us || process->is_live;
        sl_put(grid, sl_rect_take_top(area, 1), SL_INK_TEXT, "  %s, %s%s%s", process->label,
               process->ending, has_length ? ", " : "",
               has_length ? sl_human_duration_us(length, process->length_us) : "");
    }
}

/* ---- runs ---- */

static const sl_table_column columns[] = {
    {.title = "run", .is_path = true},
    {.title = "state", .rank = 1},
    {.title = "started (UTC)", .rank = 3},
    {.title = "size", .is_right = true, .rank = 4},
    {.title = "processes", .is_right = true, .rank = 6, .is_extra = true},
    {.title = "command", .is_wide = true, .rank = 5},
};

static void job_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                     sl_ink *ink) {
    const sl_tui_job *job = &((const sl_tui_jobs *)ctx)->rows.at[row];
    struct tm time;
    time_t start = (time_t)job->start_s;
    switch (column) {
    case 0: snprintf(text, SL_TABLE_TEXT_CAP, "%s", job->name); break;
    case 1:
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", job->state);
        *ink = job->is_running ? SL_INK_GOOD : SL_INK_DIM;
        break;
    case 2:
        if (gmtime_r(&start, &time))
            strftime(text, SL_TABLE_TEXT_CAP, "%Y-%m-%d %H:%M", &time);
        break;
    case 3: sl_human_bytes(text, job->bytes); break;
    case 4: snprintf(text, SL_TABLE_TEXT_CAP, "%zu", job->process_cnt); break;
    default: snprintf(text, SL_TABLE_TEXT_CAP, "%s", job->command); break;
    }
}

size_t sl_overview_rows(const sl_screen *screen) {
    if (screen->ui->shows_processes)
        return screen->users ? screen->users->cnt : 0;
    return screen->jobs ? screen->jobs->rows.cnt : 0;
}

void sl_view_overview(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    if (area.h > 6 && screen->machine) {
        put_machine(grid, &area, screen->machine);
        put_cards(grid, &area, screen->machine);
        sl_rect_take_top(&area, area.h > 12);
    }
    put_open(grid, &area, screen);
    sl_rect_take_top(&area, area.h > 8 && sl_screen_source(screen));
    if (screen->ui->shows_processes && screen->users) {
        sl__view_users(grid, area, screen);
        return;
    }
    if (!screen->jobs)
        return;
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = screen->jobs->rows.cnt,
                      .ctx = screen->jobs,
                      .cell = job_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = "No runs are in stormlog-runs here. Record one: stormlog run -- "
                                 "python train.py, or press x."};
    sl_put_table(grid, area, &table, &screen->ui->lists[SL_TAB_OVERVIEW]);
}
