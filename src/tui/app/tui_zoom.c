/* SPDX-License-Identifier: MIT */
/* The part of a run that is shown: zoom, pan, and the cursor of the timeline. */
#include <math.h>

#include "tui/app/tui_app.h"

#define WINDOW_MIN  INT64_C(10000000)
#define WINDOW_MAX  INT64_C(86400000000)
#define ZOOM_MIN_US 16

static void zoom_live(sl_app *app, bool is_in) {
    const sl_tui_device *device = sl_screen_device(&app->screen);
    int64_t window = app->ui.window_us;
    if (window == 0 && device)
        window = device->to_us;
    window = is_in ? window / 2 : window * 2;
    bool is_all = device && !is_in && window >= device->to_us;
    app->ui.window_us = is_all                ? 0
                        : window < WINDOW_MIN ? WINDOW_MIN
                        : window > WINDOW_MAX ? 0
                                              : window;
}

/* The part of the timeline becomes this, as far as the run reaches. */
static void show_part(sl_app *app, int64_t from_us, int64_t length_us) {
    int64_t end = app->timeline->end_us;
    if (from_us + length_us > end)
        from_us = end - length_us;
    app->part_from_us = from_us > 0 ? from_us : 0;
    app->part_to_us = app->part_from_us + length_us;
    if (app->part_to_us >= end)
        app->part_to_us = end;
    if (app->part_from_us == 0 && app->part_to_us == end)
        app->part_to_us = 0; /* all of it */
}

static bool has_timeline(const sl_app *app) {
    return app->timeline && !app->timeline->problem && app->timeline->cnt;
}

static void zoom_timeline(sl_app *app, bool is_in) {
    const sl_tui_timeline *t = app->timeline;
    if (!has_timeline(app))
        return;
    int64_t length = t->to_us - t->from_us;
    int64_t wanted = is_in ? length / 2 : length * 2;
    app->cursor_us = sl_tui_timeline_time(t, app->ui.cursor + 0.5);
    app->has_cursor = true;
    if (wanted >= ZOOM_MIN_US)
        show_part(app, app->cursor_us - wanted / 2, wanted);
}

void sl__app_pan(sl_app *app, int64_t by) {
    const sl_tui_timeline *t = app->timeline;
    if (!has_timeline(app))
        return;
    int64_t length = t->to_us - t->from_us;
    show_part(app, t->from_us + by * (length - length / 8), length);
}

void sl__app_find_peak(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    const sl_tui_timeline *t = app->timeline;
    double most = -1;
    for (size_t i = 0; has_timeline(app) && i < t->cnt; i++) {
        double sum = 0;
        for (size_t b = 0; b < t->band_cnt; b++)
            sum += isnan(t->bands[b][i]) ? 0 : t->bands[b][i];
        if (sum > most)
            most = sum, app->ui.cursor = (int)i;
    }
}

void sl__app_zoom(sl_app *app, int64_t by) {
    if (app->ui.tab == SL_TAB_LIVE)
        zoom_live(app, by > 0);
    else
        zoom_timeline(app, by > 0);
}

void sl__app_zoom_all(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    app->ui.window_us = 0;
    app->part_from_us = app->part_to_us = 0;
}

/* At the border, the shown part moves by a quarter of its length. */
void sl__app_move_cursor(sl_app *app, int64_t by) {
    const sl_tui_timeline *t = app->timeline;
    if (!has_timeline(app))
        return;
    int cursor = app->ui.cursor + (int)by, last = (int)t->cnt - 1;
    bool is_out = cursor < 0 || cursor > last;
    app->ui.cursor = cursor < 0 ? 0 : cursor > last ? last : cursor;
    if (!is_out || app->part_to_us <= app->part_from_us)
        return;
    int64_t length = t->to_us - t->from_us;
    app->cursor_us = sl_tui_timeline_time(t, app->ui.cursor + 0.5);
    app->has_cursor = true;
    show_part(app, t->from_us + (by < 0 ? -length / 4 : length / 4), length);
}

void sl__app_set_cursor(sl_app *app, int column) {
    if (has_timeline(app))
        app->ui.cursor = column < 0                          ? 0
                         : column >= (int)app->timeline->cnt ? (int)app->timeline->cnt - 1
                                                             : column;
}
