/* SPDX-License-Identifier: MIT */
#include "plot/plot_alerts.h"

#include <math.h>

#include "export/report/ledger_out.h"

#define MARK_HALF   4.0
#define MARK_HEIGHT 7.0
#define WORDS_BELOW 44.0 /* the rows above are for failed requests and idle times */

static void draw_mark(sl_plot *plot, const sl_box *box, double x) {
    sl_paint paint = sl_solid(plot->theme->warning);
    const sl_point mark[] = {
        {x - MARK_HALF, box->y}, {x + MARK_HALF, box->y}, {x, box->y + MARK_HEIGHT}};
    sl_canvas_area(plot->canvas, mark, SL_COUNT_OF(mark), paint);
    sl_canvas_segment(plot->canvas, (sl_point){x, box->y}, (sl_point){x, box->y + box->h},
                      (sl_stroke){paint, 1, 3});
}

void sl_plot_alerts_draw(sl_plot *plot, const sl_time_axis *axis, const sl_plot_input *input) {
    const sl_alert *last = NULL;
    double x = 0, last_x = -HUGE_VAL;
    for (size_t i = 0; i < input->trace->alerts.cnt; i++) {
        const sl_alert *alert = &input->trace->alerts.at[i];
        if (alert->device >= 0 && alert->device != input->replay->device->device)
            continue;
        x = floor(sl_time_axis_x(axis, alert->time_us)) + 0.5;
        if (x - last_x >= 1)
            draw_mark(plot, &axis->box, x);
        last = alert, last_x = x;
    }
    if (!last)
        return;
    char words[SL_WORDS_CAP], text[SL_WORDS_CAP];
    sl_alert_words(words, input->trace, last);
    snprintf(text, sizeof text, "alert: %.400s", words);
    sl_text_style style = sl_plot_small(plot);
    style.paint = sl_solid(plot->theme->warning);
    bool is_left = x > axis->box.x + axis->box.w / 2;
    style.align = is_left ? SL_ALIGN_RIGHT : SL_ALIGN_LEFT;
    double room = is_left ? x - axis->box.x : axis->box.x + axis->box.w - x;
    if (sl_canvas_text_width(plot->canvas, text, style) > room - 20)
        return; /* no room for the text; the report has it too */
    sl_plot_note(plot, (sl_point){x + (is_left ? -10 : 10), axis->box.y + WORDS_BELOW}, text,
                 style);
}
