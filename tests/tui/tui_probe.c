/* SPDX-License-Identifier: MIT */
/* The views without a terminal.
 *
 *   tui_probe draw W H [ascii|mono]    every view of the made-up screen, as text
 *   tui_probe svg W H TAB              one of them (0 to 14) as a picture
 *   tui_probe svg-file PATH W H VIEW   the same of an input that is read; for the README: make screens
 *   tui_probe sweep                    every view at every size from 20 x 6 to 400 x 120: prints what breaks the rules
 *   tui_probe sweep-file PATH          the same for an input that is read
 *   tui_probe first PATH               Live and Sites of an input before its events are read, and after
 *   tui_probe bytes                    what an idle and a busy screen send */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_up_screen.h"
#include "tui/facts/run_facts.h"
#include "tui/grid/paint.h"
#include "tui/grid/screen_out.h"

typedef struct sweep_state {
    const sl_screen *screen;
    size_t drawn, broken;
} sweep_state;

/* The made-up screen lives until the program ends, so its memory is no leak. Asked by LeakSanitizer. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    return 1;
}

static void make_grid(sl_grid *grid, int w, int h, bool is_ascii, bool is_mono) {
    if (sl_grid_init(grid, w, h, NULL) < 0)
        abort();
    grid->is_ascii = is_ascii;
    grid->is_mono = is_mono;
}

/* Every tab, then what some of them show instead. */
static const struct {
    const char *name;
    sl_tab tab;
} others[] = {
    {"Overview, processes", SL_TAB_OVERVIEW},
    {"Sites, a line followed", SL_TAB_SITES},
    {"Diagnostics, compared", SL_TAB_DIAGNOSTICS},
    {"Diagnostics, filtered", SL_TAB_DIAGNOSTICS},
    {"a question", SL_TAB_WHATIF},
    {"help", SL_TAB_SITES},
    {"stormlog top", SL_TAB_LIVE},
};

enum { PROCESSES, FOLLOWED, COMPARED, FILTERED, QUESTION, HELP, TOP };

static const char *followed = "train.py:42 in step";

#define VIEW_CNT (SL_TAB_CNT + SL_COUNT_OF(others))

static const char *view_name(size_t view) {
    return view < SL_TAB_CNT ? sl_tab_name((sl_tab)view) : others[view - SL_TAB_CNT].name;
}

static void draw_view(sl_grid *grid, const sl_screen *screen, size_t view) {
    sl_ui *ui = screen->ui;
    size_t other = view - SL_TAB_CNT; /* beyond all of them for a plain tab */
    ui->tab = view < SL_TAB_CNT ? (sl_tab)view : others[other].tab;
    ui->shows_processes = other == PROCESSES;
    ui->shows_comparison = other == COMPARED;
    ui->prompt = other == QUESTION ? SL_PROMPT_SETTINGS : SL_PROMPT_NONE;
    ui->has_help = other == HELP;
    snprintf(ui->prompt_text, sizeof ui->prompt_text, "max_split_size_mb=128 no_caching");
    snprintf(ui->followed, sizeof ui->followed, "%s", other == FOLLOWED ? followed : "");
    snprintf(ui->rank_filter, sizeof ui->rank_filter, "%s", other == FILTERED ? "0,2-5" : "");
    snprintf(ui->time_filter, sizeof ui->time_filter, "%s", other == FILTERED ? "10s-2m" : "");
    sl_screen_prepare(screen);
    if (other == TOP)
        sl_view_top(grid, screen);
    else
        sl_screen_draw(grid, screen);
}

static int draw_all(int w, int h, const char *how) {
    sl_screen *screen = made_up_screen();
    sl_grid grid;
    make_grid(&grid, w, h, strcmp(how, "ascii") == 0, strcmp(how, "mono") == 0);
    for (size_t view = 0; view < VIEW_CNT; view++) {
        draw_view(&grid, screen, view);
        printf("---- %s\n", view_name(view));
        sl_screen_write_text(&grid, stdout);
    }
    return 0;
}

/* A digit right before an ellipsis, or before a blank and one: a number that was cut, or that lost its unit. */
static bool has_cut_number(const sl_grid *grid) {
    for (int y = 0; y < grid->h; y++)
        for (int x = 1; x < grid->w; x++) {
            uint32_t code = sl_grid_at(grid, x, y)->code;
            if (code != 0x2026 && !(grid->is_ascii && code == '~'))
                continue;
            uint32_t before = sl_grid_at(grid, x - 1, y)->code;
            if (before == ' ' && x > 1)
                before = sl_grid_at(grid, x - 2, y)->code;
            if (before >= '0' && before <= '9')
                return true;
        }
    return false;
}

static void judge(sweep_state *s, const sl_grid *grid, size_t tab) {
    s->drawn++;
    if (!grid->overlap_cnt && !grid->cut_cnt && !has_cut_number(grid))
        return;
    if (++s->broken <= 3) {
        printf("%s at %d x %d: %u overlaps, %u digits outside, %s\n", view_name(tab), grid->w,
               grid->h, grid->overlap_cnt, grid->cut_cnt,
               has_cut_number(grid) ? "a number is cut" : "no number is cut");
        sl_screen_write_text(grid, stdout);
    }
}

/* Every size up to where lay-outs change; above, samples. */
static int next_size(int size, int dense, int step) {
    return size < dense ? size + 1 : size + step;
}

static void sweep(sweep_state *s, bool is_ascii) {
    for (int w = 20; w <= 400; w = next_size(w, 130, 15))
        for (int h = 6; h <= 120; h = next_size(h, 34, 17)) {
            sl_grid grid;
            make_grid(&grid, w, h, is_ascii, false);
            for (size_t tab = 0; tab < VIEW_CNT; tab++) {
                draw_view(&grid, s->screen, tab);
                judge(s, &grid, tab);
            }
            sl_grid_fini(&grid);
        }
}

static int finish(const sweep_state *s) {
    printf("%zu screens drawn, %zu break the rules\n", s->drawn, s->broken);
    return s->broken ? 1 : 0;
}

static int sweep_made_up(void) {
    sweep_state s = {.screen = made_up_screen()};
    sweep(&s, false);
    s.screen->ui->group = SL_SITES_BY_FILE;
    snprintf(s.screen->ui->status, SL_STATUS_CAP, "wrote train-20261116-081500.html (1.25 MiB)");
    sweep(&s, true);
    sl_tui_source *whole = s.screen->whole;
    ((sl_screen *)s.screen)->whole = NULL; /* nothing is open */
    ((sl_screen *)s.screen)->timeline = NULL;
    ((sl_screen *)s.screen)->whatif = NULL;
    for (int w = 1; w < 30; w++) /* terminals that nobody has do no harm */
        for (int h = 1; h < 8; h++)
            for (size_t tab = 0; tab < VIEW_CNT * 2; tab++) {
                sl_grid grid;
                ((sl_screen *)s.screen)->whole = tab < VIEW_CNT ? NULL : whole;
                make_grid(&grid, w, h, false, true);
                draw_view(&grid, s.screen, tab % VIEW_CNT);
                sl_grid_fini(&grid);
            }
    return finish(&s);
}

/* An input in place of the made-up one. */
typedef struct probe_input {
    sl_tui_inputs inputs;
    sl_tui_source *source;
    sl_tui_timeline *timeline;
    sl_tui_follow follow; /* of the line that holds most */
} probe_input;

static void follow_largest(probe_input *in) {
    const sl_tree *sites = &in->source->devices.at[0].sites;
    const sl_tree_node *most = NULL;
    for (size_t i = 0; i < sites->nodes.cnt; i++) {
        const sl_tree_node *node = &sites->nodes.at[i];
        if (node->level == SL_TREE_LINE &&
            (!most || node->figures[SL_TREE_LIVE] > most->figures[SL_TREE_LIVE]))
            most = node;
    }
    if (most && sl_follow_facts(&in->inputs, in->source, 0, most->key, &in->follow))
        followed = most->text;
}

static bool read_input(const char *path, sl_tui_split split, size_t columns, probe_input *in,
                       sl_screen *screen) {
    sl_tui_read_options options = {0};
    sl_timeline_question question = {.split = split, .columns = columns};
    sl_error err = SL_ERROR_INIT;
    sl_status status = sl_run_facts_read(&path, 1, &options, &in->inputs, &in->source, &err);
    if (status >= 0)
        status = sl_timeline_facts(&in->inputs, in->source, 0, &question, &in->timeline, &err);
    if (status < 0) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    screen->whole = in->source;
    screen->timeline = in->timeline;
    screen->ui->source.cnt = 0;
    if (in->source->devices.cnt) {
        follow_largest(in);
        screen->follow = &in->follow;
    }
    return true;
}

static void free_input(probe_input *in) {
    sl_tui_timeline_free(in->timeline);
    sl_tui_source_free(in->source);
    sl_tui_inputs_fini(&in->inputs);
}

static int sweep_file(const char *path) {
    static probe_input in;
    sl_screen *screen = made_up_screen();
    sweep_state s = {.screen = screen};
    if (!read_input(path, SL_TUI_BY_TAG, 100, &in, screen))
        return 3;
    for (size_t d = 0; d < (in.source->devices.cnt ? in.source->devices.cnt : 1) && d < 3; d++) {
        screen->ui->device = d;
        for (int w = 20; w <= 400; w = next_size(w, 24, 23))
            for (int h = 6; h <= 120; h = next_size(h, 12, 19)) {
                sl_grid grid;
                make_grid(&grid, w, h, false, false);
                for (size_t tab = 0; tab < VIEW_CNT; tab++) {
                    draw_view(&grid, screen, tab);
                    judge(&s, &grid, tab);
                }
                sl_grid_fini(&grid);
            }
    }
    free_input(&in);
    return finish(&s);
}

/* As the program shows it after p: the cursor is at the peak. */
static int write_svg_file(const char *path, int w, int h, size_t view) {
    static probe_input in;
    sl_screen *screen = made_up_screen();
    sl_grid grid;
    if (!read_input(path, SL_TUI_BY_LINE, (size_t)w - 10, &in, screen))
        return 3;
    screen->ui->cursor = (int)in.timeline->cnt - 1;
    make_grid(&grid, w, h, false, false);
    draw_view(&grid, screen, view % VIEW_CNT);
    sl_screen_write_svg(&grid, stdout);
    sl_grid_fini(&grid);
    free_input(&in);
    return 0;
}

static void draw_two(const char *when, sl_screen *screen) {
    static const sl_tab tabs[] = {SL_TAB_LIVE, SL_TAB_SITES};
    sl_grid grid;
    make_grid(&grid, 100, 30, false, false);
    for (size_t i = 0; i < SL_COUNT_OF(tabs); i++) {
        draw_view(&grid, screen, tabs[i]);
        printf("---- %s %s\n", when, sl_tab_name(tabs[i]));
        sl_screen_write_text(&grid, stdout);
    }
    sl_grid_fini(&grid);
}

static void draw_first(void *ctx, sl_tui_source *source) {
    sl_screen *screen = ctx;
    screen->live = source;
    draw_two("first", screen);
    screen->live = NULL;
    sl_tui_source_free(source);
}

static int draw_first_and_whole(const char *path) {
    static probe_input in;
    sl_screen *screen = made_up_screen();
    sl_tui_read_options options = {.first = draw_first, .ctx = screen};
    sl_error err = SL_ERROR_INIT;
    screen->whole = NULL;
    screen->ui->source.cnt = 0;
    if (sl_run_facts_read(&path, 1, &options, &in.inputs, &in.source, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 3;
    }
    screen->whole = in.source;
    draw_two("whole", screen);
    free_input(&in);
    return 0;
}

static void report_bytes(const char *what, const sl_bytes *bytes) {
    printf("%s: %zu bytes\n", what, bytes->cnt);
}

static int measure_bytes(void) {
    sl_screen *screen = made_up_screen();
    sl_grid shown, wanted;
    sl_bytes bytes = {0};
    make_grid(&shown, 120, 40, false, false);
    make_grid(&wanted, 120, 40, false, false);
    draw_view(&shown, screen, SL_TAB_LIVE);
    sl_paint(&bytes, NULL, &shown, SL_COLORS_TRUE);
    report_bytes("first screen", &bytes);
    bytes.cnt = 0;
    draw_view(&wanted, screen, SL_TAB_LIVE);
    sl_paint(&bytes, &shown, &wanted, SL_COLORS_TRUE);
    report_bytes("idle", &bytes);
    bytes.cnt = 0;
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) { /* a second of a run of ten minutes */
        double *curve = screen->whole->devices.at[0].curves[k];
        memmove(curve, curve + 2, (SL_TUI_POINTS - 2) * sizeof *curve);
    }
    screen->whole->processes.at[0].events += 2345;
    screen->whole->processes.at[0].length_us += 1000000;
    draw_view(&wanted, screen, SL_TAB_LIVE);
    sl_paint(&bytes, &shown, &wanted, SL_COLORS_TRUE);
    report_bytes("busy", &bytes);
    sl_vec_free(&bytes);
    sl_grid_fini(&shown);
    sl_grid_fini(&wanted);
    return 0;
}

static int write_svg(int w, int h, int tab) {
    sl_screen *screen = made_up_screen();
    sl_grid grid;
    make_grid(&grid, w, h, false, false);
    draw_view(&grid, screen, (size_t)tab % VIEW_CNT);
    sl_screen_write_svg(&grid, stdout);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "draw") == 0 && argc >= 4)
        return draw_all(atoi(argv[2]), atoi(argv[3]), argc > 4 ? argv[4] : "");
    if (strcmp(what, "svg") == 0 && argc >= 5)
        return write_svg(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    if (strcmp(what, "svg-file") == 0 && argc >= 6)
        return write_svg_file(argv[2], atoi(argv[3]), atoi(argv[4]), (size_t)atoi(argv[5]));
    if (strcmp(what, "sweep") == 0)
        return sweep_made_up();
    if (strcmp(what, "sweep-file") == 0 && argc >= 3)
        return sweep_file(argv[2]);
    if (strcmp(what, "first") == 0 && argc >= 3)
        return draw_first_and_whole(argv[2]);
    if (strcmp(what, "bytes") == 0)
        return measure_bytes();
    fprintf(
        stderr,
        "usage: tui_probe draw W H [ascii|mono] | svg W H VIEW | svg-file PATH W H VIEW | sweep | "
        "sweep-file PATH | first PATH | bytes\n");
    return 2;
}
