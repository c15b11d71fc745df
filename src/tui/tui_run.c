/* SPDX-License-Identifier: MIT */
#include "tui/tui_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/text/base64.h"
#include "tui/app/tui_app.h"
#include "tui/grid/screen_out.h"
#include "tui/tui_shown.h"

/* How often the loader and the command are polled while they work. */
#define BUSY_MS 100

typedef struct show {
    sl_app app;
    sl_shown out;
} show;

static bool draw(show *s) {
    sl_app_prepare(&s->app, s->out.grid.w);
    sl_screen_draw(&s->out.grid, &s->app.screen);
    return sl_shown_send(&s->out);
}

/* The terminal's own clipboard (OSC 52): works over ssh. */
static void send_copied(show *s) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        return;
    fputs("\x1b]52;c;", to);
    sl_base64_write(to, (const uint8_t *)s->app.copied, strlen(s->app.copied));
    fputs("\x07", to);
    if (fclose(to) == 0)
        sl_tty_write(text, len);
    free(text);
    s->app.copied[0] = '\0';
}

static bool save_as(const sl_grid *grid, const char *name,
                    void (*write)(const sl_grid *grid, FILE *to)) {
    FILE *to = fopen(name, "wxe");
    if (!to)
        return false;
    write(grid, to);
    return fclose(to) == 0;
}

static void save_screen(show *s) {
    char stamp[40] = "", text[64], svg[64];
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
    snprintf(text, sizeof text, "stormlog-screen-%s.txt", stamp);
    snprintf(svg, sizeof svg, "stormlog-screen-%s.svg", stamp);
    if (save_as(&s->out.grid, text, sl_screen_write_text) &&
        save_as(&s->out.grid, svg, sl_screen_write_svg))
        sl_app_say(&s->app, false, "saved %s and .svg", text);
    else
        sl_app_say(&s->app, true, "cannot write '%s': %s", text, strerror(errno));
    s->app.wants_save = false;
}

static bool take_keys(show *s) {
    int x = 0, y = 0;
    bool has_any = false;
    for (uint32_t key; !s->app.is_quitting && (key = sl_tty_key(&x, &y)) != SL_KEY_NONE;) {
        if (key == SL_KEY_CLICK && has_any) /* the other keys may have moved what it points at */
            sl_screen_draw(&s->out.grid, &s->app.screen);
        sl_app_key(&s->app, key, x, y, &s->out.grid);
        sl_app_prepare(&s->app, s->out.grid.w); /* the next key may be about its rows */
        has_any = true;
    }
    if (s->app.copied[0])
        send_copied(s);
    if (s->app.wants_save)
        save_screen(s);
    return has_any;
}

static int wait_ms(const show *s, uint64_t next_ns) {
    uint64_t now = sl_clock_mono_ns();
    uint64_t left = next_ns > now ? (next_ns - now) / 1000000 + 1 : 0;
    bool is_busy = sl_loader_is_busy(s->app.loader) || s->app.task.pid;
    return (int)(is_busy && left > BUSY_MS ? BUSY_MS : left > 60000 ? 60000 : left);
}

static sl_status loop(show *s, sl_error *err) {
    uint64_t interval_ns = (uint64_t)s->app.options->interval_us * 1000;
    uint64_t next_ns = sl_clock_mono_ns() + interval_ns;
    bool is_dirty = true;
    while (!s->app.is_quitting && !sl_tty_stop_signal() && !sl_tty_is_gone()) {
        if (sl_tty_is_stale()) {
            SL_TRY(sl_shown_resize(&s->out, err));
            is_dirty = true;
        }
        is_dirty |= sl_app_poll(&s->app);
        if (sl_clock_mono_ns() >= next_ns) {
            sl_app_tick(&s->app);
            next_ns = sl_clock_mono_ns() + interval_ns;
            is_dirty = true;
        }
        if (is_dirty && !draw(s))
            break;
        is_dirty = false;
        sl_tty_wait(sl_loader_is_busy(s->app.loader) ? sl_loader_fd(s->app.loader) : -1,
                    wait_ms(s, next_ns));
        is_dirty = take_keys(s);
    }
    return SL_OK;
}

int sl_tui_run(const sl_tui_options *options, sl_error *err) {
    show *s = calloc(1, sizeof *s);
    if (!s)
        return sl_fail_no_memory(err, "the screen");
    sl_status status = sl_tty_begin(&s->out.tty, err);
    if (status < 0) {
        free(s);
        return status;
    }
    s->out.tty.is_ascii |= options->is_ascii;
    status = sl_app_init(&s->app, options, err);
    if (status >= 0)
        status = loop(s, err);
    sl_tty_end();
    sl_task_stop(&s->app.task); /* on every way out, not only the one that frees the rest */
    sl_shown_obey_signal();
    if (sl_loader_has_thread())
        _exit(0); /* do not wait for an input that the user no longer wants */
    sl_app_fini(&s->app);
    sl_shown_fini(&s->out);
    free(s);
    return status < 0 ? status : 0;
}
