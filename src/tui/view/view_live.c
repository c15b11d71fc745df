/* SPDX-License-Identifier: MIT */
/* Live: what is allocated, reserved and in use, as curves; the ledger as a bar; steps and alerts. */
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

static void put_process(sl_grid *grid, sl_rect row, const sl_tui_process *process) {
    char text[SL_HUMAN_CAP];
    sl_put_part(grid, &row, process->is_live ? SL_INK_GOOD : SL_INK_WARN, "%s", process->ending);
    if (process->length_us || process->is_live)
        sl_put_part(grid, &row, SL_INK_TEXT, "  %s",
                    sl_human_duration_us(text, process->length_us));
    if (process->steps.known)
        sl_put_part(grid, &row, SL_INK_TEXT, "  %s step%s",
                    sl_human_count(text, process->steps.value), sl_plural(process->steps.value));
    if (process->steps_per_s.known && process->steps_per_s.value < 999.5)
        sl_put_part(grid, &row, SL_INK_TEXT, "  %.3g steps/s", process->steps_per_s.value);
    else if (process->steps_per_s.known) /* without an exponent */
        sl_put_part(grid, &row, SL_INK_TEXT, "  %.0f steps/s", process->steps_per_s.value);
    if (process->events || process->is_live)
        sl_put_part(grid, &row, SL_INK_DIM, "  %s %s%s", sl_human_count(text, process->events),
                    process->is_sampled ? "sample" : "event", sl_plural(process->events));
    if (process->oom_cnt)
        sl_put_part(grid, &row, SL_INK_BAD, "  out of memory %s",
                    sl_human_times(text, process->oom_cnt));
}

static const char *curve_name(const sl_tui_device *device, sl_tui_curve_kind kind) {
    if (kind == SL_TUI_USED)
        return device->number == SL_DEVICE_HOST ? "resident" : "in use on the card";
    return kind == SL_TUI_ALLOCATED ? "allocated" : "reserved";
}

/* A figure that does not fit goes into a second row, where there is room for one. */
static void put_figures(sl_grid *grid, sl_rect *area, const sl_tui_device *device) {
    char now[SL_TABLE_TEXT_CAP], peak[SL_TABLE_TEXT_CAP], after[SL_TABLE_TEXT_CAP + 16] = "";
    sl_rect row = sl_rect_take_top(area, area->h > 1);
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) {
        if (!device->now[k].known && !device->peak[k].known)
            continue;
        const char *name = curve_name(device, (sl_tui_curve_kind)k);
        sl_view_bytes(now, device->now[k]);
        if (device->peak[k].known)
            snprintf(after, sizeof after, " (peak %s)", sl_view_bytes(peak, device->peak[k]));
        if ((int)(strlen(name) + 1 + strlen(now) + strlen(after)) > row.w && area->h > 12)
            row = sl_rect_take_top(area, 1);
        sl_put_part(grid, &row, sl_ink_series(k), "%s ", name);
        sl_put_part(grid, &row, SL_INK_TEXT, "%s", now);
        sl_put_part(grid, &row, SL_INK_DIM, "%s", after);
        sl_rect_take_left(&row, 2);
        after[0] = '\0';
    }
}

/* The sign of the range has two bytes, and so has what ASCII gets for it. */
static void put_forecast(sl_grid *grid, sl_rect row, const char *forecast) {
    char text[400];
    snprintf(text, sizeof text, "%s", forecast);
    char *sign = grid->is_ascii ? strstr(text, "±") : NULL;
    if (sign)
        memcpy(sign, "+-", 2);
    sl_put_text(grid, row, SL_INK_BAD, text);
}

/* When memory will be out, and what would fail if it were now. */
static void put_outlook(sl_grid *grid, sl_rect *area, const sl_tui_device *device) {
    if (device->forecast && area->h > 4)
        put_forecast(grid, sl_rect_take_top(area, 1), device->forecast);
    if (!device->failure || area->h < 10)
        return;
    sl_put_text(grid, sl_rect_take_top(area, 1), device->is_failing ? SL_INK_BAD : SL_INK_DIM,
                device->failure);
}

/* On the scale of the process's whole memory, the tensors in it would be a flat line. */
static bool is_left_out(const sl_tui_device *device, sl_tui_curve_kind kind) {
    return device->number == SL_DEVICE_HOST && kind == SL_TUI_USED &&
           device->peak[SL_TUI_ALLOCATED].known;
}

static void put_chart(sl_grid *grid, sl_rect area, const sl_screen *screen,
                      const sl_tui_device *device) {
    double capacity = (double)sl_u64_or_0(device->capacity);
    sl_chart_level levels[] = {{capacity * screen->ui->warn_pct / 100, SL_INK_WARN},
                               {capacity, SL_INK_BAD}};
    sl_curve curves[SL_TUI_CURVE_CNT];
    size_t cnt = 0;
    double top = 0;
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) {
        if (!device->peak[k].known || is_left_out(device, (sl_tui_curve_kind)k))
            continue;
        curves[cnt++] = (sl_curve){curve_name(device, (sl_tui_curve_kind)k), device->curves[k],
                                   sl_ink_series(k)};
        top = (double)device->peak[k].value > top ? (double)device->peak[k].value : top;
    }
    /* The axis reaches the size of the card once a good part of it is used; before, the curve would
     * be a flat line. */
    sl_chart_frame frame = {.from_us = device->from_us,
                            .to_us = device->to_us,
                            .has_time = device->has_time,
                            .top = capacity > 0 && top > capacity / 4 ? capacity : top,
                            .levels = levels,
                            .level_cnt = capacity > 0 ? 2 : 0,
                            .cursor = -1};
    sl_put_curves(grid, area, curves, cnt, SL_TUI_POINTS, &frame);
}

static void put_alerts(sl_grid *grid, sl_rect area, const sl_tui_source *source) {
    char time[SL_HUMAN_CAP];
    for (size_t i = 0; i < source->alerts.cnt && area.h > 0; i++)
        sl_put(grid, sl_rect_take_top(&area, 1), SL_INK_WARN, "after %s: %s",
               sl_human_duration_us(time, source->alerts.at[i].time_us), source->alerts.at[i].text);
}

static bool has_part(const sl_ledger_row *row) {
    return row->bytes.known && row->bytes.value;
}

/* The columns of all parts of the legend. */
static int parts_width(const sl_ledger_state *ledger) {
    char label[SL_LEDGER_LABEL_CAP], bytes[SL_HUMAN_CAP];
    size_t width = 0;
    for (size_t i = 0; i < ledger->row_cnt; i++)
        if (has_part(&ledger->rows[i]))
            width += strlen(sl_ledger_label(label, &ledger->rows[i])) + 5 +
                     strlen(sl_human_bytes(bytes, ledger->rows[i].bytes.value));
    return (int)width;
}

/* Which colour is which part, as far as there is room. */
static void put_parts(sl_grid *grid, sl_rect area, const sl_ledger_state *ledger) {
    char label[SL_LEDGER_LABEL_CAP], bytes[SL_HUMAN_CAP];
    size_t series = 0;
    sl_rect row = sl_rect_take_top(&area, 1);
    for (size_t i = 0; i < ledger->row_cnt; i++) {
        if (!has_part(&ledger->rows[i]))
            continue;
        sl_rect before = row;
        sl_ledger_label(label, &ledger->rows[i]);
        sl_human_bytes(bytes, ledger->rows[i].bytes.value);
        if (!sl_put_part(grid, &row, SL_INK_TEXT, "  %s %s  ", label, bytes)) {
            row = before = sl_rect_take_top(&area, 1);
            if (!sl_put_part(grid, &row, SL_INK_TEXT, "  %s %s  ", label, bytes))
                return;
        }
        sl_cell *mark = sl_grid_at(grid, before.x, before.y);
        *mark = (sl_cell){.code = sl_series_glyph(grid, series),
                          .ink = (uint8_t)sl_ink_series(series),
                          .width = 1,
                          .is_set = 1};
        series++;
    }
}

void sl_view_live(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_source *source = sl_screen_source(screen);
    const sl_tui_device *device = sl_screen_device(screen);
    if (!device) {
        sl_view_nothing(grid, area, screen, "This input has no curves.");
        return;
    }
    sl_view_device_row(grid, sl_rect_take_top(&area, 1), screen);
    put_process(grid, sl_rect_take_top(&area, 1), &source->processes.at[device->process]);
    put_figures(grid, &area, device);
    put_outlook(grid, &area, device);
    size_t alerts = source->alerts.cnt < 3 ? source->alerts.cnt : 3;
    if (area.h > 10)
        put_alerts(grid, sl_rect_take_bottom(&area, (int)alerts), source);
    if (area.h > 8 && device->ledger.row_cnt) {
        int rows = parts_width(&device->ledger) > area.w && area.h > 14 ? 2 : 1;
        put_parts(grid, sl_rect_take_bottom(&area, rows), &device->ledger);
        sl_view_ledger_bar(grid, sl_rect_take_bottom(&area, 1), &device->ledger);
    }
    if (device->has_curves)
        put_chart(grid, area, screen, device);
    else
        sl_view_nothing(grid, area, screen, "This input has no history, so there are no curves.");
}
