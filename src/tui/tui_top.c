/* SPDX-License-Identifier: MIT */
#include "tui/tui_top.h"

#include <stdlib.h>

#include "base/core/clock.h"
#include "tui/facts/live_facts.h"
#include "tui/tui_shown.h"
#include "tui/view/view.h"

#define WARN_PCT   95
#define WINDOW_US  (INT64_C(60) * 1000000) /* what + and - start from */
#define WINDOW_MAX (INT64_C(24) * 3600 * 1000000)

typedef struct top {
    const sl_tui_top_options *options;
    sl_shown out;
    sl_live *live;
    sl_ui ui;
    sl_screen screen;
    bool is_quitting;
} top;

static sl_status read_facts(top *t, sl_error *err) {
    sl_tui_source *source;
    SL_TRY(sl_live_read(t->live, t->options->paths[0], t->ui.window_us, true, &source, err));
    sl_tui_source_free(t->screen.live);
    t->screen.live = source;
    return sl_screen_prepare(&t->screen) ? SL_OK : sl_fail_no_memory(err, "the rows");
}

/* The time that the curves show; 0 is the whole run. */
static void change_window(sl_ui *ui, bool is_longer) {
    if (is_longer)
        ui->window_us = ui->window_us && ui->window_us < WINDOW_MAX ? ui->window_us * 2 : 0;
    else
        ui->window_us = !ui->window_us            ? WINDOW_US
                        : ui->window_us > 2000000 ? ui->window_us / 2
                                                  : ui->window_us;
}

static void next_device(top *t) {
    size_t cnt = t->screen.live->devices.cnt;
    t->ui.device = cnt ? (t->ui.device + 1) % cnt : 0;
}

/* Whether the facts must be read again for it. */
static bool take_key(top *t, uint32_t key) {
    sl_list_state *lines = &t->ui.lists[SL_TAB_SITES];
    switch (key) {
    case 'q':
    case 3: t->is_quitting = true; return false;
    case 'd':
    case SL_KEY_TAB: next_device(t); return false;
    case '+':
    case '-': change_window(&t->ui, key == '-'); return true;
    case 'k':
    case SL_KEY_WHEEL_UP:
    case SL_KEY_UP: sl_list_move(lines, -1, t->ui.rows.cnt); return false;
    case 'j':
    case SL_KEY_WHEEL_DOWN:
    case SL_KEY_DOWN: sl_list_move(lines, 1, t->ui.rows.cnt); return false;
    default: return false;
    }
}

static bool take_keys(top *t) {
    int x, y;
    bool must_read = false;
    for (uint32_t key; !t->is_quitting && (key = sl_tty_key(&x, &y)) != SL_KEY_NONE;)
        must_read |= take_key(t, key);
    sl_screen_prepare(&t->screen);
    return must_read;
}

static int left_ms(uint64_t next_ns) {
    uint64_t now = sl_clock_mono_ns(), left = next_ns > now ? (next_ns - now) / 1000000 + 1 : 0;
    return (int)(left > 60000 ? 60000 : left);
}

static sl_status loop(top *t, sl_error *err) {
    uint64_t interval_ns = (uint64_t)t->options->interval_us * 1000;
    uint64_t next_ns = sl_clock_mono_ns() + interval_ns;
    while (!t->is_quitting && !sl_tty_stop_signal() && !sl_tty_is_gone()) {
        if (sl_tty_is_stale())
            SL_TRY(sl_shown_resize(&t->out, err));
        if (sl_clock_mono_ns() >= next_ns) {
            SL_TRY(read_facts(t, err));
            next_ns = sl_clock_mono_ns() + interval_ns;
        }
        *t->options->has_ended = !sl_live_is_written(t->live);
        if (*t->options->has_ended)
            break;
        sl_view_top(&t->out.grid, &t->screen);
        if (!sl_shown_send(&t->out))
            break;
        sl_tty_wait(-1, left_ms(next_ns));
        if (take_keys(t))
            next_ns = 0;
    }
    return SL_OK;
}

static sl_status show(top *t, sl_error *err) {
    SL_TRY(sl_live_open(t->options->paths, t->options->path_cnt, &t->live, err));
    SL_TRY(read_facts(t, err));
    SL_TRY(sl_tty_begin(&t->out.tty, err));
    sl_status status = loop(t, err);
    sl_tty_end();
    return status;
}

sl_status sl_tui_top(const sl_tui_top_options *options, sl_error *err) {
    top *t = calloc(1, sizeof *t);
    if (!t)
        return sl_fail_no_memory(err, "the screen");
    t->options = options;
    t->ui.tab = SL_TAB_LIVE;
    t->ui.warn_pct = WARN_PCT;
    t->screen.ui = &t->ui;
    sl_status status = show(t, err);
    sl_shown_obey_signal();
    sl_tui_source_free(t->screen.live);
    sl_live_close(t->live);
    sl_vec_free(&t->ui.rows);
    sl_shown_fini(&t->out);
    free(t);
    return status;
}
